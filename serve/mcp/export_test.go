package mcp

import (
	"context"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
)

// ShortenTimes changes all waiting times to 20 ms until the test ends.
func ShortenTimes(t *testing.T) {
	times := []*time.Duration{&signOfLifeEvery, &minPause, &maxPause, &endDelay}
	for _, p := range times {
		old := *p
		*p = 20 * time.Millisecond
		t.Cleanup(func() { *p = old })
	}
}

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

// AddSubscriptions adds subscriptions of other sessions.
func AddSubscriptions(s *Server, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribed["starhost://city/of-others"] += n
}

// MaxSubscribed is the limit of all sessions' subscriptions.
const MaxSubscribed = maxSubscribed

// CountRequests returns the number of open requests of all sessions.
func CountRequests(s *Server) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ours := range s.sessions {
		n += ours.requests
	}
	return n
}

// SetPauses changes the pauses of mounts until the test ends.
func SetPauses(t *testing.T, shortest, longest time.Duration) {
	oldMin, oldMax := minPause, maxPause
	minPause, maxPause = shortest, longest
	t.Cleanup(func() { minPause, maxPause = oldMin, oldMax })
}

// An endlessReader is a flood of notifications.
type endlessReader struct{}

func (endlessReader) Read(b []byte) (int, error) {
	return copy(b, strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/x"}`+"\n", 100)), nil
}

// ShortenFloods makes floods end soon until the test ends.
func ShortenFloods(t *testing.T) {
	shortFloods.Store(true)
	t.Cleanup(func() { shortFloods.Store(false) })
}

// CountUnasked returns the number of notifications that a mount, or a server, reads from a flood in
// a time.
func CountUnasked(t *testing.T, d time.Duration, isServer bool) (n int) {
	l := newLineConn(endlessReader{}, io.Discard)
	l.answersErrors = isServer
	go l.readLines()
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	for {
		if _, err := l.Read(ctx); err != nil {
			return n
		}
		n++
	}
}

// MaxSessions is the most sessions of a server.
const MaxSessions = maxSessions

// SetEvictIdle changes the idle time of sessions that lose their places until the test ends.
func SetEvictIdle(t *testing.T, d time.Duration) {
	old := evictIdle
	evictIdle = d
	t.Cleanup(func() { evictIdle = old })
}

// SetApprovalTimeout changes the time for a person's answer until the test ends.
func SetApprovalTimeout(t *testing.T, d time.Duration) {
	old := approvalTimeout
	approvalTimeout = d
	t.Cleanup(func() { approvalTimeout = old })
}

// MaxUsedStates is the limit of request states that were used.
const MaxUsedStates = maxUsedStates

// FillStates uses more states than a server stores. It returns the number of accepted ones, and
// whether the server accepts one after these have expired.
func FillStates() (accepted int, after bool) {
	var s requestStates
	now := time.Now()
	for i := range maxUsedStates + 10 {
		if s.use(requestState{Nonce: strconv.Itoa(i), Expires: now.Add(time.Minute)}, now) == nil {
			accepted++
		}
	}
	later := now.Add(time.Minute)
	return accepted, s.use(requestState{Nonce: "later", Expires: later.Add(time.Minute)}, later) == nil
}
