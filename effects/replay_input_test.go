package effects

import (
	"strings"
	"testing"
)

func TestDifference(t *testing.T) {
	long := `"` + strings.Repeat("x", 100) + `"`
	tests := []struct{ want, got, text string }{
		{`{"a": 1, "b": [1, 2]}`, `{"b":[1,2],"a":1}`, ""},
		{`{"a": 1}`, `{"a": 1.0}`, "a: got 1.0, want 1"},
		{`{"a": {"b": "x", "c": 1}}`, `{"a": {"b": "y", "c": 2}}`, `a.b: got "y", want "x"`},
		{`{"b": 1}`, `{"a": 1, "b": 2}`, "a: got 1, want nothing"},
		{`{"a": {"b": 1}}`, `{"a": null}`, `a: got nothing, want {"b":1}`},
		{`{"a": []}`, `{"a": ` + long + `}`, `a: got "\"` + strings.Repeat("x", 59) + `"..., want []`},
	}
	for _, tt := range tests {
		if got := difference([]byte(tt.want), []byte(tt.got)); got != tt.text {
			t.Errorf("difference(%s, %s): got %q, want %q", tt.want, tt.got, got, tt.text)
		}
	}
}
