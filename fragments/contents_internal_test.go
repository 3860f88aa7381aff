package fragments

import (
	"strings"
	"testing"
)

// Where all texts share one fast hash, each is still found, and only as itself.
func TestKnowCollisions(t *testing.T) {
	c := NewContents(1 << 20)
	c.hash = func(string) uint64 { return 7 }
	first := map[string]*Known{}
	for range 2 {
		for _, text := range []string{"a", "b", "c"} {
			f := Fragment{Content: strings.Clone(text)}
			c.Know(&f)
			if f.Known.id != Sum(text) || f.Content != text {
				t.Errorf("%q: got %q with id %v", text, f.Content, f.Known.id)
			}
			if old := first[text]; old != nil && old != f.Known {
				t.Errorf("%q: got it twice in the table, want once", text)
			}
			first[text] = f.Known
		}
	}
}

// The table holds at most as many bytes as it may, and what is offered again and
// again is not forgotten.
func TestContentsBound(t *testing.T) {
	c := NewContents(1000)
	often := Fragment{Content: strings.Repeat("o", 100)}
	c.Know(&often)
	for i := range 200 {
		f := Fragment{Content: strings.Repeat(string(rune('a'+i%26)), 50+i)}
		c.Know(&f)
		if n := c.young.bytes + c.old.bytes; n > c.max {
			t.Fatalf("after %d: got %d bytes, want at most %d", i, n, c.max)
		}
		g := Fragment{Content: strings.Repeat("o", 100)}
		if c.Know(&g); g.Known != often.Known {
			t.Fatalf("after %d: what is offered often is forgotten", i)
		}
	}
}

// What is over half of the table is known, but not remembered.
func TestContentsTooLarge(t *testing.T) {
	c := NewContents(100)
	f := Fragment{Content: strings.Repeat("x", 60)}
	if !c.Know(&f) || f.Known.id != Sum(f.Content) || len(c.young.ids) != 0 {
		t.Errorf("got %v and %d in the table, want it known and none", f.Known, len(c.young.ids))
	}
}

// A merge of what is known reads no byte of it: it goes by the memory, not by
// what is there.
func TestMergeReadsNoKnownByte(t *testing.T) {
	text := strings.Repeat("x", 4<<10)
	k := &Known{text, Hash{1}} // an id that no reader would come to
	if got := Merge([]Fragment{{Content: text, Known: k}}).Rows()[0].ID; got != k.id {
		t.Errorf("got id %v, want %v, the known one", got, k.id)
	}
}
