// The time, steps and memory that all handlers of one event share.

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/codes"
)

// Each call of a handler has its own limits, but a plugin may register a thousand handlers for one
// event. So an event has limits, too: Plugin.EventSteps for all hooks of one plugin together, and
// Options.EventTimeout for all hooks together. A handler that would start beyond a limit fails
// without a call; a guard then denies. Nested calls use the steps of the calling handler, so only
// the time limits their events. An error event uses the budget of the event whose handler failed.

// maxHeld is the most bytes that the host stores for the handlers of one event until the event ends: their
// decisions, and, if the program records them, their logs and effects.
const maxHeld = 32 << 20

// hold counts what a call leaves in the host's memory as a part of the event. If there is no room, it returns
// an error. The host then drops the logs and effects of the call, and ignores its decision.
func (t *Turn) hold(l *Lane, d *starhost.Decision) error {
	if l.ReadOnly { // loaders run beside each other, and have limits of their own
		return nil
	}
	t.held += heldBytes(d)
	if t.observed != nil && !t.observed.isRun {
		for i := range l.Logs {
			t.held += len(l.Logs[i].Text) + len(l.Logs[i].Fields)
		}
		if l.pending != nil {
			for i := range l.pending.entries {
				t.held += len(l.pending.entries[i].Line)
			}
		}
	}
	if t.held <= maxHeld {
		return nil
	}
	l.Logs, l.pending = nil, nil
	return codes.Errorf(codes.Memory, "the decisions, logs and effects of the event's handlers take more than %d MiB", maxHeld>>20)
}

// heldBytes returns the bytes of the texts and values of a decision.
func heldBytes(d *starhost.Decision) int {
	n := len(d.Reason) + len(d.Value)
	if d.Result != nil {
		n += len(d.Result.ForLLM) + len(d.Result.ForUser)
	}
	for i := range d.Context.Fragments {
		n += len(d.Context.Fragments[i].Content)
	}
	for _, value := range d.Changes {
		switch v := value.(type) {
		case string:
			n += len(v)
		case json.RawMessage:
			n += len(v)
		case starhost.Result:
			n += len(v.ForLLM) + len(v.ForUser)
		}
	}
	return n
}

// A pluginShare is the part of an event's budget that one plugin has used.
type pluginShare struct {
	steps    uint64
	exceeded bool // a handler failed because the budget was spent, and the log says so
}

// startEvent gives the event of ctx a new budget, and returns the event's deadline.
func (t *Turn) startEvent(ctx context.Context) (deadline time.Time) {
	if LaneOf(ctx) == nil && !t.inErrorEvent {
		t.held = 0
		clear(t.shares)
	}
	return time.Now().Add(t.host.opts.EventTimeout)
}

// limitCall lets a call use only what is left of the event's budget: the time up to the deadline, and the
// steps for the plugin of the lane. If most is 0, the steps have no bound. If nothing is left, limitCall
// returns an *eventLimitError.
func (t *Turn) limitCall(l *Lane, most uint64, deadline time.Time) error {
	l.deadline = deadline
	share := t.shares[l.Plugin]
	switch {
	case l.isLate():
		return t.exceedBudget(l, share, codes.Time, fmt.Sprintf("the event has taken more than %v", t.host.opts.EventTimeout))
	case most == 0 || l.outer != nil:
		return nil
	case share.steps >= most:
		return t.exceedBudget(l, share, codes.Steps, fmt.Sprintf("the handlers of %s used %d steps in this event, limit %d; [limits] event raises it", l.Plugin, share.steps, most))
	}
	l.MaxSteps = most - share.steps
	return nil
}

// exceedBudget returns the error of a call that does not run because the event's budget is spent.
func (t *Turn) exceedBudget(l *Lane, share pluginShare, code, text string) error {
	err := &eventLimitError{code: code, text: text, logged: share.exceeded}
	share.exceeded = true
	t.setShare(l, share)
	return err
}

// addSteps adds the steps of a call to the plugin's part of the budget. It returns err, or a clearer error if
// the event's deadline caused err.
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
	return codes.Errorf(codes.Time, "no result within %v, the time of one event", t.host.opts.EventTimeout)
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
	logged bool // the log already has an error of the same plugin and event
}

func (e *eventLimitError) Error() string { return e.text }
func (e *eventLimitError) Code() string  { return e.code }
