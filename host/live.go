// This file lets a program replace a host while sessions run, after plugins have changed.

package host

import (
	"sync/atomic"
)

// A LiveHost is a host that a program can replace. To reload plugins, a program builds a second Host and
// swaps it in. A turn keeps the plugins that it began with to its end; the next turn of its session has the
// new ones. A LiveHost is safe for concurrent use.
type LiveHost struct {
	host     atomic.Pointer[Host]
	sessions atomic.Int64
}

// NewLiveHost returns a LiveHost that begins with h.
func NewLiveHost(h *Host) *LiveHost {
	l := new(LiveHost)
	l.host.Store(h)
	return l
}

// Host returns the host that the next turn will have.
func (l *LiveHost) Host() *Host { return l.host.Load() }

// Swap makes h the host of all turns that begin from now on. It returns the previous host.
func (l *LiveHost) Swap(h *Host) (old *Host) { return l.host.Swap(h) }
