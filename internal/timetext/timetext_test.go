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

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"": "0001-01-01T00:00:00Z", "7d": "2026-01-03T12:00:00Z", "90m": "2026-01-10T10:30:00Z",
		"2026-01-02": "2026-01-02T00:00:00Z", "2026-01-02T03:04:05Z": "2026-01-02T03:04:05Z",
	} {
		if got, err := ParseSince(text, now); err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q: got %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"0d", "-1h", "soon", " 7d", strings.Repeat("x", 1000)} {
		if _, err := ParseSince(text, now); err == nil || len(err.Error()) > 200 || !strings.Contains(err.Error(), "time span as 7d") {
			t.Errorf("%.20q: got error %v, want one that names both forms", text, err)
		}
	}
}
