package starlark

import (
	"strings"
	"testing"
)

// Eight bytes at a time come to what the rule says of each.
func FuzzQuotedSize(f *testing.F) {
	for c := range 256 {
		f.Add(strings.Repeat("a", c%11) + string([]byte{byte(c)}) + "bcdefghij")
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want uint64
		for i := range len(s) {
			want += quotedByte(s[i])
		}
		if got := quotedSize(s); got != want {
			t.Errorf("quotedSize(%q): got %d, want %d", s, got, want)
		}
	})
}

// BenchmarkQuotedSize is of a fragment of 4 KiB.
func BenchmarkQuotedSize(b *testing.B) {
	s := strings.Repeat("0123456789abcde\n", 256)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		quotedSize(s)
	}
}
