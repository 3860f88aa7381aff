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
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/texttable"
)

// A flow says how starhost handles one kind of event.
type flow struct {
	// events are the plugin events that the flow fires.
	events []string
	// everyEvent is true if the session must see the event although no plugin has a hook for it. startedOnly
	// limits that to sessions that had a prompt before.
	everyEvent, startedOnly bool
	run                     func(context.Context, *host.Session, *Event) (*verdict, error)
}

// flows is an array, because making a map costs time at each start.
var flows = [...]flow{
	kindPrompt:  {everyEvent: true, run: askPrompt},
	kindTool:    {events: []string{"pre_tool_call", "approve_tool_call"}, run: askTool},
	kindApprove: {events: []string{"approve_tool_call"}, run: askApproval},
	kindResult:  {events: []string{"post_tool_call"}, run: fireResult},
	kindReply:   {everyEvent: true, startedOnly: true, run: fireReply},
	kindStop:    {everyEvent: true, startedOnly: true, run: fireTurnEnd},
	kindReset:   {everyEvent: true, startedOnly: true, run: resetSession},
	kindCompact: {everyEvent: true, startedOnly: true, run: doNothing},
	kindEnd:     {everyEvent: true, startedOnly: true, run: endSession},
	kindBranch:  {everyEvent: true, startedOnly: true, run: repeatContext},
}

// isNeeded reports whether the event changes the session, or reaches a plugin.
func (f flow) isNeeded(e *Event, h *host.Host) bool {
	if f.everyEvent || e.kind == kindTool && e.needsApproval(h) {
		return true
	}
	return slices.ContainsFunc(f.events, func(event string) bool {
		hears, _ := e.heard(h, event)
		return hears
	})
}

// needsSession reports whether the event needs the stored state of its session: a prompt does, and
// a tool call does if one of its handlers names ctx.
func (f flow) needsSession(e *Event, h *host.Host) bool {
	return f.everyEvent || slices.ContainsFunc(f.events, func(event string) bool {
		_, needs := e.heard(h, event)
		return needs
	})
}

// needsApproval reports whether the tool is a plugin's tool that a person must approve.
func (e *Event) needsApproval(h *host.Host) bool {
	return !e.called.foreign && slices.ContainsFunc(h.Tools(), func(t starhost.Tool) bool {
		return t.Name == e.called.name && t.Approval == starhost.ApprovalAsk
	})
}

// askPrompt begins a turn and gathers context for the user's words.
func askPrompt(ctx context.Context, s *host.Session, e *Event) (*verdict, error) {
	v := &verdict{words: e.prompt, hasWords: true}
	t, err := s.Begin(ctx, host.Request{Text: e.prompt, Model: e.model, History: e.history})
	if err == nil {
		defer t.Leave(ctx)
		err = v.gatherContext(ctx, t, e)
	}
	return v, v.takeAbort(err)
}

// gatherContext builds the turn's prompt, and splits it into the user's words and the context.
func (v *verdict) gatherContext(ctx context.Context, t *host.Turn, e *Event) error {
	p, err := t.Prompt(ctx)
	if err != nil {
		return err
	}
	text, ok := strings.CutSuffix(p.Text.String(), t.UserWords())
	v.words = t.UserWords()
	if !ok { // a hook on pre_send has changed the end of the text
		if v.words, text = p.Text.String(), ""; !e.agent.ReplacesWords {
			text = beforeLines(v.words, 1+strings.Count(t.UserWords(), "\n"))
		}
	}
	v.context = texttable.JoinSome("\n\n", e.newSystemText(p), strings.TrimSuffix(text, "\n"))
	if v.words != e.prompt && !e.agent.ReplacesWords {
		v.words = e.prompt
		v.addUnsupported("%s: a plugin changed the user's words, which %s does not let it", e.name, e.agent.Title)
	}
	if n := countAttachments(p.Attachments); n > 0 {
		v.addUnsupported("%s: %s takes text alone: %d attachments are left out", e.name, e.agent.Title, n)
	}
	return nil
}

// beforeLines returns a text without so many lines at its end. A hook that redacts the user's words does not
// change the number of their lines, so this leaves the context before them. If a hook does change the number,
// starhost still sends nothing but what the hook made of the text.
func beforeLines(text string, lines int) string {
	for ; lines > 0; lines-- {
		text = text[:max(0, strings.LastIndexByte(text, '\n'))]
	}
	return text
}

