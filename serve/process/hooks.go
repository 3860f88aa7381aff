package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
)

// A method is a question that a program answers about an event.
type method struct {
	event  string
	mode   string // PicoClaw's name of its group
	source string // PicoClaw's name of the moment
	// onError is the decision of a failure; the zero value means the event's rule.
	onError starhost.FailMode
	params  func(*host.Turn, *starhost.Event, meta) any
	decide  func(*Process, *starhost.Event, *answer) (starhost.Decision, error)
}

// methods are the questions by their names in the config and in PicoClaw's.
var methods = map[string]method{
	"before_llm":   {"pre_send", "llm", "turn.llm.request", starhost.FailAbort, llmParams, (*Process).decideRequest},
	"after_llm":    {"post_llm_call", "llm", "turn.llm.response", starhost.FailAbort, replyParams, (*Process).decideReply},
	"before_tool":  {"pre_tool_call", "tool", "turn.tool.before", "", callParams, (*Process).decideCall},
	"after_tool":   {"post_tool_call", "tool", "turn.tool.after", "", resultParams, (*Process).decideResult},
	"approve_tool": {"approve_tool_call", "approve", "turn.tool.approve", "", callParams, (*Process).decideApproval},
}

// observed are the events that a program only hears of, by PicoClaw's names.
var observed = map[string]string{"agent.turn.start": "turn_start", "agent.turn.end": "turn_end"}

// modesOf returns PicoClaw's names of what the program is asked.
func modesOf(o *Options) []string {
	modes := []string{}
	if len(o.Observe) > 0 {
		modes = append(modes, "observe")
	}
	for _, mode := range []string{"llm", "tool", "approve"} {
		if slices.ContainsFunc(o.Intercept, func(name string) bool { return methods[name].mode == mode }) {
			modes = append(modes, mode)
		}
	}
	return modes
}

