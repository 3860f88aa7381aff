package jsontext_test

import (
	"strings"
	"testing"

	"github.com/starhost/starhost/internal/jsontext"
)

// The least floats take 15 µs to read, however short their text is.
func TestFloatSteps(t *testing.T) {
	tests := []struct {
		text       string
		tiny, long int
	}{
		{"1.5", 0, 0},
		{"-1e-7", 0, 0},
		{"5e-324", 40, 40},
		{"1E-310", 40, 40},
		{"a-b, e-x, 1e-99", 0, 0},
		{"[5e-324,5e-324]", 80, 80},
		{"0." + strings.Repeat("0", 310) + "1", 0, 40},
		{"e-", 0, 0},
		{"", 0, 0},
	}
	for _, tt := range tests {
		if got := jsontext.TinyFloatSteps(tt.text); got != tt.tiny {
			t.Errorf("TinyFloatSteps(%q): got %d, want %d", tt.text, got, tt.tiny)
		}
		if got := jsontext.LongFloatSteps(tt.text); got != tt.long {
			t.Errorf("LongFloatSteps(%q): got %d, want %d", tt.text, got, tt.long)
		}
	}
}
