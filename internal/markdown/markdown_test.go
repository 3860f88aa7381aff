package markdown

import "testing"

func TestEscape(t *testing.T) {
	tests := map[string]string{
		`"**" any folders`:        `"\*\*" any folders`,
		`snake_case and _private`: `snake_case and \_private`,
		"<a> `b` \\d \\*":         "\\<a> \\`b\\` \\\\d \\\\\\*",
		"one\n# two\n- three":     "one\n\\# two\n\\- three",
	}
	for text, want := range tests {
		if got := Escape(text); got != want {
			t.Errorf("Escape(%q): got %q, want %q", text, got, want)
		}
	}
}