// Plugin returns the plugin that asks the program. w is the world of the plugin, which records the
// answers; in a dry run it asks nothing.
func (p *Process) Plugin(w *effects.World) starhost.Plugin {
	plugin := starhost.Plugin{
		Name: "process-" + p.o.Name, Description: "asks a hook process",
		Revision: fmt.Sprintf("%q %q %v", p.o.Command, p.o.Dir, p.o.Intercept),
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if slices.Contains(p.o.Intercept, name) {
			plugin.Hooks = append(plugin.Hooks, p.newHook(w, "hook."+name, methods[name]))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(observed)) {
		if slices.Contains(p.o.Observe, kind) {
			plugin.Hooks = append(plugin.Hooks, p.newObserver(w, kind))
		}
	}
	return plugin
}

// newHook returns the hook of a method.
func (p *Process) newHook(w *effects.World, name string, m method) starhost.Hook {
	call := func(ctx context.Context, e *starhost.Event) (d starhost.Decision, err error) {
		t := host.TurnOf(ctx)
		params, err := json.Marshal(m.params(t, e, newMeta(t, e, m.source)))
		if err != nil {
			return d, err
		}
		raw, err := w.AskProcess(ctx, name, params, func(ctx context.Context) (json.RawMessage, error) {
			return p.ask(ctx, name, params)
		})
		if err != nil || raw == nil && w.DryRun != nil {
			return d, err
		}
		var a answer
		if err := json.Unmarshal(raw, &a); err != nil {
			return d, errtext.Errorf("hook process %s: %s: got %s, want an answer as an object", p.o.Name, name, string(raw))
		}
		if end, ok := a.abort(); ok && m.mode == "llm" || ok && m.event == "pre_tool_call" {
			return end, nil
		}
		if a.Action == "continue" && m.mode != "approve" {
			return d, nil
		}
		if d, err = m.decide(p, e, &a); err != nil {
			err = errtext.Errorf("hook process %s: %s: %w", p.o.Name, name, err)
		}
		return d, err
	}
	return starhost.Hook{Event: m.event, OnError: m.onError, Call: call, Pos: p.o.Pos}
}

// newObserver returns the hook that tells the program of an event.
func (p *Process) newObserver(w *effects.World, kind string) starhost.Hook {
	call := func(ctx context.Context, e *starhost.Event) (starhost.Decision, error) {
		t := host.TurnOf(ctx)
		m := newMeta(t, e, "")
		params, err := json.Marshal(runtimeEvent{
			Kind: kind, Source: map[string]string{"component": "agent", "name": m.AgentID},
			Scope: map[string]string{
				"agent_id": m.AgentID, "session_key": m.SessionKey, "turn_id": m.TurnID, "channel": e.Platform, "chat_id": e.SessionID,
			},
			Payload: map[string]any{},
		})
		if err == nil {
			_, err = w.AskProcess(ctx, "hook.runtime_event", params, func(ctx context.Context) (json.RawMessage, error) {
				return json.RawMessage("null"), p.notify(ctx, "hook.runtime_event", params)
			})
		}
		return starhost.Decision{}, err
	}
	return starhost.Hook{Event: observed[kind], Call: call, Pos: p.o.Pos}
}

func callParams(_ *host.Turn, e *starhost.Event, m meta) any {
	return &toolParams{Meta: m, Tool: e.Tool, Arguments: e.Arguments, Channel: e.Platform, ChatID: e.SessionID}
}

func resultParams(t *host.Turn, e *starhost.Event, m meta) any {
	params := callParams(t, e, m).(*toolParams)
	params.Result, params.Duration = newResult(&e.Result), int64(e.DurationMS)*1e6
	return params
}

func llmParams(_ *host.Turn, e *starhost.Event, m meta) any {
	return &requestParams{
		Meta: &m, Model: e.Model, Messages: newMessages(e), Tools: newToolDefs(e.Tools.Items()), Options: e.Options,
		Channel: e.Platform, ChatID: e.SessionID,
	}
}

// newMessages returns the messages of a request with the system text in front.
func newMessages(e *starhost.Event) []chatMessage {
	list := []chatMessage{}
	if e.System != "" {
		list = append(list, chatMessage{Role: "system", Content: e.System})
	}
	for _, m := range e.Messages.Items() {
		list = append(list, chatMessage{m.Role, m.Content.String(), newToolCalls(m.ToolCalls), m.CallID})
	}
	return list
}

func replyParams(_ *host.Turn, e *starhost.Event, m meta) any {
	r := &response{
		Role: starhost.RoleAssistant, Content: e.Response, ToolCalls: newToolCalls(e.ToolCalls), FinishReason: "stop",
	}
	if len(r.ToolCalls) > 0 {
		r.FinishReason = "tool_calls"
	}
	in, out := int(e.Usage.Input), int(e.Usage.Output)
	r.Usage = &usage{in, out, in + out}
	return &responseParams{Meta: &m, Model: e.Model, Response: r, Channel: e.Platform, ChatID: e.SessionID}
}

// abort returns the decision of the actions that end the turn. ok is false for another action.
func (a *answer) abort() (d starhost.Decision, ok bool) {
	if a.Action != "abort_turn" && a.Action != "hard_abort" {
		return d, false
	}
	return starhost.Decision{Action: starhost.ActionAbort, Reason: cmp.Or(a.Reason, "the hook process ends the turn")}, true
}

// wanted are the actions of most methods.
const wanted = "continue, modify, abort_turn or hard_abort"

// unknown returns the error for an action that the method does not have.
func (a *answer) unknown(want string) error {
	return errtext.Errorf("got action %q, want %s", a.Action, want)
}

// decideCall decides about a call of a tool. It gets no answer that continues or ends the turn.
func (p *Process) decideCall(e *starhost.Event, a *answer) (d starhost.Decision, err error) {
	switch a.Action {
	case "deny_tool":
		return starhost.Deny(cmp.Or(a.Reason, "the hook process denies it")), nil
	case "respond":
		var r result
		if len(a.Result) == 0 || json.Unmarshal(a.Result, &r) != nil {
			return d, errors.New("respond: got no result, want an object")
		}
		own := r.apply(starhost.Result{})
		return starhost.Decision{Action: starhost.ActionRespond, Result: &own}, nil
	case "modify":
		switch {
		case a.Call == nil:
			return d, nil
		case a.Call.Tool != "" && a.Call.Tool != e.Tool:
			return d, errtext.Errorf("modify: got tool %q, want %q: a hook cannot change the tool", a.Call.Tool, e.Tool)
		}
		arguments := a.Call.Arguments
		if len(arguments) == 0 || string(arguments) == "null" {
			arguments = json.RawMessage("{}") // as in PicoClaw
		}
		if bytes.Equal(arguments, e.Arguments) {
			return d, nil
		}
		return starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"arguments": arguments}}, nil
	}
	return d, a.unknown("continue, modify, respond, deny_tool, abort_turn or hard_abort")
}

// decideApproval decides for a person.
func (p *Process) decideApproval(_ *starhost.Event, a *answer) (starhost.Decision, error) {
	if a.Approved {
		return starhost.Decision{Action: starhost.ActionApprove}, nil
	}
	return starhost.Deny(cmp.Or(a.Reason, "the hook process does not approve it")), nil
}

