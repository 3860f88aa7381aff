package mcp

import (
	"testing"
	"time"
)

// ShortenTimes changes all waiting times to 20 ms until the test ends.
func ShortenTimes(t *testing.T) {
	times := []*time.Duration{&signOfLifeEvery, &bodyTimeout, &minPause, &maxPause, &endDelay}
	for _, p := range times {
		old := *p
		*p = 20 * time.Millisecond
		t.Cleanup(func() { *p = old })
	}
}

// LimitConns is limitConns.
var LimitConns = limitConns

// ShortenGrace changes the time for open requests of a server that stops to 100 ms until the test
// ends.
func ShortenGrace(t *testing.T) {
	old := grace
	grace = 100 * time.Millisecond
	t.Cleanup(func() { grace = old })
}

// CountSubscriptions returns the number of subscriptions of all sessions.
func CountSubscriptions(s *Server) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, count := range s.subscribed {
		n += count
	}
	return n
}
