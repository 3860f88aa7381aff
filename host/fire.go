// An event: its handlers run in order, their decisions are checked and combined.

package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/codes"
	"github.com/starhost/starhost/internal/errtext"
)

// Fire runs the handlers of one event, for a program that declares events or saves files. It returns the
// handlers' decisions, and changes e as they decide. If fields of the session, the turn and the tool are
// empty in e, Fire sets them. An abort is an outcome and no error. The error is ErrDepth if too many handlers
// wait for each other.
func (t *Turn) Fire(ctx context.Context, e *starhost.Event) (out Outcome, err error) {
	c, err := t.registry.hooksOf(e.Name)
	if err != nil {
		return out, err
	}
	if err := cmp.Or(c.Complete(e), checkDepth(ctx)); err != nil {
		return out, err
	}
	fillEvent(t, e)
	t.withdrawn = nil
	f := eventRun{turn: t, eventHooks: c}
	if err = f.run(ctx, e, &out); err != nil && out.Decision.Action == starhost.ActionAbort {
		if _, aborted := errors.AsType[*AbortError](err); aborted {
			err = nil
		}
	}
	return out, err
}

// fillEvent sets the fields of e about the session, the turn and the tool that are empty.
func fillEvent(t *Turn, e *starhost.Event) {
	c := &t.session.config
	fillEmpty(&e.SessionID, c.ID)
	fillEmpty(&e.Model, t.request.Model)
	fillEmpty(&e.Platform, c.Platform)
	fillEmpty(&e.Workspace, c.Workspace)
	fillEmpty(&e.UserMessage, t.lastWords())
	if tool := t.toolOf(e); tool != nil {
		fillEmpty(&e.Plugin, tool.PluginName())
		e.ToolKinds = tool.Kinds
	}
	if e.Roles == nil {
		e.Roles = c.Roles
	}
	if e.Round == 0 {
		e.Round = t.round
	}
	e.Describe = t.host.opts.Describe
	if len(e.Options) == 0 {
		e.Options = t.request.Options
	}
	if len(e.Arguments) == 0 {
		e.Arguments = noArguments
	}
}

// toolOf returns the plugin's tool that an event is about, or nil. A tool of an agent is never a plugin's
// tool, even if a plugin has registered the same name.
func (t *Turn) toolOf(e *starhost.Event) *starhost.Tool {
	if e.Foreign {
		return nil
	}
	return t.registry.tools[e.Tool]
}

// fillEmpty sets *text to known if it is empty.
func fillEmpty(text *string, known string) {
	if *text == "" {
		*text = known
	}
}

// fireEvent runs all handlers of e in order. It changes e after each handler, so that the next one sees the
// change. The error is an *AbortError or the error of ctx. fireEvent traces and logs all other failures; a
// guard that fails denies.
func (t *Turn) fireEvent(ctx context.Context, e *starhost.Event) (out Outcome, err error) {
	c, err := t.registry.hooksOf(e.Name)
	if err != nil {
		return out, err
	}
	f := eventRun{turn: t, eventHooks: c}
	err = f.run(ctx, e, &out)
	return out, err
}

// run runs the handlers of e, and stores their decisions in out, which is empty.
func (f *eventRun) run(ctx context.Context, e *starhost.Event, out *Outcome) error {
	around := f.turn.swapReading(clockReading{})
	defer f.turn.swapReading(around)
	seen := f.turn.startObserving(ctx, e)
	var err error
	if f.closed = f.turn.host.closes(f.eventHooks); f.closed != nil {
		f.refuse(e, out)
	} else {
		err = f.callHooks(ctx, e)
	}
	out.Decisions, out.problems = f.decisions, f.problems
	if err == nil {
		out.Combine()
	}
	if err = f.turn.finishObserving(seen, f.EventSpec, out, err); err != nil {
		return err
	}
	if d := out.ending(); d != nil && f.turn.ending == nil {
		f.turn.ending = d
	}
	if d := &out.Decision; d.Action == starhost.ActionAbort {
		f.turn.completed = false
		return &AbortError{Reason: d.Reason, Plugin: d.Plugin, Pos: d.Pos, Lost: out.Lost}
	}
	return nil
}

// refuse decides about an event that the host refuses, in place of the event's handlers.
func (f *eventRun) refuse(e *starhost.Event, out *Outcome) {
	d := starhost.Decision{Action: f.Refusal(), Reason: f.closed.Error()}
	if d.Action == starhost.ActionNone {
		d = withheld(d.Reason)
		_ = modify(e, f.EventSpec, starhost.HostPlugin, starhost.Pos{}, d.Changes) // every result can be replaced
	}
	d.Plugin = starhost.HostPlugin
	f.decisions, out.Lost = []starhost.Decision{d}, f.closed
}

