// Package timetext reads the times and time spans that people write.
package timetext

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
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

// ParseSince reads where a past begins: a time span before now, or what Parse reads. No text is the zero time, which
// is the whole past.
func ParseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if span, err := ParseSpan(text); err == nil {
		return now.Add(-span), nil
	}
	t, err := Parse(text)
	if err != nil {
		return t, fmt.Errorf("%w, or a time span as 7d or 12h", err)
	}
	return t, nil
}

const day = 24 * time.Hour

// ParseSpan reads a time span over 0: whole days as 90d, or a span as 12h. Its error does not quote
// the text.
func ParseSpan(text string) (time.Duration, error) {
	if digits, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(digits, 10, 16); err == nil && n > 0 {
			return time.Duration(n) * day, nil
		}
	} else if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, errors.New("a time span over 0, as 90d or 12h")
}

// FormatSpan returns a text that ParseSpan reads, in days if they are whole.
func FormatSpan(d time.Duration) string {
	if d > 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return d.String()
}
