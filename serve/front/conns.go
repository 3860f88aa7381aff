package front

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// A connLimit bounds the open connections. If there are too many, the connection that has waited
// longest without a request that passed gives way: whoever has no token cannot keep others out.
type connLimit struct {
	most      int
	mu        sync.Mutex
	open      map[net.Conn]*list.Element // nil for a connection whose request passed
	strangers list.List                  // the other connections, the longest waiting one first
}

type connKey struct{}

// withConn gives a connection to its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// follow is called whenever the state of a connection changes.
func (l *connLimit) follow(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch state {
	case http.StateNew:
		if len(l.open) >= l.most {
			l.makeRoom(c)
		}
		l.open[c] = l.strangers.PushBack(c)
	case http.StateClosed, http.StateHijacked:
		l.forget(c)
	}
}

// makeRoom closes a stranger, or the new connection if there is none.
func (l *connLimit) makeRoom(c net.Conn) {
	if first := l.strangers.Front(); first != nil {
		c = first.Value.(net.Conn)
		l.forget(c)
	}
	_ = c.Close() // its StateClosed follows
}

func (l *connLimit) forget(c net.Conn) {
	if stranger := l.open[c]; stranger != nil {
		l.strangers.Remove(stranger)
	}
	delete(l.open, c)
}

// pass says that a request of a connection passed.
func (l *connLimit) pass(r *http.Request) {
	c, ok := r.Context().Value(connKey{}).(net.Conn)
	if l == nil || !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if stranger := l.open[c]; stranger != nil {
		l.strangers.Remove(stranger)
		l.open[c] = nil
	}
}

// release says that a request of a connection of a server without tokens has ended. The connection
// waits for its next one, and may give way.
func (l *connLimit) release(r *http.Request) {
	c, ok := r.Context().Value(connKey{}).(net.Conn)
	if l == nil || !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if stranger, open := l.open[c]; open && stranger == nil {
		l.open[c] = l.strangers.PushBack(c)
	}
}
