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
