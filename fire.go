package starhost

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
)

// A HookTrace says what one handler did at one event.
type HookTrace struct {
	Event    string
	Plugin   string
	Pos      Pos
	Priority int
	Action   Action // what it decided; ActionError if it failed
	Detail   string
	Steps    uint64
	Bytes    uint64 // that guarded operations allocated
	Changes  map[string]any
}

// Fire runs the handlers of one event outside of the pipeline, as tests and
// `eval --fire` do, and returns what they decided. The session's id and the
// model are filled in where e has none. An abort is an outcome here, no error.
func (t *Turn) Fire(ctx context.Context, e *Event) (Outcome, error) {
	if _, err := LookupEvent(e.Name); err != nil {
		return Outcome{}, err
	}
	base := t.event(e.Name)
	for _, arg := range []string{"session_id", "model", "platform", "user_message"} {
		if p := e.Arg(arg).(*string); *p == "" {
			*p = *base.Arg(arg).(*string)
		}
	}
	if len(e.Options) == 0 {
		e.Options = base.Options
	}
	if len(e.Arguments) == 0 {
		e.Arguments = base.Arguments
	}
	out, err := t.fire(ctx, e)
	if _, aborted := err.(*AbortError); aborted {
		err = nil
	}
	return out, err
}

// fire runs all handlers of e in the total order. Modifications are applied to e
// as they come, so that each handler sees the previous one's. The error is an
// *AbortError, or that of ctx; everything else a handler does wrong is traced,
// logged and, for guards, a deny.
func (t *Turn) fire(ctx context.Context, e *Event) (Outcome, error) {
	spec, err := LookupEvent(e.Name)
	if err != nil {
		return Outcome{}, err
	}
	hooks := t.matching(e)
	var out Outcome
	changed := 0 // how many handlers ran before the last one that changed the arguments
	for i, h := range hooks {
		before := e.Arguments
		d, err := t.runHook(ctx, spec, h, e)
		if err != nil {
			return out, err
		}
		out.Decisions = append(out.Decisions, d)
		if !bytes.Equal(before, e.Arguments) {
			changed = i
		}
		if !d.Context.empty() {
			out.Context = append(out.Context, d.Context)
		}
	}
	// A guard that ran before the arguments changed is asked again with the final
	// ones; then only refusals count.
	for _, h := range hooks[:changed] {
		final := *e
		d, err := t.runHook(ctx, spec, h, &final)
		if err != nil {
			return out, err
		}
		if d.Action == ActionDeny || d.Action == ActionAsk || d.Action == ActionAbort {
			out.Decisions = append(out.Decisions, d)
		}
	}
	out.combine()
	if d := out.Decision; d.Action == ActionAbort {
		return out, &AbortError{Reason: d.Reason, Plugin: d.Plugin, Pos: d.Pos}
	}
	return out, nil
}

// matching returns the hooks that e concerns, in the total order.
func (t *Turn) matching(e *Event) []*Hook {
	hooks := t.registry.hooks[e.Name]
	if !slices.ContainsFunc(hooks, func(h *Hook) bool { return len(h.Match) > 0 }) {
		return hooks
	}
	var matched []*Hook
	for _, h := range hooks {
		if len(h.Match) == 0 || matchAny(h.Match, e.Tool) {
			matched = append(matched, h)
		}
	}
	return matched
}

// runHook runs one handler and applies what it decided to e. A failure becomes
// the decision that the hook's fail mode stands for. The error is that of ctx.
func (t *Turn) runHook(ctx context.Context, spec *EventSpec, h *Hook, e *Event) (Decision, error) {
	if err := ctx.Err(); err != nil {
		return Decision{}, err
	}
	lane := t.lane(ctx, h.plugin, false)
	d, err := protect(func() (Decision, error) { return h.Call(lane.with(ctx), t, e) })
	if err == nil {
		d, err = t.accept(spec, h, e, d)
	}
	t.flush(lane)
	trace := HookTrace{Event: e.Name, Plugin: h.plugin, Pos: h.Pos, Priority: h.Priority, Action: d.Action, Detail: d.detail(), Steps: lane.Steps, Bytes: lane.Bytes, Changes: d.Changes}
	if err != nil {
		if ctx.Err() != nil {
			return Decision{}, ctx.Err()
		}
		t.fail(&HandlerError{Plugin: h.plugin, What: "hook " + e.Name, Pos: h.Pos, Err: err})
		d = onFailure(spec, h, err)
		trace.Action, trace.Detail = ActionError, err.Error()
	}
	d.Plugin, d.Pos = h.plugin, h.Pos
	t.trace = append(t.trace, trace)
	return d, nil
}

