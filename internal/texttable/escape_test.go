package texttable

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestEscape(t *testing.T) {
	tests := []struct{ text, escaped, line, hung string }{
		{"", "", "", ""},
		{"plain é\u200d😀", "plain é\u200d😀", "plain é\u200d😀", "plain é\u200d😀"},
		{"a\nb\tc", "a\nb\tc", `a\nb\tc`, "a\n  | b\tc"},
		{"\x1b[2J\r\a\x7f", `\u001b[2J\r\u0007\u007f`, `\u001b[2J\r\u0007\u007f`, `\u001b[2J\r\u0007\u007f`},
		{"\u0085\u009b1m\u202e\u2066\u200f\u061c\u2028", `\u0085\u009b1m\u202e\u2066\u200f\u061c\u2028`, `\u0085\u009b1m\u202e\u2066\u200f\u061c\u2028`, `\u0085\u009b1m\u202e\u2066\u200f\u061c\u2028`},
		{"a\u200bb\ufeff\u00ad\u3164\u2800\U000e0041", `a\u200bb\ufeff\u00ad\u3164\u2800\udb40\udc41`, `a\u200bb\ufeff\u00ad\u3164\u2800\udb40\udc41`, `a\u200bb\ufeff\u00ad\u3164\u2800\udb40\udc41`},
		{"\x9b1m", "\ufffd1m", "\ufffd1m", "\ufffd1m"},
	}
	for _, tt := range tests {
		if got := Escape(tt.text); got != tt.escaped {
			t.Errorf("Escape(%q): got %q, want %q", tt.text, got, tt.escaped)
		}
		if got := EscapeLine(tt.text); got != tt.line {
			t.Errorf("EscapeLine(%q): got %q, want %q", tt.text, got, tt.line)
		}
		if got := Hang(tt.text); got != tt.hung {
			t.Errorf("Hang(%q): got %q, want %q", tt.text, got, tt.hung)
		}
	}
}

// TestEscapeAny checks that no text keeps a character that a terminal obeys, and that tables
// have a line for each row.
func TestEscapeAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text") + string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		for _, got := range []string{Escape(text), EscapeLine(text), Hang(text), Bar(text), OneLine(text)} {
			if !utf8.ValidString(got) || Escape(got) != got {
				t.Errorf("%q stays harmful: %q", text, got)
			}
		}
		if got := EscapeLine(text) + OneLine(text); strings.ContainsAny(got, "\n\t") {
			t.Errorf("%q has several lines: %q", text, got)
		}
		if got := strings.Count(Align([][]string{{text, "b"}, {"c", text}}, 1), "\n"); got != 2 {
			t.Errorf("%q: got %d lines of a table, want 2", text, got)
		}
	})
}
