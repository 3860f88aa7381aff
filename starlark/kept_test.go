package starlark

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reopened returns a cache of the folder, once what c learned was saved.
func reopened(t *testing.T, c *Cache, dir string) *Cache {
	t.Helper()
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	return openCache(t, dir)
}

// TestKept keeps values, changes and drops them, in one process and the next.
func TestKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	a, b := Key{1}, Key{2}
	c := openCache(t, dir)
	check := func(what string, key Key, want string) {
		t.Helper()
		if got := c.Recall(key); string(got) != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	check("nothing", a, "")
	c.Keep(a, []byte("one"))
	c.Keep(b, []byte("two"))
	check("kept", a, "one")
	c = reopened(t, c, dir)
	check("saved", a, "one")
	c.Keep(a, []byte("three"))
	check("changed", a, "three")
	c = reopened(t, c, dir)
	check("changed and saved", a, "three")
	check("beside it", b, "two")
	if err := c.Drop(a); err != nil {
		t.Fatal(err)
	}
	check("dropped", a, "")
	c = openCache(t, dir)
	check("dropped and saved", a, "")
	check("beside what was dropped", b, "two")
	c.Keep(b, make([]byte, maxKeptValue+1))
	check("too large", b, "two")
}

// TestKeptBound keeps more than a cache holds: it goes on with what it has.
func TestKeptBound(t *testing.T) {
	c := openCache(t, filepath.Join(t.TempDir(), "cache"))
	for _, tt := range []struct {
		shelf Shelf
		most  int
	}{{ShelfNeed, maxKept / 2}, {ShelfStart, maxKept}} {
		kept := false
		for i := range 2 * maxKept / maxKeptValue {
			kept = c.Keep(tt.shelf.Key(Key{0, byte(i)}), make([]byte, maxKeptValue))
		}
		if c.kept.size != tt.most || kept || c.Recall(tt.shelf.Key(Key{})) == nil {
			t.Errorf("shelf %d: got %d bytes, want %d; the last kept: %v, the first: %v", tt.shelf, c.kept.size, tt.most, kept, c.Recall(tt.shelf.Key(Key{})) != nil)
		}
	}
}

// TestKeptNowhere shows that a cache without a folder keeps nothing.
func TestKeptNowhere(t *testing.T) {
	c := &Cache{}
	c.Keep(Key{1}, []byte("one"))
	if got := c.Recall(Key{1}); got != nil {
		t.Errorf("got %q, want nothing", got)
	}
	if err := c.Drop(Key{1}); err != nil {
		t.Error(err)
	}
}

// TestKeptSpoilt changes each byte of a pack: a value is there as it was, or not at all.
func TestKeptSpoilt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := openCache(t, dir)
	c.Keep(Key{1}, []byte("one"))
	reopened(t, c, dir)
	file := filepath.Join(dir, packName)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := openCache(t, dir).Recall(Key{1}); got != nil {
			t.Errorf("byte %d: got %q, want nothing", i, got)
		}
	}
}

// TestKeptShelves keeps values on all shelves: each is found alone and among all others,
// and none in a file that was cut off.
func TestKeptShelves(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	key := func(i int) Key { return Shelf(i % 3).Key(Key{0, byte(i), byte(i >> 8)}) }
	value := func(i int) string { return strings.Repeat("v", i) + "." }
	const n = 300
	c := openCache(t, dir)
	for i := range n {
		c.Keep(key(i), []byte(value(i)))
	}
	c = reopened(t, c, dir)
	for i := range n {
		for _, from := range []*Cache{c, openCache(t, dir)} {
			if got := from.Recall(key(i)); string(got) != value(i) {
				t.Fatalf("value %d: got %d bytes, want %d", i, len(got), len(value(i)))
			}
		}
	}
	c = openCache(t, dir)
	if err := os.Truncate(filepath.Join(dir, packName), int64(headSize+n*rowSize+1000)); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if got := c.Recall(key(i)); got != nil && string(got) != value(i) {
			t.Fatalf("value %d of a file that was cut off: got %q", i, got)
		}
	}
}

// TestSaveOnce saves what is new once: the pack is not replaced where nothing was learned
// since, and all is still there when it is.
func TestSaveOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := openCache(t, dir)
	box := New(Options{Cache: c})
	saved := func() os.FileInfo {
		t.Helper()
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, packName))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	learn := func(key Key, text string) {
		t.Helper()
		c.Keep(key, []byte(text))
		f, err := box.Parse("a.star", []byte("x = "+text))
		if err != nil {
			t.Fatal(err)
		}
		box.Prepare(f)
	}
	learn(Key{1}, "1")
	first := saved()
	if !os.SameFile(first, saved()) {
		t.Error("nothing was learned, and the pack was replaced")
	}
	learn(Key{2}, "2")
	if os.SameFile(first, saved()) {
		t.Error("the pack was not replaced by one with what was learned")
	}
	for key, want := range map[Key]string{{1}: "1", {2}: "2"} {
		if got := openCache(t, dir).Recall(key); string(got) != want || string(c.Recall(key)) != want {
			t.Errorf("key %d: got %q, %q from the cache that kept it, want %q", key[0], got, c.Recall(key), want)
		}
	}
}