// callHooks calls all handlers of e. If a handler changes the arguments, callHooks calls the handlers before
// it again. It does so even if the tool's schema refuses the new arguments, because an agent checks arguments
// by other rules.
func (f *eventRun) callHooks(ctx context.Context, e *starhost.Event) error {
	hooks, given := f.hooksMatching(e.Subject(), e.ToolAlias), e.Arguments
	if len(hooks) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	f.hookCount = len(hooks)
	f.deadline = f.turn.startEvent(ctx)
	changed := 0 // how many handlers had run when the arguments last changed
	changer := ""
	for i, h := range hooks {
		if !e.HasKind(h.Kind) {
			continue
		}
		before := e.Arguments
		if err := f.callHook(ctx, h, e, false); err != nil {
			return err
		}
		if !bytes.Equal(before, e.Arguments) {
			changed, changer = i, h.Plugin.Name
		}
	}
	for _, h := range hooks[:changed] {
		if !e.HasKind(h.Kind) {
			continue
		}
		final := *e
		if err := f.callHook(ctx, h, &final, true); err != nil {
			return err
		}
	}
	if !bytes.Equal(given, e.Arguments) {
		f.problems = argumentProblems(ctx, f.turn, e, changer)
	}
	return nil
}

// argumentProblems returns what is wrong with the arguments that a plugin changed, by the schema of the tool.
// The plugin pays for the check.
func argumentProblems(ctx context.Context, t *Turn, e *starhost.Event, plugin string) []string {
	tool := t.toolOf(e)
	if tool == nil {
		return nil
	}
	fit, problems, steps := tool.Validator.Validate(e.Arguments)
	e.Arguments = fit
	t.chargeSteps(ctx, plugin, steps)
	return problems
}

// hasHooks reports whether an event has hooks. If it has none, callers need not prepare the event.
func (t *Turn) hasHooks(event string) bool {
	c, err := t.registry.hooksOf(event)
	return err == nil && (len(c.hooks) > 0 || t.host.closes(c) != nil || t.host.opts.ObserveAll)
}

// An eventRun runs the handlers of one event.
type eventRun struct {
	*eventHooks
	turn      *Turn
	closed    error // why the host refuses the event, or nil: see Host.closes
	hookCount int   // how many handlers the event has
	deadline  time.Time
	decisions []starhost.Decision // see [Outcome.Decisions]
	problems  []string            // see Outcome.problems
}

// callHook runs one handler, and changes e as the handler decides. If the handler fails, the hook's fail mode
// says what the decision is. If again is true, the handler has run before with other arguments, and counts
// only if it refuses. The error is that of ctx, or the *AbortError of a call that the handler made.
func (f *eventRun) callHook(ctx context.Context, h *starhost.Hook, e *starhost.Event, again bool) error {
	t := f.turn
	lane := t.newLane(ctx, h.Plugin.Name, false)
	var d starhost.Decision
	err := t.limitCall(lane, h.Plugin.EventSteps, f.deadline)
	if err == nil {
		err = t.addSteps(lane, callHandler(lane.context(ctx), h, e, &d))
	}
	if err == nil && d.Action != starhost.ActionNone {
		err = checkDecision(t, f.EventSpec, h, e, &d)
	}
	if held := t.hold(lane, &d); err == nil {
		err = held
	}
	var decided *starhost.Decision
	var full *HookTrace
	if err != nil || d.Action != starhost.ActionNone || again {
		decided, full = f.applyDecision(h, lane, e, &d, err, again)
	}
	t.deliverRecords(lane)
	n := t.addNote(lane)
	n.hook, n.steps, n.bytes, n.decision, n.trace = h, lane.Steps, lane.Bytes, decided, full
	if t.observed != nil && lane.outer == nil {
		t.observed.addCall(n)
	}
	if err := endingError(ctx, err); err != nil {
		return err
	}
	if err != nil {
		t.reportFailure(ctx, &HandlerError{Plugin: h.Plugin.Name, What: "hook " + e.Name, Pos: h.Pos, Err: err})
	}
	return nil
}

// callHandler runs the handler of a hook. If the handler panics, callHandler returns that as an error.
func callHandler(ctx context.Context, h *starhost.Hook, e *starhost.Event, d *starhost.Decision) (err error) {
	defer recoverPanic(&err)
	*d, err = h.Call(ctx, e)
	return err
}

