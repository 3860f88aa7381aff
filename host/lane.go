// This file describes one call of a handler: its place in the turn, its usage, its log and its context.

package host

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/starhost/starhost/internal/errtext"
)

// A Lane is one call of a handler: its place in the turn, its usage and its log. Lanes are numbered in the
// order in which their calls are due, not in the order in which they end. So everything that depends on a
// lane is the same on any number of cores. Only the goroutine of the call uses the lane.
type Lane struct {
	// Plugin is the handler's plugin.
	Plugin string
	// ReadOnly is true for the calls of loaders, which may run at the same time.
	ReadOnly bool
	// Steps and Bytes are what the call has used so far.
	Steps, Bytes uint64
	// Logs are the lines that the handler logged, in order.
	Logs []LogLine
	// Counters count how often the call has drawn from each source (random, uuid), so that each draw differs.
	Counters map[string]uint64

	// MaxSteps is the most steps that the event's budget leaves for the call. The plugin's own
	// limit applies as well. Zero means no bound.
	MaxSteps uint64

	records      bool // Options.Record or Options.Observe wants the effects of the call
	most         int  // the most bytes of effects that the lane stores; 0 for any number
	turn         *Turn
	aside        string // begins the path, if the call belongs to no turn
	outer        *Lane  // the lane of the calling handler, or nil
	number       int    // the call's number among the calls of the outer lane or of the turn, from 1
	depth        int
	children     int
	pending      *pendingRecords // or nil
	ctx          context.Context // the caller's context
	deadline     time.Time       // the end of the event; zero means none
	mu           sync.Mutex      // guards the two fields below
	timedContext context.Context // ctx with the deadline; Done makes it
	cancel       context.CancelFunc
}

// Path returns the number of the call in the turn, from 1. A nested call appends "/" and its own
// number: "3/1". Between two turns the path starts with "s", the number of the command or event in
// the session, and a dot: "s2.1".
func (l *Lane) Path() string {
	switch {
	case l.outer != nil:
		return l.outer.Path() + "/" + strconv.Itoa(l.number)
	case l.number > 0:
		return l.aside + strconv.Itoa(l.number)
	}
	return ""
}

// Depth returns the number of handlers that wait for this call: 0 if no handler made it.
func (l *Lane) Depth() int { return l.depth }

// The pendingRecords of a lane are the entries and notes that the turn passes on when the call is done.
type pendingRecords struct {
	notes   []traceNote // notes of nested calls, while other lanes run at the same time
	entries []Entry
	size    int // the bytes of entries, if the lane has a bound
	lost    int // how many entries had no room
}

// pendingRecords returns the pending records of the lane, and makes them at the first call.
func (l *Lane) pendingRecords() *pendingRecords {
	if l.pending == nil {
		l.pending = new(pendingRecords)
	}
	return l.pending
}

// Recording reports whether the program records effects by [Options.Record] or [Options.Observe].
func (l *Lane) Recording() bool { return l.records }

// Record stores the line of an effect. The turn passes it to [Options.Record] when the call is
// done.
func (l *Lane) Record(line json.RawMessage) {
	if l.Recording() {
		w := l.pendingRecords()
		if w.size += len(line); l.most > 0 && w.size > l.most {
			w.size -= len(line)
			w.lost++
			return
		}
		w.entries = append(w.entries, Entry{Line: line})
	}
}

type laneKey struct{}

// A laneContext is a lane that is also the context of its call, so that each call needs only one allocation.
type laneContext Lane

func (c *laneContext) Deadline() (time.Time, bool) {
	outer, ok := c.ctx.Deadline()
	if own := c.deadline; !own.IsZero() && (!ok || own.Before(outer)) {
		return own, true
	}
	return outer, ok
}

// Done starts the timer only when a caller waits, because most handlers never wait.
func (c *laneContext) Done() <-chan struct{} {
	if c.deadline.IsZero() {
		return c.ctx.Done()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timedContext == nil {
		c.timedContext, c.cancel = context.WithDeadline(c.ctx, c.deadline)
	}
	return c.timedContext.Done()
}

func (c *laneContext) Err() error {
	c.mu.Lock()
	timed := c.timedContext
	c.mu.Unlock()
	if timed != nil {
		return timed.Err()
	}
	if err := c.ctx.Err(); err != nil || !(*Lane)(c).isLate() {
		return err
	}
	return context.DeadlineExceeded
}

// isLate reports whether the deadline of the lane's event has passed.
func (l *Lane) isLate() bool { return !l.deadline.IsZero() && time.Until(l.deadline) <= 0 }

// stopTimer stops the timer of a call that has ended.
func (l *Lane) stopTimer() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		l.cancel()
	}
}

func (c *laneContext) Value(key any) any {
	if key == (laneKey{}) {
		return (*Lane)(c)
	}
	return c.ctx.Value(key)
}

// LaneOf returns the lane of the handler call that ctx belongs to, or nil.
func LaneOf(ctx context.Context) *Lane {
	l, _ := ctx.Value(laneKey{}).(*Lane)
	return l
}

// Next returns the next number of a counter, from 0.
func (l *Lane) Next(name string) uint64 {
	if l.Counters == nil {
		l.Counters = map[string]uint64{}
	}
	n := l.Counters[name]
	l.Counters[name]++
	return n
}

// AddUsage adds the steps and bytes of one evaluation to those of the call.
func (l *Lane) AddUsage(steps, bytes uint64) {
	l.Steps += steps
	l.Bytes += bytes
}

// appendFrom appends the pending records of a nested lane.
func (w *pendingRecords) appendFrom(l *Lane) {
	if done := l.pending; done != nil {
		w.notes, w.entries = append(w.notes, done.notes...), append(w.entries, done.entries...)
		w.lost += done.lost
	}
}

// maxDepth is the most handlers that wait for each other.
const maxDepth = 8

// ErrDepth says that handlers call each other too deeply.
var ErrDepth = errtext.Errorf("handlers call each other more than %d deep", maxDepth)

// checkDepth returns ErrDepth if the handler of ctx must not call others.
func checkDepth(ctx context.Context) error {
	if l := LaneOf(ctx); l != nil && l.depth >= maxDepth {
		return ErrDepth
	}
	return nil
}

// readsOnly reports whether ctx belongs to a call that must only read, because other calls may run at the
// same time.
func readsOnly(ctx context.Context) bool {
	l := LaneOf(ctx)
	return l != nil && l.ReadOnly
}

// context returns ctx with the lane. It may be called only once for each lane.
func (l *Lane) context(ctx context.Context) context.Context {
	l.ctx = ctx
	return (*laneContext)(l)
}

// TurnOf returns the turn of the handler call that ctx belongs to, or nil.
func TurnOf(ctx context.Context) *Turn {
	if l := LaneOf(ctx); l != nil {
		return l.turn
	}
	return nil
}
