package mcp

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// These bound what the other side sends unasked. Each message takes time to decode, and the SDK
// queues notifications without a bound.
const (
	maxUnasked  = 1000 // messages in a second that starhost reads without a pause
	unaskedTime = time.Second
	maxFull     = 10 // seconds in a row with more
)

// shortFloods is true in tests, where a second is shorter. Readers of a mount may outlive its test.
var shortFloods atomic.Bool

// A flood is what the other side of a connection sends unasked. starhost reads many such messages
// slowly, and ends the connection if they do not end.
type flood struct {
	mu    sync.Mutex
	since time.Time // the begin of the running second
	count int       // its messages
	full  int       // the seconds in a row that had too many
}

// take counts a message. It waits for the end of the second if that has too many already. It fails
// after maxFull such seconds in a row, and if ctx ends first. A closed connection ends the wait.
func (f *flood) take(ctx context.Context, closed <-chan struct{}) error {
	pause, err := f.add(time.Now())
	if err != nil || pause <= 0 {
		return err
	}
	select {
	case <-time.After(pause):
	case <-closed:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// add counts a message at a time, and returns the pause after it.
func (f *flood) add(now time.Time) (pause time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	most, span := maxUnasked, unaskedTime
	if shortFloods.Load() {
		most, span = 10, 5*time.Millisecond
	}
	if passed := now.Sub(f.since); passed > span {
		if f.count <= most || passed > 2*span {
			f.full = 0
		}
		f.count, f.since = 0, now
	}
	if f.count++; f.count == most+1 {
		f.full++
	}
	switch {
	case f.full >= maxFull:
		return 0, fmt.Errorf("got more than %d messages that nobody asked for in each of %d seconds, want fewer", most, maxFull)
	case f.count > most:
		return f.since.Add(span).Sub(now), nil
	}
	return 0, nil
}
