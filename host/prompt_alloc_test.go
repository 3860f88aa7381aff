//go:build !race

// The race detector allocates memory of its own, so this test would measure too much.

package host_test

import (
	"bytes"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// TestPromptCopiesNoKnownContent checks that a prompt allocates no more for repeated contents, because
// nothing joins their text until a caller wants one string.
func TestPromptCopiesNoKnownContent(t *testing.T) {
	small, large := promptBytes(t, 1<<10), promptBytes(t, 64<<10)
	if large > small+8<<10 { // ten fragments; a copy of one of them is 64 KiB
		t.Errorf("a prompt of fragments of 64 KiB allocates %d B, one of 1 KiB %d B: want no content copied", large, small)
	}
}

// promptBytes returns the bytes that a prompt allocates. Its loader returns the same ten fragments
// of a size each time.
func promptBytes(t *testing.T, size int) uint64 {
	list := make([]string, 10)
	for i := range list {
		list[i] = strings.Repeat(string(rune('a'+i)), size)
	}
	given := texts(list...)
	p := starhost.Plugin{Name: "p", FragmentLoaders: []starhost.FragmentLoader{loader("xx", func(string) (starhost.Context, error) { return given, nil })}}
	h := newHost(t, host.Options{}, p)
	var out bytes.Buffer
	least := uint64(math.MaxUint64) // the least counts, because other goroutines may allocate
	for range 5 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p := ask(t, h.NewSession(host.SessionConfig{}), host.Request{Text: "hi", Fragments: []string{"xx:1"}})
		out.Reset()
		if n, err := p.Text.WriteTo(&out); err != nil || n < int64(10*size) {
			t.Fatalf("WriteTo: got %d B (%v), want ten times %d", n, err, size)
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