// applyDecision adds a handler's decision to the outcome. It returns the stored decision, and a full trace if
// a note cannot describe the call.
func (f *eventRun) applyDecision(
	h *starhost.Hook, lane *Lane, e *starhost.Event, d *starhost.Decision, err error, again bool,
) (decided *starhost.Decision, full *HookTrace) {
	if err != nil {
		*d = onFailure(f.EventSpec, h, err)
		if d.Action == starhost.ActionModify && !h.Plugin.Warn {
			_ = modify(e, f.EventSpec, h.Plugin.Name, h.Pos, d.Changes) // every result can be replaced
		}
	}
	if d.Pos == (starhost.Pos{}) {
		d.Pos = h.Pos
	}
	if h.Plugin.Warn && d.Decides() && (!again || d.Refuses()) {
		soften(d)
		text := strings.TrimSpace(e.Name+" "+e.Subject()) + ": " + string(d.Action) + ": " + d.Reason
		text = strings.TrimSuffix(text, ": ")
		lane.Logs = append(lane.Logs, LogLine{Plugin: h.Plugin.Name, Level: "warn", Text: text, Pos: d.Pos})
	}
	if d.Action != starhost.ActionNone && (!again || d.Refuses()) {
		decided = f.addDecision(d, h)
	}
	if err != nil || again {
		tr := traceOf(h, lane.Steps, lane.Bytes)
		tr.Action, tr.Detail, tr.Changes, tr.Again = d.Action, d.Detail(), d.Changes, again
		if err != nil {
			tr.Action, tr.Detail = starhost.ActionError, err.Error()
		}
		full = &tr
	}
	return decided, full
}

// addDecision adds a decision to the outcome and returns the stored decision.
func (f *eventRun) addDecision(d *starhost.Decision, h *starhost.Hook) *starhost.Decision {
	if f.decisions == nil {
		f.decisions = make([]starhost.Decision, 0, f.hookCount)
	}
	f.decisions = append(f.decisions, *d)
	own := &f.decisions[len(f.decisions)-1]
	own.Plugin = h.Plugin.Name
	return own
}

// trustedActions are decisions that a plugin of an untrusted project cannot make about tools and commands of
// others.
var trustedActions = []starhost.Action{starhost.ActionApprove, starhost.ActionModify, starhost.ActionEnd}

// checkDecision checks a decision by the event's rules, and changes e as the decision says. It clears fields
// that do not belong to the action. If the event cannot be refused in the form of the decision, such as a
// prompt by a deny, the decision becomes the refusal that the event has.
func checkDecision(t *Turn, spec *starhost.EventSpec, h *starhost.Hook, e *starhost.Event, d *starhost.Decision) error {
	if d.Refuses() && !slices.Contains(spec.Actions, d.Action) && spec.CanRefuse() {
		t.host.opts.Log(LogLine{Plugin: h.Plugin.Name, Level: "warn", Pos: d.Pos, Text: errtext.Format(
			"%s: %s is no decision here, want %s: it counts as %s", spec.Name, d.Action, actionNames(spec.Actions), spec.Refusal())})
		d.Action = spec.Refusal()
	}
	if !slices.Contains(spec.Actions, d.Action) {
		return errtext.Errorf("%s: %s is no decision here, want %s", spec.Name, d.Action, actionNames(spec.Actions))
	}
	if h.Plugin.Restricted && slices.Contains(trustedActions, d.Action) && !ownsTool(t, h, e) {
		return errtext.Errorf("%s: %s may only deny, ask and add context: its project is not trusted (starhost trust, or name the plugin's path)",
			d.Action, h.Plugin.Name)
	}
	if d.Action != starhost.ActionContext {
		d.Context = starhost.Context{}
	}
	if d.Action != starhost.ActionModify {
		d.Changes = nil
	}
	if d.Action != starhost.ActionValue {
		d.Value = nil
	}
	if d.Action != starhost.ActionRespond {
		d.Result = nil
	}
	switch d.Action {
	case starhost.ActionContext:
		d.Context = attribute(d.Context, e.Name, h.Plugin.Name, h.Pos.String())
		return t.checkContext(&d.Context)
	case starhost.ActionValue:
		return checkValue(d.Value)
	case starhost.ActionModify:
		return t.applyChanges(spec, h, e, d.Changes)
	case starhost.ActionRespond:
		if !ownsTool(t, h, e) && !matchAny(h.Plugin.RespondsTo, e.Tool) {
			return codes.Errorf(codes.Permission, "respond: tool %q is not %s's own: the operator must grant %q", e.Tool, h.Plugin.Name, "respond:"+e.Tool)
		}
		if d.Result == nil {
			return errors.New("respond: got no result")
		}
		result := attributeResult(*d.Result, spec.Name, h.Plugin.Name, h.Pos)
		d.Result = &result
	}
	return nil
}

