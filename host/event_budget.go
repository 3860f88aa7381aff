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

// maxHeld is the most bytes that the host holds for the handlers of one event until the event ends:
// what they decided, and what they logged and did if the program records that.
const maxHeld = 32 << 20

// hold charges what a call leaves with the host to the event. The error says that there is no room.
// The host then forgets the call's logs and effects, and takes no decision of it.
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

// A pluginShare is a plugin's use of one event's budget.
type pluginShare struct {
	steps    uint64
	exceeded bool // a handler failed because of the budget, and the log says so
}

// startEvent gives a new budget to the event of ctx. It returns the event's deadline.
func (t *Turn) startEvent(ctx context.Context) (deadline time.Time) {
	if LaneOf(ctx) == nil && !t.inErrorEvent {
		t.held = 0
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
		return t.exceedBudget(l, share, codes.Time, fmt.Sprintf("the event has taken more than %v", t.host.opts.EventTimeout))
	case most == 0 || l.outer != nil:
		return nil
	case share.steps >= most:
		return t.exceedBudget(l, share, codes.Steps, fmt.Sprintf("the handlers of %s used %d steps in this event, limit %d; [limits] event raises it", l.Plugin, share.steps, most))
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
	logged bool // an earlier error of the same plugin and event is in the log
}

func (e *eventLimitError) Error() string { return e.text }
func (e *eventLimitError) Code() string  { return e.code }
