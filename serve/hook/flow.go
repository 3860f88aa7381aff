package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// A flow is what is done about one kind of event.
type flow struct {
	// events are those that plugins may hear.
	events []string
	// always is true if the session must know of the event whatever plugins hear,
	// later if that is so only once the session has begun.
	always, later bool
	run           func(context.Context, *starhost.Session, *Event) (*verdict, error)
}

var flows = map[kind]flow{
	kindPrompt:  {always: true, run: askPrompt},
	kindTool:    {events: []string{"pre_tool_call", "approve_tool_call"}, run: askTool},
	kindApprove: {events: []string{"approve_tool_call"}, run: askApproval},
	kindResult:  {events: []string{"post_tool_call"}, run: tellResult},
	kindReply:   {always: true, later: true, run: tellReply},
	kindStop:    {always: true, later: true, run: tellStop},
	kindReset:   {always: true, later: true, run: reset},
	kindCompact: {always: true, later: true, run: compact},
	kindEnd:     {always: true, later: true, run: end},
}

// wanted reports whether there is anything to do.
func (f flow) wanted(e *Event, h *starhost.Host) bool {
	return f.always || e.kind == kindTool && e.guarded(h) || slices.ContainsFunc(f.events, func(event string) bool {
		hears, _ := h.Hears(event, e.agent.ours(e.tool))
		return hears
	})
}

// needsSession reports whether the event cannot be answered without what the
// session knows.
func (f flow) needsSession(e *Event, h *starhost.Host) bool {
	return f.always || slices.ContainsFunc(f.events, func(event string) bool {
		_, needs := h.Hears(event, e.agent.ours(e.tool))
		return needs
	})
}

// guarded reports whether the tool is one of ours that wants a person's approval.
func (e *Event) guarded(h *starhost.Host) bool {
	return e.agent.serves(e.tool) && slices.ContainsFunc(h.Tools(), func(t starhost.Tool) bool {
		return t.Name == e.agent.ours(e.tool) && t.Approval == starhost.ApprovalAsk
	})
}

// serves reports whether the agent has the tool from our MCP server. All others are the agent's
// own, or another server's.
func (a *Agent) serves(tool string) bool {
	return a.toolPrefix != "" && strings.HasPrefix(tool, a.toolPrefix)
}

// askPrompt begins a turn and gathers what goes with the user's words.
func askPrompt(ctx context.Context, s *starhost.Session, e *Event) (*verdict, error) {
	v := &verdict{words: e.prompt}
	t, err := s.Begin(ctx, starhost.Request{Text: e.prompt, Model: e.model, History: e.history})
	if err == nil {
		defer t.Leave(ctx)
		err = v.gather(ctx, t, e)
	}
	return v, v.refuse(err)
}

// gather builds the turn's prompt and takes it apart again.
func (v *verdict) gather(ctx context.Context, t *starhost.Turn, e *Event) error {
	p, err := t.Prompt(ctx)
	if err != nil {
		return err
	}
	text, ok := strings.CutSuffix(p.Text.String(), t.Words())
	v.words = t.Words()
	if !ok { // pre_send made something else of it
		v.words, text = p.Text.String(), ""
	}
	v.context = joined("\n\n", e.systemText(p), strings.TrimSuffix(text, "\n"))
	if v.words != e.prompt && !e.agent.words {
		v.words = e.prompt
		v.lose("%s: a plugin changed the user's words, which %s does not let it", e.name, e.agent.title)
	}
	if n := countKept(p.Attachments); n > 0 {
		v.lose("%s: %s takes text alone: %d attachments are left out", e.name, e.agent.title, n)
	}
	return nil
}

// systemText returns what plugins add to the system text: all of it, or for an
// agent that keeps what it is given what is new.
func (e *Event) systemText(p *starhost.Prompt) string {
	if !e.agent.keeps {
		return p.System
	}
	var texts []string
	for _, r := range p.Fragments {
		if r.Target == fragments.System && r.Status == fragments.Kept {
			texts = append(texts, strings.TrimSpace(r.Content))
		}
	}
	return strings.Join(texts, "\n\n")
}

func countKept(rows []*fragments.AttachmentRow) (n int) {
	for _, r := range rows {
		if r.Status == fragments.Kept {
			n++
		}
	}
	return n
}

// joined joins the texts that say something.
func joined(sep string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), sep)
}

// refuse turns the end of a turn by a plugin into a verdict.
func (v *verdict) refuse(err error) error {
	if aborted, ok := errors.AsType[*starhost.AbortError](err); ok {
		v.block, v.stop, v.reason = true, true, aborted.Reason
		return nil
	}
	return err
}

// event returns one of the host's events about the tool call.
func (e *Event) event(name string) *starhost.Event {
	args := e.args
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	return &starhost.Event{
		Name: name, SessionID: e.session, Tool: e.agent.ours(e.tool), Foreign: !e.agent.serves(e.tool),
		Arguments: args, CallID: e.callID,
	}
}

// askTool asks the guards and, where a person is wanted, the approvals.
func askTool(ctx context.Context, s *starhost.Session, e *Event) (v *verdict, err error) {
	err = s.Aside(ctx, func(t *starhost.Turn) error {
		v, err = guard(ctx, t, e.event("pre_tool_call"))
		return err
	})
	return v, err
}

