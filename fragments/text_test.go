package fragments_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/starhost/starhost/fragments"
)

// A text of parts equals the joined parts in every method.
func TestText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.StringMatching(`[a-zé"\n]{0,5}`)).Draw(t, "parts")
		want, text := strings.Join(parts, ""), fragments.NewText(parts...)
		var written strings.Builder
		n, err := text.WriteTo(&written)
		if written.String() != want || n != int64(len(want)) || err != nil {
			t.Errorf("WriteTo: got %q, %d, %v, want %q", written.String(), n, err, want)
		}
		if got := strings.Join(text.Parts(), ""); got != want {
			t.Errorf("Parts: got %q, want %q", got, want)
		}
		if text.Len() != len(want) || text.String() != want {
			t.Errorf("got %q, Len %d, want %q", text, text.Len(), want)
		}
		if whole := fragments.NewText(want); !text.Equal(whole) || text.Equal(fragments.NewText(want, "x")) {
			t.Errorf("Equal: %q is not equal to itself, or to more", want)
		}
		raw, err := json.Marshal(text)
		var back fragments.Text
		if err == nil {
			err = json.Unmarshal(raw, &back)
		}
		if err != nil || !back.Equal(text) {
			t.Errorf("JSON: got %s, and %q of it (%v), want %q", raw, back, err, want)
		}
	})
}

func TestTextIsJoinedOnce(t *testing.T) {
	text := fragments.NewText(strings.Repeat("a", 1000), strings.Repeat("b", 1000))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { _ = text.String() })
	}
	wg.Wait()
	if n := testing.AllocsPerRun(10, func() { _ = text.String() }); n > 0 {
		t.Errorf("joined again: got %v allocations, want none", n)
	}
}

func TestZeroText(t *testing.T) {
	var zero fragments.Text
	if zero.Len() != 0 || zero.String() != "" || !zero.Equal(fragments.NewText()) {
		t.Errorf("got %q, want an empty text", zero)
	}
}
