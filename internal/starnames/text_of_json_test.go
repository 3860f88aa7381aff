package starnames_test

import (
	"testing"

	"github.com/starhost/starhost/internal/starnames"
)

// TestTextOfJSON tests that an expression has the members in their order, and no characters that a terminal
// obeys.
func TestTextOfJSON(t *testing.T) {
	for _, test := range [][2]string{
		{`{"b":[1.5,-2,12345678901234567890],"a":{"x":true,"y":false,"z":null}}`, `{"b": [1.5, -2, 12345678901234567890], "a": {"x": True, "y": False, "z": None}}`},
		{`"a\u001b\u202e\n\"\\\ud83d\ude00\u007f"`, `"a\x1b\u202e\n\"\\😀\x7f"`},
		{`[]`, `[]`},
		{`1e999`, `1e999`},
	} {
		if got := starnames.TextOfJSON(test[0]); got != test[1] {
			t.Errorf("%s: got %s, want %s", test[0], got, test[1])
		}
	}
	if got, want := starnames.Quote("a\x80\r\U000e0001'"), "\"a\uFFFD\\r\\U000e0001'\""; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
