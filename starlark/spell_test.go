package starlark

import "testing"

func TestNearest(t *testing.T) {
	tests := []struct {
		x          string
		candidates []string
		want       string
	}{
		{"nmae", []string{"None", "name"}, "name"},
		{"handlr", []string{"handle", "handler"}, "handle"},
		{"true", []string{"True"}, "True"},
		{"userMessage", []string{"user_message", "message"}, "user_message"},
		{"x", []string{"y", "X"}, "X"},
		{"len", []string{"len"}, ""},
		{"frobnicate", []string{"fragment", "range"}, ""},
		{"", []string{"a"}, ""},
		{"_", []string{"a"}, ""},
	}
	for _, tt := range tests {
		if got := nearest(tt.x, tt.candidates); got != tt.want {
			t.Errorf("nearest(%q, %q): got %q, want %q", tt.x, tt.candidates, got, tt.want)
		}
	}
}
