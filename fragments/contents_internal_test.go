package fragments

import (
	"strings"
	"testing"
)

// Where all texts share one fast hash, each is still found, and only as itself.
func TestKnowCollisions(t *testing.T) {
	c := NewContents(1 << 20)
	c.mask = 0
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

// TestFingerprint: equal texts share it wherever they are, and texts of one length
// mostly do not.
func TestFingerprint(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 129, 160, 4096} {
		text := strings.Repeat("x", n)
		if fingerprint(text) != fingerprint(strings.Clone(text)) {
			t.Errorf("%d bytes: equal texts have two fingerprints", n)
		}
		for i := range min(n, 32) {
			for _, at := range []int{i, n - 1 - i} {
				other := text[:at] + "y" + text[at+1:]
				if fingerprint(text) == fingerprint(other) {
					t.Errorf("%d bytes: another byte at %d has the same fingerprint", n, at)
				}
			}
		}
	}
}

// TestMergeOfOneFingerprint: contents that differ where no fingerprint looks are two.
func TestMergeOfOneFingerprint(t *testing.T) {
	a := strings.Repeat("x", 4096)
	b := a[:100] + "y" + a[101:]
	if fingerprint(a) != fingerprint(b) {
		t.Fatal("the fingerprint looks at byte 100: choose another for this test")
	}
	set := Merge([]Fragment{{Content: a}, {Content: b}, {Content: b}, {Content: a}})
	if rows := set.Rows(); len(rows) != 2 || rows[0].ID != Sum(a) || rows[1].ID != Sum(b) {
		t.Errorf("got %d rows, want both contents once", len(rows))
	}
	contents := NewContents(1 << 20)
	for _, text := range []string{a, b, b, a} {
		f := Fragment{Content: strings.Clone(text)}
		contents.Know(&f)
		if f.Content != text || f.Known.id != Sum(text) {
			t.Errorf("Know: got another text's hash")
		}
	}
}