// applyChanges changes the event as a modify says, if the changes are valid. A plugin that only warns does
// not change the event.
func (t *Turn) applyChanges(spec *starhost.EventSpec, h *starhost.Hook, e *starhost.Event, changes map[string]any) error {
	if h.Plugin.Warn {
		scratch := *e
		e = &scratch
	}
	if list, ok := changes["history"].(*starhost.Messages); ok {
		if t.session.config.Guarded {
			return errors.New("modify: history: the agent has the messages of this session")
		}
		if err := checkHistory(list.Items()); err != nil {
			return err
		}
	}
	wanted, ok := changes["tools"]
	if !ok || !slices.Contains(spec.Modify, "tools") {
		return modify(e, spec, h.Plugin.Name, h.Pos, changes)
	}
	tools, err := t.chooseTools(h.Plugin.Name, e.Tools, wanted)
	if err != nil {
		return err
	}
	changes = maps.Clone(changes)
	changes["tools"] = tools
	before := e.Tools
	if err := modify(e, spec, h.Plugin.Name, h.Pos, changes); err != nil {
		return err
	}
	if !h.Plugin.Warn {
		t.withdrawn = append(t.withdrawn, missingTools(before, tools)...)
	}
	return nil
}

// modify makes all changes of a handler, or none if one of them is not valid.
func modify(e *starhost.Event, spec *starhost.EventSpec, plugin string, pos starhost.Pos, changes map[string]any) error {
	if err := e.Modify(spec, changes); err != nil {
		return err
	}
	e.Result = attributeResult(e.Result, spec.Name, plugin, pos)
	return nil
}

// ownsTool reports whether the tool that the event is about belongs to the hook's plugin. A call through an
// agent shows this only by the tool's name, which another server can use, too. So such a call gives a
// restricted plugin no rights.
func ownsTool(t *Turn, h *starhost.Hook, e *starhost.Event) bool {
	tool := t.toolOf(e)
	return tool != nil && tool.Plugin == h.Plugin && !(h.Plugin.Restricted && e.Agent != "")
}

// onFailure returns the decision that the host takes if a handler fails.
func onFailure(spec *starhost.EventSpec, h *starhost.Hook, err error) starhost.Decision {
	mode := h.OnError
	if mode == "" {
		mode = failMode(spec, h)
	}
	switch mode {
	case failWithhold:
		return withheld(errtext.Format("the hook of %s failed: %v%s", h.Plugin.Name, err, advice(err)))
	case starhost.FailDeny:
		return starhost.Deny(errtext.Format("the guard of %s failed: %v%s", h.Plugin.Name, err, advice(err)))
	case starhost.FailAbort:
		return starhost.Decision{Action: starhost.ActionAbort, Reason: errtext.Format("the hook of %s failed: %v%s", h.Plugin.Name, err, advice(err))}
	}
	return starhost.Decision{}
}

// failWithhold is the fail mode in which the host withholds the event's result. A plugin cannot choose it.
const failWithhold starhost.FailMode = "withhold"

// failMode returns the fail mode of a hook, if the hook states none.
func failMode(spec *starhost.EventSpec, h *starhost.Hook) starhost.FailMode {
	switch refusal := spec.Refusal(); {
	case spec.Guard:
		return starhost.FailDeny
	case !spec.FailsClosed(decisionsOf(h.Plugin)):
		return starhost.FailSkip
	case refusal == starhost.ActionNone:
		return failWithhold
	default:
		return starhost.FailMode(refusal)
	}
}

// reportFailure records and logs that a handler failed, and fires an error event. If the event's budget is
// spent, it reports that once for all handlers of a plugin.
func (t *Turn) reportFailure(ctx context.Context, err *HandlerError) {
	if limit, ok := errors.AsType[*eventLimitError](err.Err); ok && limit.logged {
		return
	}
	t.errors = append(t.errors, err)
	t.host.opts.Log(LogLine{Plugin: err.Plugin, Level: "error", Text: err.What + ": " + err.Error(), Pos: err.Pos})
	t.fireError(ctx, err)
}

// fireError fires an error event. If a handler of that event fails, no further error event follows.
func (t *Turn) fireError(ctx context.Context, err *HandlerError) {
	if t.inErrorEvent {
		return
	}
	t.inErrorEvent = true
	defer func() { t.inErrorEvent = false }()
	e := t.newEvent("error")
	e.Plugin, e.Handler = err.Plugin, strings.TrimPrefix(err.What, "hook ")
	e.Message, e.Traceback = err.Error(), err.Traceback()
	_, _ = t.fireEvent(ctx, e) // nothing to return: an error event takes no decisions, and its failures are in the log
}
