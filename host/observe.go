// What the host passes to Options.Observe: events, runs, answers to questions.

package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// startObserving begins the observation of an event. It returns nil if nothing observes the event,
// or if a handler of an observed event fired it.
func (t *Turn) startObserving(ctx context.Context, e *starhost.Event) *observation {
	if t.host.opts.Observe == nil || t.observed != nil || LaneOf(ctx) != nil {
		return nil
	}
	o := &observation{given: *e, start: time.Now()}
	o.given.Arguments, o.given.App = bytes.Clone(e.Arguments), slices.Clone(e.App)
	t.observed = o
	return o
}

// finishObserving passes an observed event to [Options.Observe]. If Observe fails, the host denies the event
// or, if nothing can deny it, aborts. failed is the error of the event's handlers; the returned error is that
// of the event.
func (t *Turn) finishObserving(o *observation, spec *starhost.EventSpec, out *Outcome, failed error) error {
	if o == nil {
		return failed
	}
	t.observed = nil
	seen := *out
	if aborted, ok := errors.AsType[*AbortError](failed); ok {
		seen.Decision = starhost.Decision{Action: starhost.ActionAbort, Reason: aborted.Reason, Plugin: aborted.Plugin, Pos: aborted.Pos}
	}
	isHeard := len(o.calls) > 0 || out.Lost != nil || t.host.opts.ObserveAll
	if failed != nil && seen.Decision.Action != starhost.ActionAbort || !isHeard {
		return failed
	}
	seen.Decisions, seen.Hooks = slices.Clone(out.Decisions), o.calls
	seen.Turn, seen.Duration = t.number, time.Since(o.start)
	seen.Decision.Changes = maps.Clone(seen.Decision.Changes)
	err := t.observe(&o.given, &seen)
	if err == nil || failed != nil || out.Decision.Action == starhost.ActionDeny || out.Decision.Action == starhost.ActionAbort {
		return failed
	}
	return t.refuseUnrecorded(spec, out, err)
}

// observe passes an event to [Options.Observe], and logs a panic of it.
func (t *Turn) observe(e *starhost.Event, out *Outcome) error {
	err, panicked := protect(func() (error, error) { return t.host.opts.Observe(*e, *out), nil })
	if panicked != nil {
		t.host.opts.Log(LogLine{Plugin: starhost.HostPlugin, Level: "error", Text: "Observe: " + panicked.Error()})
	}
	return err
}

// startRun begins the observation of a handler that belongs to no hook. It returns nil if nobody observes, or
// if another handler called this one.
func (t *Turn) startRun(ctx context.Context, e *starhost.Event, name string) *observation {
	run := *e
	run.Name = name
	o := t.startObserving(ctx, &run)
	if o != nil {
		o.isRun = true
	}
	return o
}

// finishRun passes the run of a handler to [Options.Observe], if it had effects.
func (t *Turn) finishRun(o *observation, lane *Lane, pos starhost.Pos, failed error) {
	if o == nil {
		return
	}
	t.observed = nil
	if len(o.effects) == 0 && o.lost == 0 && !t.host.opts.ObserveAll {
		return
	}
	if o.lost > 0 {
		text := fmt.Sprintf("%d more effects and lines are not in the record, which has room for %d KiB", o.lost, maxRun>>10)
		o.logs = append(o.logs, LogLine{Plugin: starhost.HostPlugin, Level: "warn", Text: text})
	}
	call := HookTrace{
		Event: o.given.Name, Plugin: lane.Plugin, Pos: pos, Steps: lane.Steps, Bytes: lane.Bytes,
		Effects: o.effects, Logs: o.logs,
	}
	if failed != nil {
		call.Action, call.Detail = starhost.ActionError, failed.Error()
	}
	out := Outcome{Hooks: []HookTrace{call}, Turn: t.number, Duration: time.Since(o.start)}
	if err := t.observe(&o.given, &out); err != nil {
		text := errtext.Format("%s %s was not recorded: %v", o.given.Name, cmp.Or(o.given.Tool, o.given.Command, lane.Plugin), err)
		t.host.opts.Log(LogLine{Plugin: starhost.HostPlugin, Level: "error", Text: text})
	}
}

