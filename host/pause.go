// A turn waits for an approval, possibly in another process.

package host

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// errPaused says that nobody can answer now, so the turn waits.
var errPaused = errors.New("the turn waits for an approval")

// canPause reports whether the turn can wait for the approval of a call: it must be a call of the
// model, because a handler cannot wait.
func (t *Turn) canPause(ctx context.Context, r *ApprovalRequest) bool {
	return t.host.opts.PauseTurns && t.begun && LaneOf(ctx) == nil &&
		slices.ContainsFunc(unanswered(t), func(c starhost.ToolCall) bool { return c.ID == r.Call.ID })
}

// waitFor lets the turn wait for the answer to a question.
func (t *Turn) waitFor(r *ApprovalRequest) {
	nonce := rand.Text()
	t.question = &pausedTurn{
		Call: saveCall(&r.Call), Plugin: r.Plugin, Reasons: r.Reasons, Asked: t.host.opts.Clock().UTC(),
		Nonce: nonce, Digest: digestOf(t, nonce, &r.Call),
	}
}

// digestOf returns the digest of a question.
func digestOf(t *Turn, nonce string, c *starhost.ToolCall) string {
	h := sha256.New()
	revision := t.registry.revision()
	for _, part := range []string{nonce, t.session.ID(), string(revision[:]), c.ID, c.Name, string(c.Arguments)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// storedApproval returns the stored answer to a question of a resumed turn. If the answer does not count,
// storedApproval adds the reason to the question. Each answer counts once.
func storedApproval(t *Turn, r *ApprovalRequest) (got approval, ok bool) {
	q := t.resumed
	if q == nil || string(q.Call.ID) != r.Call.ID {
		return got, false
	}
	t.resumed = nil
	if q.Answer == nil {
		return got, false
	}
	problem := ""
	switch given := q.Answer.Given.Sub(q.Asked); {
	case !q.Answer.Used.IsZero():
		problem = "it was used before"
	case q.Answer.Digest != q.Digest:
		problem = "it answers another question"
	case q.expired(t.host.opts.Clock()), given < 0, given > approvalTime:
		problem = fmt.Sprintf("more than %v have passed since the question", approvalTime)
	case q.Digest != digestOf(t, q.Nonce, &r.Call):
		problem = "the call, the session or the plugins have changed since the question"
	default:
		got = approval{Approved: q.Answer.Approved, by: "session", asked: q.Asked, given: q.Answer.Given}
		if !got.Approved {
			got.Reason = "not approved: " + joinReasons(r.Reasons)
		}
		return got, true
	}
	text := "the answer of " + q.Answer.Given.Format(time.RFC3339) + " does not count: " + problem
	t.host.opts.Log(LogLine{Plugin: starhost.HostPlugin, Level: "warn", Text: r.Call.Name + ": " + text})
	r.Reasons = append(slices.Clone(r.Reasons), text)
	return got, false
}

// stateIn sets the fields of p that have the turn's state.
func stateIn(t *Turn, p *pausedTurn) *pausedTurn {
	p.Round, p.Lanes, p.Words, p.Spent = t.round, t.laneCount, jsontext.Text(t.words), t.budgetSpent
	p.System, p.Model, p.Options, p.Tools = t.request.System, t.request.Model, t.request.Options, t.request.Tools
	p.Offered, p.Usage, p.Start = toolNames(t.offeredTools), t.usage, t.start
	for _, m := range t.own() {
		p.Messages = append(p.Messages, saveMessage(&m))
	}
	for _, f := range t.filters[1:] { // the first filter is the host's
		p.Allowed = append(p.Allowed, f.Allow)
	}
	for i := range t.requestedCalls {
		p.Requested = append(p.Requested, saveCall(&t.requestedCalls[i]))
	}
	return p
}

// checkPaused returns an error if a turn of the session waits for an answer. If a turn has waited too long,
// checkPaused ends it.
func (t *Turn) checkPaused() error {
	s, clock := t.session, t.host.opts.Clock
	p := s.paused
	if p == nil {
		return nil
	}
	if !p.expired(clock()) && !p.isQuestion() {
		return errtext.Errorf("session %q: a turn waits for calls that its program runs (Session.ResumeTurn goes on with it)", s.ID())
	}
	if !p.expired(clock()) {
		return errtext.Errorf("session %q: a turn waits for the approval of %s"+
			" (Session.ResumeTurn, or starhost run --session ID without a prompt, goes on with it)", s.ID(), string(p.Call.Name))
	}
	t.messages = append(t.messages, p.history()...)
	t.answerRest()
	t.setHistory(t.messages)
	s.paused = nil
	return nil
}

// history returns the messages of the turn that waits.
func (p *pausedTurn) history() []starhost.Message {
	list := make([]starhost.Message, len(p.Messages))
	for i := range p.Messages {
		list[i] = p.Messages[i].message()
	}
	return list
}

// unanswered returns the calls of the last reply that have no answer yet.
func unanswered(t *Turn) []starhost.ToolCall {
	answered := map[string]int{} // a count by id, because a model may use an id twice
	for _, m := range slices.Backward(t.own()) {
		switch m.Role {
		case starhost.RoleTool:
			answered[m.CallID]++
		case starhost.RoleAssistant:
			return slices.DeleteFunc(slices.Clone(m.ToolCalls), func(c starhost.ToolCall) bool {
				answered[c.ID]--
				return answered[c.ID] >= 0
			})
		}
	}
	return nil
}

// answerRest adds an answer to each call that did not run.
func (t *Turn) answerRest() {
	for _, c := range unanswered(t) {
		t.messages = append(t.messages, starhost.Message{Role: starhost.RoleTool, Content: fragments.NewText("not run: the turn ended"),
			CallID: c.ID, ToolName: c.Name, IsError: true})
	}
}

// joinReasons returns the reasons of a question as one text.
func joinReasons(reasons []string) string { return strings.Join(reasons, "; ") }

// revision returns the SHA-256 of everything that decides which calls the plugins allow.
func (r *registry) revision() fragments.Hash {
	h := sha256.New()
	for _, p := range r.plugins {
		fmt.Fprintf(h, "plugin %q %q %q %v %v %q %q\n", p.Name, p.Version, p.Revision, p.Warn, p.Restricted, p.RespondsTo, p.Overrides)
		for i := range p.Tools {
			t := &p.Tools[i]
			fmt.Fprintf(h, "tool %q %q %q %q %q %q\n", t.Name, t.Description, t.Parameters, t.Approval, t.Kinds, t.Roles)
		}
		for i := range p.Hooks {
			k := &p.Hooks[i]
			fmt.Fprintf(h, "hook %q %d %q %q %q %q\n", k.Event, k.Priority, k.Match, k.Kind, k.OnError, k.Pos.String())
		}
	}
	return fragments.Hash(h.Sum(nil))
}
