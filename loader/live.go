package loader

import (
	"context"
	"sync"
	"sync/atomic"
)

// A Live holds the set that is in use, and replaces it as a whole. Who began with
// a set ends with it: turns under way are not disturbed. It is safe for concurrent
// use.
type Live struct {
	load     func(context.Context) (*Set, error)
	reloadMu sync.Mutex
	current  atomic.Pointer[Set]
}

// NewLive returns a Live that uses what load returns. Its errors are those of
// [Live.Reload].
func NewLive(ctx context.Context, load func(context.Context) (*Set, error)) (*Live, error) {
	l := &Live{load: load}
	return l, l.Reload(ctx)
}

// Set returns the set in use; nil if none was loaded yet.
func (l *Live) Set() *Set { return l.current.Load() }

// Reload loads a set and uses it from now on. One that cannot be loaded, or in
// which anything failed, is not used: the error says why, and the old one stays.
// An old set is not closed, since others may still work with it; its open folder
// is freed with it.
func (l *Live) Reload(ctx context.Context) error {
	l.reloadMu.Lock()
	defer l.reloadMu.Unlock()
	next, err := l.load(ctx)
	if err != nil {
		if next != nil { // a required plugin is missing
			next.Close()
		}
		return err
	}
	if err := next.Err(); err != nil {
		next.Close() // it was only read
		return err
	}
	l.current.Store(next)
	return nil
}
