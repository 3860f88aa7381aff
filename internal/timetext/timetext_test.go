package timetext

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"2026-03-01":                   "2026-03-01T00:00:00Z",
		"2026-03-01T09:30:00Z":         "2026-03-01T09:30:00Z",
		"2026-03-01T09:30:00.5+02:00":  "2026-03-01T09:30:00.5+02:00",
		"2026-03-01T09:30":             "",
		"2026-02-30":                   "",
		"":                             "",
		"noon":                         "",
		"\x1b[31m":                     "",
		strings.Repeat("9", 1_000_000): "",
	} {
		got, err := Parse(text)
		switch {
		case err != nil && (want != "" || len(err.Error()) > 260 || strings.Contains(err.Error(), "\x1b")):
			t.Errorf("%.30q: got the error %.300q, want %q", text, err, want)
		case err == nil && got.Format(time.RFC3339Nano) != want:
			t.Errorf("%.30q: got %v, want %q", text, got, want)
		}
	}
}
