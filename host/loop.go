// The agent loop: ask the model, run its calls, up to the final answer.

package host

import (
	"cmp"
	"context"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
)

// A Model answers prompts. It must not change a prompt. It may stream an answer to other readers itself. If
// Complete returns an error, the Content of the reply is the text that arrived before the error.
type Model interface {
	Complete(ctx context.Context, p *Prompt) (starhost.Reply, error)
}

// A TurnResult says how far a turn has come.
type TurnResult struct {
	// Text is the final answer if Completed is true.
	Text string
	// Completed is true if the turn has its final answer: a reply without tool calls, or a handled
	// result of a tool.
	Completed bool
	// Pending are calls of [Request.Tools], which the caller runs. The caller passes each result to
	// [Turn.Answer] and then calls [Turn.Run].
	Pending []starhost.ToolCall
	// Paused is the question for which the turn waits, or nil: see [Options.PauseTurns].
	Paused *ApprovalRequest
	// Calls are the calls that Run ran, in order. For a resumed turn, these are the calls since it was
	// resumed.
	Calls []ToolReply
	// Usage is the sum over all requests, and Rounds their number.
	Usage  starhost.Usage
	Rounds int
	// Ends is the first decision that ends the session after this turn, or nil.
	Ends *starhost.Decision
	// Prompt is the last request that Run sent. Model.Complete gets each; a turn that kept all would
	// need the square of its rounds in memory. Nil if Run sent none.
	Prompt *Prompt
	// Turn is the turn itself, with its traces and errors.
	Turn *Turn
}

// Turn runs a whole turn: it begins a turn, asks the model and runs the model's tool calls, until the model
// gives the final answer. It ends the turn unless the result has Pending calls. In that case the session
// waits; the caller goes on with the result's Turn and must call End. [Turn.Run] describes the errors. Turn
// returns a result with each error except those of [Session.Begin].
func (s *Session) Turn(ctx context.Context, r Request, m Model) (*TurnResult, error) {
	t, err := s.Begin(ctx, r)
	if err != nil {
		return nil, err
	}
	result, err := t.Run(ctx, m)
	if err != nil || len(result.Pending) == 0 || result.Paused != nil {
		t.End(ctx)
	}
	return result, err
}

// Run continues the turn up to its final answer, or up to calls that the caller must Answer. It runs the
// calls of a reply in their order by [Turn.CallTool]. If a tool has handled the request, the turn ends after
// the reply's other calls. If [Options.Answer] is set, Run does not ask the model, which may be nil. The
// error comes from [Turn.Prompt], [Turn.CallTool] or the model; after an error the turn can only end.
func (t *Turn) Run(ctx context.Context, m Model) (*TurnResult, error) {
	t.session.waiting.Store(nil)
	for !t.completed {
		if err := t.runCalls(ctx); err != nil {
			return t.Result(), err
		}
		if !t.completed && t.question == nil && len(unanswered(t)) > 0 {
			state := func() *pausedTurn { return stateIn(t, &pausedTurn{Asked: t.host.opts.Clock().UTC()}) }
			t.session.waiting.Store(&state)
			break
		}
		if t.completed || t.question != nil {
			break
		}
		if err := t.askModel(ctx, m); err != nil {
			return t.Result(), err
		}
	}
	return t.Result(), nil
}

// Result says how far the turn has come.
func (t *Turn) Result() *TurnResult {
	r := &TurnResult{
		Completed: t.completed, Calls: t.replies, Usage: t.usage, Rounds: t.round, Ends: t.ending,
		Prompt: t.prompt, Turn: t,
	}
	if q := t.question; q != nil {
		r.Paused = &ApprovalRequest{SessionID: t.session.ID(), Call: q.Call.call()}
		r.Paused.Plugin, r.Paused.Reasons = q.Plugin, q.Reasons
	}
	if t.completed {
		r.Text = t.response
	} else {
		r.Pending = slices.DeleteFunc(unanswered(t), func(c starhost.ToolCall) bool { return !isExternal(t, c) })
	}
	return r
}

// isExternal reports whether the caller, not the host, runs the tool of the call.
func isExternal(t *Turn, c starhost.ToolCall) bool {
	return slices.ContainsFunc(t.offeredTools.Items(), func(tool starhost.Tool) bool {
		return tool.Name == c.Name && tool.Validator == nil
	})
}

