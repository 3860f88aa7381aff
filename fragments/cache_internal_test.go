package fragments

import (
	"strings"
	"testing"
	"unsafe"
)

// SameMemory reports whether two texts begin at the same byte.
func SameMemory(a, b string) bool { return unsafe.StringData(a) == unsafe.StringData(b) }

// A cache always contains the last text, with its own digest. Package cache tests the bound.
func TestCacheHasLast(t *testing.T) {
	c := NewHashCache(1000)
	for i := range 1000 {
		f := Fragment{Content: strings.Repeat(string(rune('a'+i%26)), i%300)}
		c.Identify(&f)
		d, ok := c.digests.Get(f.Content)
		if !ok || d != f.Digest || d.text != f.Content || d.id != Sum(f.Content) {
			t.Fatalf("after %d: got the digest %v of %q for %q", i, d, d.text, f.Content)
		}
	}
}

// A text that every prompt has stays in a cache that other texts fill again and again.
func TestCacheKeepsUsed(t *testing.T) {
	c := NewHashCache(10_000)
	used := Fragment{Content: "in every prompt"}
	c.Identify(&used)
	for i := range 1000 {
		other, again := Fragment{Content: strings.Repeat("x", i)}, Fragment{Content: used.Content}
		c.Identify(&other)
		if c.Identify(&again); again.Digest != used.Digest {
			t.Fatalf("after %d: the text was hashed again", i)
		}
	}
}

// A text that is larger than half of the cache gets a digest and no entry.
func TestCacheTooLarge(t *testing.T) {
	c := NewHashCache(1000)
	f := Fragment{Content: strings.Repeat("x", 500)}
	if !c.Identify(&f) || f.Digest.id != Sum(f.Content) {
		t.Errorf("got %v, want a digest", f.Digest)
	}
	if _, ok := c.digests.Get(f.Content); ok {
		t.Error("got an entry, want none")
	}
}

// A merge, and whoever asks for a fragment's id, uses the id of a digest without hashing the text.
func TestMergeHashesNoDigest(t *testing.T) {
	text := strings.Repeat("x", 4<<10)
	d := &Digest{text, Hash{1}} // an id that no hash function would return
	if got := Merge([]Fragment{{Content: text, Digest: d}}).Rows()[0].ID; got != d.id {
		t.Errorf("got id %v, want %v, that of the digest", got, d.id)
	}
	f := Fragment{Content: text, Digest: d}
	if f.ID() != d.id {
		t.Errorf("got id %v, want that of the digest", f.ID())
	}
	if f.Content = "other"; f.ID() != Sum("other") {
		t.Errorf("got id %v of another content", f.ID())
	}
}

// Contents with the same first bytes and the same length stay separate.
func TestMergeOfOneHead(t *testing.T) {
	a := strings.Repeat("x", 4096)
	b := a[:100] + "y" + a[101:]
	set := Merge([]Fragment{{Content: a}, {Content: b}, {Content: b}, {Content: a}})
	if rows := set.Rows(); len(rows) != 2 || rows[0].ID != Sum(a) || rows[1].ID != Sum(b) {
		t.Errorf("got %d rows, want both contents once", len(rows))
	}
}
