package starhost

import (
	"sync/atomic"
)

// A Live is the Host of the moment: reloading builds a second Host and swaps it
// in. A turn ends on the plugins that it began with; the next turn of its session
// has the new ones. It is safe for concurrent use.
type LiveHost struct {
	host     atomic.Pointer[Host]
	sessions atomic.Int64
}

// NewLiveHost returns a Live that begins with h.
func NewLiveHost(h *Host) *LiveHost {
	l := new(LiveHost)
	l.host.Store(h)
	return l
}

// Host returns the host that the next turn begins with.
func (l *LiveHost) Host() *Host { return l.host.Load() }

// Swap makes h the host of all turns that begin from now on, and returns the one
// before it.
func (l *LiveHost) Swap(h *Host) (old *Host) { return l.host.Swap(h) }