// runCalls runs the calls of the last reply except those that the caller runs.
func (t *Turn) runCalls(ctx context.Context) error {
	for _, c := range unanswered(t) {
		if isExternal(t, c) {
			continue
		}
		reply, err := t.CallTool(ctx, c)
		if err != nil || reply.Paused {
			return err
		}
		t.replies = append(t.replies, reply)
	}
	return nil
}

// askModel sends one request. The last request that MaxRounds allows offers no tools, and askModel ignores
// tool calls in the reply to it.
func (t *Turn) askModel(ctx context.Context, m Model) error {
	t.withoutTools = t.round >= t.host.opts.MaxRounds
	p, err := t.Prompt(ctx)
	if err != nil {
		return err
	}
	t.prompt = p
	start := t.host.opts.Clock()
	asked := func() any { return modelRequest{p.Model, p.Options, p.Sum()} }
	written, err := askInput(ctx, t, InputModel, asked, func() (modelReply, error) {
		r, err := protect(func() (starhost.Reply, error) { return m.Complete(ctx, p) })
		return newModelReply(r), err
	})
	switch {
	case ctx.Err() != nil:
		t.storeCut(written.Content)
		return ctx.Err()
	case err != nil:
		t.storeCut(written.Content)
		return errtext.Errorf("model %s: %w", p.Model, err)
	}
	reply := written.reply()
	reply.DurationMS = int(t.host.opts.Clock().Sub(start).Milliseconds())
	if t.withoutTools {
		reply.ToolCalls = nil
	}
	return t.Reply(ctx, reply)
}

// storeCut stores the text of an answer that broke off. It stores no tool calls, because some arguments may
// be missing. No handler sees the text, because it is no complete answer.
func (t *Turn) storeCut(text string) {
	if text != "" {
		t.messages = append(t.messages, starhost.Message{Role: starhost.RoleAssistant, Content: fragments.NewText(text), Cut: true})
	}
}

// Reply fires post_llm_call and stores the model's answer to the last prompt. Its tool calls need
// [Turn.CallTool] or [Turn.Answer]; without tool calls it is the final answer. The error is an
// *AbortError or the error of ctx; then nothing is stored.
func (t *Turn) Reply(ctx context.Context, r starhost.Reply) error {
	e := t.newEvent("post_llm_call")
	e.Response, e.ToolCalls, e.Usage, e.DurationMS = r.Content, slices.Clone(r.ToolCalls), r.Usage, r.DurationMS
	e.Model = cmp.Or(t.model, e.Model)
	t.usage = t.usage.Add(r.Usage)
	if _, err := t.fireEvent(ctx, e); err != nil {
		return err
	}
	t.messages = append(t.messages, starhost.Message{Role: starhost.RoleAssistant, Content: fragments.NewText(e.Response),
		ToolCalls: r.ToolCalls, Native: r.Native})
	t.requestedCalls = append(t.requestedCalls, r.ToolCalls...)
	if len(r.ToolCalls) == 0 {
		t.completed, t.response = true, e.Response
	}
	return nil
}

// Answer stores the result of a call that the caller ran. It returns an error if no call with that id waits
// for an answer.
func (t *Turn) Answer(callID string, r starhost.Result) error {
	calls := unanswered(t)
	i := slices.IndexFunc(calls, func(c starhost.ToolCall) bool { return c.ID == callID })
	if i < 0 {
		return errtext.Errorf("no call %q waits for an answer", callID)
	}
	cutResult(t, &r)
	appendAnswer(t, &ToolReply{Call: calls[i], Result: r})
	return nil
}

// Follow replaces the turn's replies and tool answers by the messages of an agent that has its own loop. The
// contents that the turn's prompts added stay in front of these messages. Before the first prompt, Follow
// adds messages of a turn that began elsewhere. They come after the user's message.
func (t *Turn) Follow(messages []starhost.Message) {
	if t.round == 0 {
		t.followed = messages
		return
	}
	own := slices.DeleteFunc(slices.Clone(t.own()), func(m starhost.Message) bool { return m.Merged == starhost.NotMerged })
	t.messages = slices.Concat(t.messages[:t.first], own, messages)
}