// finishLoad passes on what a loader logged and did, and passes the loader's run to [Options.Observe] as
// finishRun does. It is called after the loader has ended, because loaders run at the same time. The host's
// own loaders read what the user names, and count for no plugin.
func (t *Turn) finishLoad(
	ctx context.Context, name, ref string, lane *Lane, pos starhost.Pos, took time.Duration, failed error,
) {
	var run *observation
	if t.host.opts.Observe != nil && lane.Plugin != starhost.HostPlugin {
		e := t.newEvent(name)
		e.App = []starhost.AppArg{{Name: "ref", Value: jsontext.EncodeOrNull(ref)}}
		if run = t.startRun(ctx, e, name); run != nil {
			run.start = run.start.Add(-took)
		}
	}
	t.deliverRecords(lane)
	t.finishRun(run, lane, pos, failed)
}

// observeApproval passes the answer to a question about a call to [Options.Observe]. If Observe fails, an
// approval does not count.
func (t *Turn) observeApproval(ctx context.Context, r *ApprovalRequest, got *approval, d starhost.Decision) {
	if t.host.opts.Observe == nil || ctx.Err() != nil {
		return
	}
	e := t.newEvent(starhost.EventApproval)
	e.Tool, e.Arguments, e.CallID, e.Plugin = r.Call.Name, bytes.Clone(r.Call.Arguments), r.Call.ID, r.Plugin
	if tool := t.registry.tools[e.Tool]; tool != nil {
		e.ToolKinds = tool.Kinds
	}
	answer := &Answer{Yes: got.Approved, By: got.by, Asked: got.asked, Answered: got.given}
	for _, reason := range r.Reasons {
		ask := starhost.Decision{Action: starhost.ActionAsk, Reason: reason, Plugin: r.Plugin}
		if i := slices.IndexFunc(r.Asks, func(d starhost.Decision) bool { return d.Reason == reason }); i >= 0 {
			ask = r.Asks[i]
		}
		answer.Asks = append(answer.Asks, ask)
	}
	out := Outcome{Decision: d, Turn: t.number, Duration: got.given.Sub(got.asked), Answer: answer}
	if err := t.observe(e, &out); err != nil && got.Approved {
		*got = approval{Reason: errtext.Format("the approval was not recorded: %v", err), by: got.by}
	}
}

// ReportRun passes a call that ran with other arguments than guards judged to [Options.Observe], for a
// program whose agent says what ran. reason says what differs.
func (h *Host) ReportRun(e *starhost.Event, reason string) error {
	if h.opts.Observe == nil {
		return nil
	}
	ran := *e
	ran.Name, ran.Describe, ran.Arguments = starhost.EventCallRan, h.opts.Describe, bytes.Clone(e.Arguments)
	return h.opts.Observe(ran, Outcome{Decision: starhost.Decision{Reason: reason, Plugin: starhost.HostPlugin}})
}

// refuseUnrecorded refuses an event because [Options.Observe] failed.
func (t *Turn) refuseUnrecorded(spec *starhost.EventSpec, out *Outcome, why error) error {
	d := starhost.Decision{Reason: errtext.Format("the decision was not recorded: %v", why), Plugin: starhost.HostPlugin}
	switch {
	case slices.Contains(spec.Actions, starhost.ActionDeny):
		d.Action = starhost.ActionDeny
		out.Decisions, out.Decision, out.Ask = append(out.Decisions, d), d, false
	case slices.Contains(spec.Actions, starhost.ActionAbort):
		out.Decision, t.completed = d, false
		out.Decision.Action = starhost.ActionAbort
		return &AbortError{Reason: d.Reason, Plugin: d.Plugin}
	default:
		t.host.opts.Log(LogLine{Plugin: starhost.HostPlugin, Level: "error", Text: spec.Name + ": " + d.Reason})
	}
	return nil
}
