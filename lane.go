package starhost

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// A Lane is one handler call: its place in the turn, what it spent and what it
// said. Lanes are numbered in the order in which their calls are due, not in
// which they end, so whatever is derived from a lane is the same on any number
// of cores. A lane is used by the goroutine of its call alone.
type Lane struct {
	// Plugin is the handler's plugin.
	Plugin string
	// ReadOnly is true for loaders, which may run beside each other.
	ReadOnly bool
	// Steps and Bytes are what evaluation spent so far.
	Steps, Bytes uint64
	// Logs are the lines that the handler logged, in order.
	Logs []LogLine
	// Counters numbers draws by name (random, uuid), so that each is different.
	Counters map[string]uint64

	// MaxSteps is the most steps that the call may spend beside its plugin's own limit, which the
	// budget of its event leaves it. Zero means no bound.
	MaxSteps uint64

	records      bool   // Options.Record wants the call's effects
	aside        string // starts the path if the call belongs to no turn
	outer        *Lane  // of the handler that made the call, or nil
	number       int    // among the calls of the outer lane or the turn, from 1
	depth        int
	children     int
	pending      *pendingRecords // or nil
	ctx          context.Context // of who asked for the call
	deadline     time.Time       // of the event; zero means none
	mu           sync.Mutex      // of timed and cancel
	timedContext context.Context // ctx until deadline, once somebody waits for that; see Done
	cancel       context.CancelFunc
}

// Path is the call's number within the turn, from 1; a nested call adds "/" and
// its own number: "3/1". Between turns it is "s", the number of the command or
// event in the session, a dot and the call's number: "s2.1".
func (l *Lane) Path() string {
	switch {
	case l.outer != nil:
		return l.outer.Path() + "/" + strconv.Itoa(l.number)
	case l.number > 0:
		return l.aside + strconv.Itoa(l.number)
	}
	return ""
}

// Depth returns how many handlers wait for this one: 0 for one that no handler called.
func (l *Lane) Depth() int { return l.depth }

// What is waiting in a lane waits for its call to be done.
type pendingRecords struct {
	notes   []traceNote // of nested calls, while other lanes run beside this one
	entries []Entry
}

// pendingRecords returns what waits in the lane, for more to wait.
func (l *Lane) pendingRecords() *pendingRecords {
	if l.pending == nil {
		l.pending = new(pendingRecords)
	}
	return l.pending
}

// Recording reports whether [Options.Record] wants what [Lane.Record] is given.
func (l *Lane) Recording() bool { return l.records }

// Record keeps the line of an effect until the call is done, when it goes to
// [Options.Record].
func (l *Lane) Record(line json.RawMessage) {
	if l.Recording() {
		w := l.pendingRecords()
		w.entries = append(w.entries, Entry{Line: line})
	}
}

type laneKey struct{}

// A laneContext is a lane as the context of its call, so that a call allocates both
// at once.
type laneContext Lane

func (c *laneContext) Deadline() (time.Time, bool) {
	outer, ok := c.ctx.Deadline()
	if own := c.deadline; !own.IsZero() && (!ok || own.Before(outer)) {
		return own, true
	}
	return outer, ok
}

// Done starts a timer only when somebody waits, because most handlers never do.
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

// isLate reports whether the lane's event is over.
func (l *Lane) isLate() bool { return !l.deadline.IsZero() && time.Until(l.deadline) <= 0 }

// stopTimer ends the timer of a call that is over.
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

// Next returns a name's next number in this lane, from 0.
func (l *Lane) Next(name string) uint64 {
	if l.Counters == nil {
		l.Counters = map[string]uint64{}
	}
	n := l.Counters[name]
	l.Counters[name]++
	return n
}

// AddUsage adds what one evaluation used.
func (l *Lane) AddUsage(steps, bytes uint64) {
	l.Steps += steps
	l.Bytes += bytes
}

// appendFrom makes what waits in a nested lane wait in this one.
func (w *pendingRecords) appendFrom(l *Lane) {
	if done := l.pending; done != nil {
		w.notes, w.entries = append(w.notes, done.notes...), append(w.entries, done.entries...)
	}
}

// maxDepth is the most handlers that wait for each other.
const maxDepth = 8

// ErrDepth says that calls are nested too deeply.
var ErrDepth = fmt.Errorf("handlers call each other more than %d deep", maxDepth)

// checkDepth returns ErrDepth if the handler that ctx belongs to must not call
// others.
func checkDepth(ctx context.Context) error {
	if l := LaneOf(ctx); l != nil && l.depth >= maxDepth {
		return ErrDepth
	}
	return nil
}

// readsOnly reports whether ctx belongs to a loader, beside which others run.
func readsOnly(ctx context.Context) bool {
	l := LaneOf(ctx)
	return l != nil && l.ReadOnly
}

// context returns ctx carrying the lane. A lane is one call: it is carried once.
func (l *Lane) context(ctx context.Context) context.Context {
	l.ctx = ctx
	return (*laneContext)(l)
}
