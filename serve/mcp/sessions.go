package mcp

import (
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxSessions is the most sessions of a server. evictIdle is the time without a request after which
// a session may lose its place to a new one.
const maxSessions = 1024

var evictIdle = time.Minute

// useSession records a request of a session until the caller calls done.
func (s *Server) useSession(name string, ss *sdk.ServerSession) (done func()) {
	switch name {
	case "initialize", "notifications/initialized", "ping": // with which a client opens a session without using it
		return func() {}
	}
	ours := s.findSession(ss)
	mark := func(change int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		ours.requests += change
		ours.lastUse = time.Now()
	}
	mark(1)
	return func() { mark(-1) }
}

// makeRoom reports whether the server has a place for a new session. If it has none, it ends the
// oldest session that its client never used, or else the session whose last use is the longest ago,
// if that session is idle. Its client gets a 404 for its next request and begins again.
func (s *Server) makeRoom() bool {
	s.admission.Lock()
	defer s.admission.Unlock()
	n := 0
	for ss := range s.sdk.Sessions() {
		if ss.ID() != "" { // a session without an id is one request, which has its own limit
			n++
		}
	}
	if n < maxSessions {
		return true
	}
	victim := s.evictable()
	if victim == nil {
		return false
	}
	closed := make(chan struct{})
	go func() { _ = victim.Close(); close(closed) }() // the session ends in any case
	select {
	case <-closed:
		return true
	case <-time.After(closeTimeout):
		return false
	}
}

// evictable returns the session that makeRoom may end, or nil.
func (s *Server) evictable() *sdk.ServerSession {
	var idle *sdk.ServerSession
	last := time.Now().Add(-evictIdle)
	s.mu.Lock()
	defer s.mu.Unlock()
	for ss := range s.sdk.Sessions() {
		if ss.ID() == "" {
			continue
		}
		ours := s.sessions[ss]
		if ours == nil {
			return ss
		}
		if ours.requests == 0 && ours.lastUse.Before(last) {
			idle, last = ss, ours.lastUse
		}
	}
	return idle
}
