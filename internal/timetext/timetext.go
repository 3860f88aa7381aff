// Package timetext reads the times that people write for the clock of handlers.
package timetext

import (
	"fmt"
	"strconv"
	"time"
)

// Parse reads a time as 2026-01-01T00:00:00Z, or a day. Its error quotes at most 200 bytes.
func Parse(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	shown := text[:min(len(text), 40)]
	return time.Time{}, fmt.Errorf("got %s, want a time as 2026-01-01T00:00:00Z, or a day", strconv.Quote(shown))
}