// guard passes a call that an agent is about to run through pre_tool_call and
// approve_tool_call.
func guard(ctx context.Context, t *starhost.Turn, pre *starhost.Event) (*verdict, error) {
	given := pre.Arguments
	out, err := t.Fire(ctx, pre)
	if err != nil {
		return nil, err
	}
	v := judge(out)
	if v.block {
		return v, nil
	}
	if string(pre.Arguments) != string(given) {
		v.args = pre.Arguments
	}
	if reasons := wantApproval(t, pre, out); len(reasons) > 0 {
		ask := *pre
		ask.Name, ask.Reason = "approve_tool_call", strings.Join(reasons, "; ")
		verdict, err := t.Fire(ctx, &ask)
		if err != nil {
			return nil, err
		}
		v.approve(judge(verdict), ask.Reason)
	}
	if v.block {
		return v, nil
	}
	v.respond(out)
	return v, nil
}

// judge returns what a decision refuses or wants.
func judge(out starhost.Outcome) *verdict {
	d := out.Decision
	v := &verdict{reason: d.Reason}
	switch d.Action {
	case starhost.ActionAbort:
		v.block, v.stop = true, true
	case starhost.ActionDeny:
		v.block = true
		v.reason = fmt.Sprintf("denied by %s: %s", d.Plugin, d.Reason)
	case starhost.ActionAsk:
		v.ask = true
	case starhost.ActionApprove:
		v.allow = true
	}
	return v
}

// wantApproval returns why a person must approve a call, nothing if none must.
func wantApproval(t *starhost.Turn, pre *starhost.Event, out starhost.Outcome) (reasons []string) {
	for _, own := range t.Tools().Items() {
		if !pre.Foreign && own.Name == pre.Tool && own.Approval == starhost.ApprovalAsk {
			reasons = append(reasons, fmt.Sprintf("tool %s asks for approval", own.Name))
		}
	}
	for _, d := range out.Decisions {
		if d.Action == starhost.ActionAsk && !slices.Contains(reasons, d.Reason) {
			reasons = append(reasons, d.Reason)
		}
	}
	return reasons
}

// approve takes over what approve_tool_call decided: without a decision a person
// decides.
func (v *verdict) approve(by *verdict, reason string) {
	v.block, v.stop, v.allow = by.block, by.stop, by.allow
	v.ask = !by.block && !by.allow
	v.reason = by.reason
	if v.ask {
		v.reason = reason
	}
}

// respond answers a call in the tool's stead: the agent is kept from running it.
// Where a person would have to agree first nobody does: agents ask about calls
// that they run.
func (v *verdict) respond(out starhost.Outcome) {
	i := slices.IndexFunc(out.Decisions, func(d starhost.Decision) bool { return d.Action == starhost.ActionRespond })
	if i < 0 {
		return
	}
	d := out.Decisions[i]
	v.block = true
	if v.ask {
		v.reason = unanswerable(v.reason)
		return
	}
	v.answer, v.reason = d.Result, fmt.Sprintf("answered by %s in the tool's stead: %s", d.Plugin, d.Result.ForLLM)
}

// askApproval asks the approvals alone.
func askApproval(ctx context.Context, s *starhost.Session, e *Event) (*verdict, error) {
	out, err := s.Fire(ctx, e.event("approve_tool_call"))
	if err != nil {
		return nil, err
	}
	return judge(out), nil
}

// tellResult tells what a tool returned.
func tellResult(ctx context.Context, s *starhost.Session, e *Event) (*verdict, error) {
	post := e.event("post_tool_call")
	post.Result, post.IsError, post.DurationMS = starhost.Result{ForLLM: e.result, IsError: e.isError}, e.isError, e.duration
	if _, err := s.Fire(ctx, post); err != nil {
		return nil, err
	}
	v := &verdict{}
	if post.Result.ForLLM != e.result {
		v.result = &post.Result.ForLLM
	}
	return v, nil
}

// tellReply tells what the model answered, and that the turn is over.
func tellReply(ctx context.Context, s *starhost.Session, e *Event) (*verdict, error) {
	reply := &starhost.Event{Name: "post_llm_call", SessionID: e.session, Response: e.response, Model: e.model}
	if _, err := s.Fire(ctx, reply); err != nil {
		return nil, err
	}
	v, err := tellStop(ctx, s, e)
	if v != nil && reply.Response != e.response {
		v.lose("%s: a plugin changed the reply, which %s does not let it", e.name, e.agent.title)
	}
	return v, err
}

// tellStop tells that the turn is over.
func tellStop(ctx context.Context, s *starhost.Session, e *Event) (*verdict, error) {
	_, err := s.Fire(ctx, &starhost.Event{Name: "turn_end", SessionID: e.session, UserMessage: e.prompt, Response: e.response, Completed: true})
	return &verdict{}, err
}

// reset drops what the session knows of the conversation.
func reset(ctx context.Context, s *starhost.Session, _ *Event) (*verdict, error) {
	return &verdict{}, s.Reset(ctx)
}

// end ends the session.
func end(ctx context.Context, s *starhost.Session, _ *Event) (*verdict, error) {
	return &verdict{}, s.Close(ctx)
}

// compact only changes what is kept: see [kept.before].
func compact(context.Context, *starhost.Session, *Event) (*verdict, error) { return &verdict{}, nil }

// sentence returns a reason as a sentence of its own.
func sentence(reason string) string { return strings.TrimRight(reason, ".") + "." }

// unanswerable is the reason of a refusal where a person would have to be asked.
func unanswerable(reason string) string {
	return "approval is needed and nobody can give it: " + cmp.Or(reason, "no reason given")
}