// newSystemText returns the system text that plugins add. For an agent that stores context in its
// conversation, it omits the texts that an earlier prompt sent.
func (e *Event) newSystemText(p *host.Prompt) string {
	if !e.agent.retainsContext {
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

func countAttachments(rows []*fragments.AttachmentRow) (n int) {
	for _, r := range rows {
		if r.Status == fragments.Kept {
			n++
		}
	}
	return n
}

// takeAbort turns the abort of a plugin into a verdict that blocks. It returns any other error unchanged.
func (v *verdict) takeAbort(err error) error {
	if aborted, ok := errors.AsType[*host.AbortError](err); ok {
		v.block, v.reason = true, abortReason(aborted)
		v.stop = aborted.Lost == nil
		return nil
	}
	return err
}

// abortReason returns why a turn ended. If no plugin ended it, the reason names starhost.
func abortReason(aborted *host.AbortError) string {
	if aborted.Lost != nil {
		return "starhost: " + aborted.Reason
	}
	return aborted.Reason
}

// hostEvent returns the plugin event with a name, about the tool call of the agent's event.
func (e *Event) hostEvent(name string) *starhost.Event { return e.calledEvent(name, e.called) }

// calledEvent returns the plugin event with a name, about a tool.
func (e *Event) calledEvent(name string, called calledTool) *starhost.Event {
	args := e.args
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	return &starhost.Event{
		Name: name, SessionID: e.session, Tool: called.name, ToolAlias: called.alias, Foreign: called.foreign,
		Arguments: args, CallID: e.callID, Agent: e.agent.Name, Workspace: e.workspace,
	}
}

// PluginEvent returns the first plugin event that the agent's event fires, for the record that plugins did
// not decide. It returns nil if the agent's event reaches no plugins.
func (e *Event) PluginEvent() *starhost.Event {
	i := slices.IndexFunc(e.agent.Events, func(a agents.Event) bool { return a.Name == e.name })
	if i < 0 || e.agent.Events[i].Ours == "" || !e.ReachesPlugins() {
		return nil
	}
	return e.undecidedEvent(e.agent.Events[i].Ours)
}

// undecidedEvent returns the plugin event with a name, without asking a host about the tool. It reads no
// field that Answer writes, because handlers may still be running.
func (e *Event) undecidedEvent(name string) *starhost.Event {
	p := e.calledEvent(name, calledTool{name: e.tool, foreign: e.tool != ""})
	p.UserMessage, p.Model, p.Response, p.DurationMS = e.prompt, e.model, e.response, e.duration
	p.Result, p.IsError = starhost.Result{ForLLM: e.result, IsError: e.isError}, e.isError
	return p
}

// askTool asks the guards about a tool call and, if a person must agree, the hooks that approve calls.
func askTool(ctx context.Context, s *host.Session, e *Event) (*verdict, error) {
	t, err := s.BetweenTurns(ctx)
	if err != nil {
		return nil, err
	}
	defer t.End(ctx)
	return askGuards(ctx, t, e.hostEvent("pre_tool_call"))
}

// askGuards fires pre_tool_call for a call and, if a person must agree, approve_tool_call.
func askGuards(ctx context.Context, t *host.Turn, pre *starhost.Event) (*verdict, error) {
	given := pre.Arguments
	out, err := t.Fire(ctx, pre)
	if err != nil {
		return nil, err
	}
	v := verdictOf(out)
	if v.block {
		return v, nil
	}
	if string(pre.Arguments) != string(given) {
		v.args = pre.Arguments
	}
	reasons := approvalReasons(t, pre, out)
	if why := unseenReason(pre); why != "" {
		reasons = append(reasons, why)
	}
	if len(reasons) > 0 {
		ask := *pre
		ask.Name, ask.Reason = "approve_tool_call", strings.Join(reasons, "; ")
		verdict, err := t.Fire(ctx, &ask)
		if err != nil {
			return nil, err
		}
		v.takeApproval(verdictOf(verdict), ask.Reason)
	}
	if v.block {
		return v, nil
	}
	v.takeResponse(out)
	return v, nil
}

// verdictOf returns the verdict for the decision of one plugin event.
func verdictOf(out host.Outcome) *verdict {
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
	if out.Lost != nil {
		v.reason = "starhost: " + out.Lost.Error()
	}
	return v
}

// approvalReasons returns the reasons why a person must approve a call: the tool's own setting and
// the guards that ask.
func approvalReasons(t *host.Turn, pre *starhost.Event, out host.Outcome) (reasons []string) {
	for _, own := range t.Tools().Items() {
		mayBeOwn := !pre.Foreign || pre.ToolAlias != ""
		if mayBeOwn && own.Name == pre.Tool && own.Approval == starhost.ApprovalAsk {
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

// takeApproval adds the outcome of approve_tool_call to a verdict. If no hook approves or denies, a person
// must decide.
func (v *verdict) takeApproval(by *verdict, reason string) {
	v.block, v.stop, v.allow = by.block, by.stop, by.allow
	v.ask = !by.block && !by.allow
	v.reason = by.reason
	if v.ask {
		v.reason = reason
	}
}

// takeResponse turns a plugin's answer to a call into a verdict that blocks the call, because the agent must
// not run it, too. If a person would have to agree first, the verdict refuses the call: agents ask only about
// calls that they run.
func (v *verdict) takeResponse(out host.Outcome) {
	i := slices.IndexFunc(out.Decisions, func(d starhost.Decision) bool { return d.Action == starhost.ActionRespond })
	if i < 0 {
		return
	}
	d := out.Decisions[i]
	v.block = true
	if v.ask {
		v.ask, v.reason = false, describeMissingPerson(v.reason)
		return
	}
	v.answer, v.reason = d.Result, fmt.Sprintf("answered by %s in the tool's stead: %s", d.Plugin, d.Result.ForLLM)
}

// askApproval fires approve_tool_call.
func askApproval(ctx context.Context, s *host.Session, e *Event) (*verdict, error) {
	out, err := s.Fire(ctx, e.hostEvent("approve_tool_call"))
	if err != nil {
		return nil, err
	}
	return verdictOf(out), nil
}

// fireResult fires post_tool_call.
func fireResult(ctx context.Context, s *host.Session, e *Event) (*verdict, error) {
	post := e.hostEvent("post_tool_call")
	post.Result = starhost.Result{ForLLM: e.result, IsError: e.isError}
	post.IsError, post.DurationMS = e.isError, e.duration
	if _, err := s.Fire(ctx, post); err != nil {
		return nil, err
	}
	v := &verdict{}
	if post.Result.ForLLM != e.result {
		v.result = &post.Result.ForLLM
	}
	return v, nil
}

// fireReply fires post_llm_call and turn_end.
func fireReply(ctx context.Context, s *host.Session, e *Event) (*verdict, error) {
	reply := &starhost.Event{Name: "post_llm_call", SessionID: e.session, Response: e.response, Model: e.model}
	if _, err := s.Fire(ctx, reply); err != nil {
		return nil, err
	}
	v, err := fireTurnEnd(ctx, s, e)
	if v != nil && reply.Response != e.response {
		v.addUnsupported("%s: a plugin changed the reply, which %s does not let it", e.name, e.agent.Title)
	}
	return v, err
}

// fireTurnEnd fires turn_end.
func fireTurnEnd(ctx context.Context, s *host.Session, e *Event) (*verdict, error) {
	_, err := s.Fire(ctx, &starhost.Event{
		Name: "turn_end", SessionID: e.session, UserMessage: e.prompt, Response: e.response, Completed: true,
	})
	return &verdict{}, err
}

// resetSession fires session_reset and drops the session's conversation.
func resetSession(ctx context.Context, s *host.Session, _ *Event) (*verdict, error) {
	return &verdict{}, s.Reset(ctx)
}

// endSession fires session_end.
func endSession(ctx context.Context, s *host.Session, _ *Event) (*verdict, error) {
	return &verdict{}, s.Close(ctx)
}

// maxBranchContext is the most bytes of context for a subagent. Claude Code puts a longer text into a file,
// of which the subagent reads only the beginning.
const maxBranchContext = 10_000

// repeatContext gathers the context that session_start offered and the system text that plugins added, for a
// subagent, which does not see the session's conversation. It fires no event, because no user has sent a
// message.
func repeatContext(ctx context.Context, s *host.Session, e *Event) (*verdict, error) {
	saved, err := s.Save(ctx)
	if err != nil {
		return nil, err
	}
	v := &verdict{}
	seen, left := map[string]bool{}, 0
	add := func(f fragments.Fragment) {
		text := strings.TrimSpace(f.Content)
		switch {
		case text == "" || seen[text]:
			return
		case len(v.context)+len(text) >= maxBranchContext:
			left++
			return
		}
		seen[text] = true
		v.context = texttable.JoinSome("\n\n", v.context, text)
	}
	for _, w := range saved.Welcome {
		for _, f := range w.Fragments {
			add(f)
		}
	}
	for _, p := range saved.Parts {
		add(p.Fragment)
	}
	if left > 0 {
		v.addUnsupported("%s: a subagent gets at most %d bytes of context: %d texts are left out", e.name, maxBranchContext, left)
	}
	return v, nil
}

// doNothing fires no event: [savedState.applyEvent] does all that a compaction needs.
func doNothing(context.Context, *host.Session, *Event) (*verdict, error) { return &verdict{}, nil }

// endSentence returns a text that ends with exactly one full stop.
func endSentence(reason string) string { return strings.TrimRight(reason, ".") + "." }

// describeMissingPerson returns the reason for refusing a call that only a person could allow, where nobody
// can be asked.
func describeMissingPerson(reason string) string {
	return "approval is needed and nobody can give it: " + cmp.Or(reason, "no reason given")
}

// unseenReason returns why a person must allow a call. The call starts a program that runs what is typed, and
// Codex types by write_stdin without an event. Codex tells a hook neither that it will type, nor whether the
// program has a terminal.
func unseenReason(pre *starhost.Event) string {
	agent, call := agents.Find(pre.Agent), pre.CallInfo()
	switch {
	case agent == nil, call == nil, !slices.Contains(strings.Fields(agent.Unseen), pre.Tool), !isTyped(call.Command):
		return ""
	}
	return agent.Title + " shows no hook what is typed into this program: run its commands one by one"
}
