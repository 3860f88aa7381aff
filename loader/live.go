package loader

import (
	"context"
	"sync"
	"sync/atomic"
)

// A Live has the current set, and replaces it as a whole. A turn that began with a set uses it to its end.
// Many goroutines may use a Live at the same time.
type Live struct {
	load     func(context.Context) (*Set, error)
	reloadMu sync.Mutex
	current  atomic.Pointer[Set]
}

// NewLive returns a Live that gets its sets from load. It loads the first set, and returns the error of
// [Live.Reload].
func NewLive(ctx context.Context, load func(context.Context) (*Set, error)) (*Live, error) {
	l := &Live{load: load}
	return l, l.Reload(ctx)
}

// Set returns the current set; nil before the first successful load.
func (l *Live) Set() *Set { return l.current.Load() }

// Reload loads a set and makes it the current one. If the load or anything in the set fails,
// Reload returns the error and the old set stays. It does not close the old set, because turns
// may still use it; the garbage collector closes its folder.
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
		next.Close() // no error matters, because the folder was only read
		return err
	}
	l.current.Store(next)
	return nil
}
