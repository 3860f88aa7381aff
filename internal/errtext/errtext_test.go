package errtext

import (
	"errors"
	"strings"
	"testing"
)

func TestQuoteShort(t *testing.T) {
	if got := Quote(strings.Repeat("é", 200)); len(got) > 200 {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
}

func TestRuneStartOfBrokenText(t *testing.T) {
	for i := range 6 {
		if got := RuneStart("\x80\x80\x80\x80\x80\x80", i); got != i {
			t.Errorf("runeStart at %d: got %d", i, got)
		}
	}
}

func TestFormat(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	wrapped := errors.New(long)
	tests := []struct {
		name, got string
		most      int
	}{
		{"a quoted text", Format("got %q, want %q", long, "a"), 150},
		{"control characters", Format("got %q", strings.Repeat("\x00", 1000)), 130},
		{"a list of the program", Format("want %s", strings.Repeat("word, ", 100)), 610},
		{"a long list", Format("want %s", long), 820},
		{"an error", Format("%v", wrapped), 810},
		{"numbered arguments", Format("%[2]s %[1]q %[1]q", long, "b"), 260},
		{"a percent and a width", Format("100%% %5d %q", 1, long), 150},
	}
	for _, tt := range tests {
		if len(tt.got) > tt.most || strings.Contains(tt.got, "%!") {
			t.Errorf("%s: got %d bytes, want at most %d: %.300s", tt.name, len(tt.got), tt.most, tt.got)
		}
	}
	if err := Errorf("x: %w", wrapped); !errors.Is(err, wrapped) {
		t.Error("Errorf does not wrap")
	}
	if got, want := Format(`%q %s %d %[1]q`, "é\"", "s", 3), `"é\"" s 3 "é\""`; got != want {
		t.Errorf("Format: got %s, want %s", got, want)
	}
}

func TestWord(t *testing.T) {
	for _, tt := range []struct{ s, want string }{
		{"kubectl", "kubectl"}, {"a b", "a b"}, {"\x1b[2J", `"\x1b[2J"`}, {"a\nb", `"a\nb"`}, {"\u202e", `"\u202e"`}, {"\xff", `"\xff"`},
		{strings.Repeat("x", 200), `"` + strings.Repeat("x", 120) + `…"`},
	} {
		if got := Word(tt.s); got != tt.want {
			t.Errorf("Word(%q): got %s, want %s", tt.s, got, tt.want)
		}
	}
}

func TestCutTo(t *testing.T) {
	for _, tt := range []struct {
		s, mark, want string
		most          int
	}{
		{"short", "…", "short", 5}, {"longer", "...", "longe...", 5}, {"aéé", "…", "aé…", 4}, {"aéé", "", "a", 2}, {"a\xffbcd", "…", "ab…", 3},
		{"a\xffb", "…", "a\xffb", 3}, {"é", "…", "…", 1}, {"", "…", "", 0},
	} {
		if got := CutTo(tt.s, tt.most, tt.mark); got != tt.want {
			t.Errorf("CutTo(%q, %d, %q): got %q, want %q", tt.s, tt.most, tt.mark, got, tt.want)
		}
	}
}