// decideResult changes the result of a tool. The tool has run, so that an abort can only withhold
// the result and end the turn.
func (p *Process) decideResult(e *starhost.Event, a *answer) (d starhost.Decision, err error) {
	changed := e.Result
	if end, ok := a.abort(); ok {
		changed = starhost.Result{ForLLM: "the result is withheld: " + end.Reason, IsError: true, Handled: true}
		return starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"result": changed}}, nil
	}
	if a.Action != "modify" {
		return d, a.unknown(wanted)
	}
	var r struct {
		Result *result `json:"result"`
	}
	if len(a.Result) > 0 && json.Unmarshal(a.Result, &r) != nil {
		return d, errors.New("modify: got a result of another form, want an object with result")
	}
	if r.Result == nil || *r.Result == *newResult(&changed) {
		return d, nil
	}
	return starhost.Decision{
		Action: starhost.ActionModify, Changes: map[string]any{"result": r.Result.apply(changed)},
	}, nil
}

// decideReply changes the text of an answer of the model.
func (p *Process) decideReply(e *starhost.Event, a *answer) (d starhost.Decision, err error) {
	switch {
	case a.Action != "modify":
		return d, a.unknown(wanted)
	case a.Response == nil || a.Response.Response == nil:
		return d, nil
	}
	r := a.Response.Response
	if !slices.Equal(r.ToolCalls, newToolCalls(e.ToolCalls)) {
		p.o.Log("hook.after_llm: a changed tool call stays as it is")
	}
	if r.Content == e.Response {
		return d, nil
	}
	return starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"response": r.Content}}, nil
}

// decideRequest changes the messages and the model of a request. As in PicoClaw, system messages
// and tools stay; the options stay, too, because the request is complete.
func (p *Process) decideRequest(e *starhost.Event, a *answer) (d starhost.Decision, err error) {
	switch {
	case a.Action != "modify":
		return d, a.unknown(wanted)
	case a.Request == nil:
		return d, nil
	}
	changes := map[string]any{}
	if model := a.Request.Model; model != "" && model != e.Model {
		changes["model"] = model
	}
	if messages, ok := p.changedMessages(e, a.Request.Messages); ok {
		changes["messages"] = messages
	}
	if len(changes) > 0 {
		d = starhost.Decision{Action: starhost.ActionModify, Changes: changes}
	}
	return d, nil
}

// changedMessages returns the messages of an answer. It returns false if they are the same, or if
// the answer changes system messages.
func (p *Process) changedMessages(
	e *starhost.Event, wanted []chatMessage,
) (list *starhost.List[starhost.Message], ok bool) {
	given := newMessages(e)
	if slices.EqualFunc(given, wanted, func(x, y chatMessage) bool { return x.equal(&y) }) {
		return nil, false
	}
	if n := len(given) - e.Messages.Len(); n > 0 {
		if len(wanted) == 0 || !wanted[0].equal(&given[0]) {
			p.o.Log("hook.before_llm: a request without the same system message is not used")
			return nil, false
		}
		wanted = wanted[n:]
	}
	if slices.ContainsFunc(wanted, func(m chatMessage) bool { return m.Role == "system" }) {
		p.o.Log("hook.before_llm: a request with another system message is not used")
		return nil, false
	}
	return starhost.NewList(mergeMessages(e.Messages.Items(), wanted)), true
}

// mergeMessages returns the wanted messages. It takes a message that did not change from the
// original ones, with its attachments and its provider's form, and also one of the same place and
// role, whose text it replaces.
func mergeMessages(original []starhost.Message, wanted []chatMessage) []starhost.Message {
	list := make([]starhost.Message, 0, len(wanted))
	next := 0 // the first original message that was not used
	for i := range wanted {
		w := &wanted[i]
		same := slices.IndexFunc(original[next:], func(m starhost.Message) bool {
			return w.equal(&chatMessage{m.Role, m.Content.String(), newToolCalls(m.ToolCalls), m.CallID})
		})
		switch {
		case same >= 0:
			list = append(list, original[next+same])
			next += same + 1
			continue
		case i < len(original) && i >= next && original[i].Role == w.Role && original[i].CallID == w.ToolCallID:
			m := original[i]
			m.Content, m.Native = fragments.NewText(w.Content), nil
			list = append(list, m)
			next = i + 1
			continue
		}
		m := starhost.Message{Role: w.Role, Content: fragments.NewText(w.Content), CallID: w.ToolCallID}
		for _, c := range w.ToolCalls {
			m.ToolCalls = append(m.ToolCalls, starhost.ToolCall{
				ID: c.ID, Name: c.Function.Name, Arguments: json.RawMessage(c.Function.Arguments),
			})
		}
		list = append(list, m)
	}
	return list
}
