package errtext

import (
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
