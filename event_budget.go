package starhost

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// Each call of a handler has its own limits, but a plugin may register a thousand handlers for one
// event. So an event has limits, too: Plugin.EventSteps for all hooks of one plugin together, and
// Options.EventTimeout for all hooks together. A handler that would start beyond a limit fails
// without a call; a guard then denies. Nested calls use the steps of the calling handler, so only
// the time limits their events. An error event uses the budget of the event whose handler failed.

// A pluginShare is a plugin's use of one event's budget.
type pluginShare struct {
	steps    uint64
	exceeded bool // a handler failed because of the budget, and the log says so
}

// startEvent gives a new budget to the event of ctx. It returns the event's deadline.
func (t *Turn) startEvent(ctx context.Context) (deadline time.Time) {
	if LaneOf(ctx) == nil && !t.inErrorEvent {
		clear(t.shares)
	}
	return time.Now().Add(t.host.opts.EventTimeout)
}

// limitCall limits a call to the rest of the event's budget: its deadline and the steps for the
// lane's plugin (0 means no bound). It returns an *eventLimitError if there is no rest.
func (t *Turn) limitCall(l *Lane, most uint64, deadline time.Time) error {
	l.deadline = deadline
	share := t.shares[l.Plugin]
	switch {
	case l.isLate():
		return t.exceedBudget(l, share, codeTime, fmt.Sprintf("the event has taken more than %v", t.host.opts.EventTimeout))
	case most == 0 || l.outer != nil:
		return nil
	case share.steps >= most:
		return t.exceedBudget(l, share, codeSteps, fmt.Sprintf("the handlers of %s used %d steps in this event, limit %d; [limits] event raises it", l.Plugin, share.steps, most))
	}
	l.MaxSteps = most - share.steps
	return nil
}

// exceedBudget returns the error of a call that the event's budget forbids.
func (t *Turn) exceedBudget(l *Lane, share pluginShare, code, text string) error {
	err := &eventLimitError{code: code, text: text, logged: share.exceeded}
	share.exceeded = true
	t.setShare(l, share)
	return err
}

// addSteps adds the steps of a call to its plugin's share. It returns the error of the call, or a
// clearer one if the event's deadline caused it.
func (t *Turn) addSteps(l *Lane, err error) error {
	l.stopTimer()
	if l.outer == nil && l.Steps > 0 {
		share := t.shares[l.Plugin]
		share.steps += min(l.Steps, math.MaxUint64-share.steps)
		t.setShare(l, share)
	}
	if _, aborted := errors.AsType[*AbortError](err); err == nil || aborted || l.ctx.Err() != nil || !l.isLate() {
		return err
	}
	return codedErrorf(codeTime, "no result within %v, the time of one event", t.host.opts.EventTimeout)
}

// chargeSteps adds steps that the host used for a plugin to the plugin's share of the running
// event, or to the handler whose call fired the event.
func (t *Turn) chargeSteps(ctx context.Context, plugin string, steps uint64) {
	if outer := LaneOf(ctx); outer != nil {
		outer.AddUsage(steps, 0)
		return
	}
	lane := Lane{Plugin: plugin}
	share := t.shares[plugin]
	share.steps += min(steps, math.MaxUint64-share.steps)
	t.setShare(&lane, share)
}

func (t *Turn) setShare(l *Lane, share pluginShare) {
	if t.shares == nil {
		t.shares = map[string]pluginShare{}
	}
	t.shares[l.Plugin] = share
}

// An eventLimitError says that the host did not call a handler because the event's budget is spent.
type eventLimitError struct {
	code   string
	text   string
	logged bool // an earlier error of the same plugin and event is in the log
}

func (e *eventLimitError) Error() string { return e.text }
func (e *eventLimitError) Code() string  { return e.code }