// accept checks a decision against the event's rules and applies its changes.
func (t *Turn) accept(spec *EventSpec, h *Hook, e *Event, d Decision) (Decision, error) {
	if d.Action == ActionNone {
		return Decision{}, nil
	}
	if !slices.Contains(spec.Actions, d.Action) {
		return Decision{}, fmt.Errorf("%s: %s is no decision here, want %s", spec.Name, d.Action, actionNames(spec.Actions))
	}
	if d.Action == ActionRespond && !t.mayRespond(h.plugin, e) {
		return Decision{}, fmt.Errorf("respond: tool %q is not %s's own: the operator must grant %q", e.Tool, h.plugin, "respond:"+e.Tool)
	}
	d.Context = d.Context.attribute(e.Name, h.plugin, h.Pos, false)
	if err := t.checkContext(d.Context); err != nil {
		return Decision{}, err
	}
	next := *e
	for _, name := range sortedKeys(d.Changes) {
		if !slices.Contains(spec.Modify, name) {
			return Decision{}, fmt.Errorf("modify: %s cannot change %q%s, it can change %s", spec.Name, name, didYouMean(name, spec.Modify), spec.Modify)
		}
		if err := next.set(name, d.Changes[name]); err != nil {
			return Decision{}, err
		}
	}
	*e = next
	return d, nil
}

// mayRespond reports whether a plugin may answer the call that e is about.
func (t *Turn) mayRespond(plugin string, e *Event) bool {
	if tool := t.registry.tools[e.Tool]; tool != nil && tool.plugin == plugin {
		return true
	}
	for _, p := range t.registry.plugins {
		if p.Name == plugin {
			return slices.ContainsFunc(p.RespondsTo, func(glob string) bool { ok, _ := path.Match(glob, e.Tool); return ok })
		}
	}
	return false
}

// onFailure returns the decision that a failed handler counts as.
func onFailure(spec *EventSpec, h *Hook, err error) Decision {
	mode := h.OnError
	if mode == "" && spec.Guard {
		mode = FailDeny
	}
	switch mode {
	case FailDeny:
		return Deny(fmt.Sprintf("the guard of %s failed: %v", h.plugin, err))
	case FailAbort:
		return Decision{Action: ActionAbort, Reason: fmt.Sprintf("the hook of %s failed: %v", h.plugin, err)}
	}
	return Decision{}
}

// fail records and logs a handler's failure.
func (t *Turn) fail(err *HandlerError) {
	t.errors = append(t.errors, err)
	t.session.host.opts.Log(LogLine{Plugin: err.Plugin, Level: "error", Text: err.What + ": " + err.Error(), Pos: err.Pos})
}

// flush passes on what a handler logged.
func (t *Turn) flush(l *Lane) {
	for _, line := range l.Logs {
		t.session.host.opts.Log(line)
	}
}

// A PanicError says that Go code of a handler panicked: a bug of its program.
type PanicError struct{ Value any }

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// protect turns a panic of a handler into an error.
func protect[T any](call func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p}
		}
	}()
	return call()
}

func actionNames(actions []Action) string {
	s := ""
	for i, a := range actions {
		switch {
		case i == 0:
		case i == len(actions)-1:
			s += " or "
		default:
			s += ", "
		}
		s += string(a)
		if a == ActionContext {
			s = s[:len(s)-len(a)] + "context (a string, fragments, attachments)"
		}
	}
	return s
}
