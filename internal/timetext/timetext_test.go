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

func TestParseSpan(t *testing.T) {
	for text, want := range map[string]string{
		"90d": "90d", "1d": "1d", "12h": "12h0m0s", "48h": "2d", "500ms": "500ms",
		"": "", "0d": "", "-1d": "", "0s": "", "-1h": "", "d": "", "1.5d": "", "99999999d": "", "1 d": "", "forever": "",
	} {
		got, err := ParseSpan(text)
		if err == nil != (want != "") || err == nil && FormatSpan(got) != want {
			t.Errorf("%q: got %s, %v, want %q", text, FormatSpan(got), err, want)
		}
	}
}
