package mcp

import (
	"testing"
	"time"
)

// Quickly makes what waits for seconds wait for moments.
func Quickly(t *testing.T) {
	times := []*time.Duration{&aliveEvery, &bodyTimeout, &firstPause, &mostPause}
	for _, p := range times {
		old := *p
		*p = 20 * time.Millisecond
		t.Cleanup(func() { *p = old })
	}
}

// BoundConns is boundConns.
var BoundConns = boundConns
