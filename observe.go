package starhost

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/starhost/starhost/internal/errtext"
)

// startObserving begins the observation of an event. It returns nil if nothing observes the event,
// or if a handler of an observed event fired it.
func (t *Turn) startObserving(ctx context.Context, e *Event) *observation {
	if t.host.opts.Observe == nil || t.observed != nil || LaneOf(ctx) != nil {
		return nil
	}
	o := &observation{given: *e, start: time.Now()}
	o.given.Arguments, o.given.App = bytes.Clone(e.Arguments), slices.Clone(e.App)
	t.observed = o
	return o
}

// finishObserving passes an observed event to [Options.Observe]. If that fails, the event is denied
// or, if nothing can deny it, aborted. failed is the error of the event's handlers, and the
// returned error is the event's.
func (t *Turn) finishObserving(o *observation, spec *EventSpec, out *Outcome, failed error) error {
	if o == nil {
		return failed
	}
	t.observed = nil
	seen := *out
	if aborted, ok := errors.AsType[*AbortError](failed); ok {
		seen.Decision = Decision{Action: ActionAbort, Reason: aborted.Reason, Plugin: aborted.Plugin, Pos: aborted.Pos}
	}
	isHeard := len(o.calls) > 0 || out.Lost != nil || t.host.opts.ObserveAll
	if failed != nil && seen.Decision.Action != ActionAbort || !isHeard {
		return failed
	}
	seen.Decisions, seen.Hooks = slices.Clone(out.Decisions), o.calls
	seen.Turn, seen.Duration = t.number, time.Since(o.start)
	seen.Decision.Changes = maps.Clone(seen.Decision.Changes)
	err, panicked := protect(func() (error, error) { return t.host.opts.Observe(o.given, seen), nil })
	if panicked != nil {
		t.host.opts.Log(LogLine{Plugin: HostPlugin, Level: "error", Text: "Observe: " + panicked.Error()})
	}
	if err == nil || failed != nil || out.Decision.Action == ActionDeny || out.Decision.Action == ActionAbort {
		return failed
	}
	return t.refuseUnrecorded(spec, out, err)
}

// refuseUnrecorded refuses an event because [Options.Observe] failed.
func (t *Turn) refuseUnrecorded(spec *EventSpec, out *Outcome, why error) error {
	d := Decision{Reason: errtext.Format("the decision was not recorded: %v", why), Plugin: HostPlugin}
	switch {
	case slices.Contains(spec.Actions, ActionDeny):
		d.Action = ActionDeny
		out.Decisions, out.Decision, out.Ask = append(out.Decisions, d), d, false
	case slices.Contains(spec.Actions, ActionAbort):
		out.Decision, t.completed = d, false
		out.Decision.Action = ActionAbort
		return &AbortError{Reason: d.Reason, Plugin: d.Plugin}
	default:
		t.host.opts.Log(LogLine{Plugin: HostPlugin, Level: "error", Text: spec.Name + ": " + d.Reason})
	}
	return nil
}
