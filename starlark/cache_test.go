package starlark

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// cached is a small program that uses what a cache must keep: helpers, a name of its
// own, a library, a docstring and places.
const cached = `load("lib.star", "double")

def f(x = config):
    "Adds."
    return [double(x) + n for n in range(3) if n not in [1]]

y = f()
`

// told is everything that can be seen of a run.
type told struct {
	Globals string
	Usage   Usage
	Err     string
	Note    string
	Known   bool // whether the note was remembered
}

// runCached runs src with a cache.
func runCached(t *testing.T, c *Cache, src string) (got told) {
	t.Helper()
	s := New(Options{Cache: c})
	load := func(from, label string) (string, []byte, error) {
		return label, []byte("def double(x):\n    return x * 2\n"), nil
	}
	f, err := s.Parse("f.star", []byte(src))
	if err == nil {
		got.Known = true
		note, err := f.Note("statements", func(f *syntax.File) ([]byte, error) {
			got.Known = false
			return fmt.Append(nil, len(f.Stmts)), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got.Note = string(note)
		var m *Module
		m, got.Usage, err = s.Run(context.Background(), f, Exec{Env: starlark.StringDict{"config": starlark.MakeInt(4)}, Load: load})
		if err == nil {
			got.Globals = m.Globals.String()
			if fn, ok := m.Globals["f"].(starlark.Callable); ok {
				v, usage, err := s.Call(context.Background(), fn, starlark.Tuple{starlark.String("x")}, nil)
				got.Err = fmt.Sprint(v, usage, err)
			}
			return got
		}
	}
	if err != nil {
		var located *Error
		if !errors.As(err, &located) {
			t.Fatalf("got %T, want *Error", err)
		}
		got.Err = located.Detail()
	}
	return got
}

// openCache opens a cache that must be usable.
func openCache(t *testing.T, dir string) *Cache {
	t.Helper()
	c, err := OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestCacheChangesNothing runs files without a cache, and with one that knows nothing,
// that remembers them, and that was written and read.
func TestCacheChangesNothing(t *testing.T) {
	tests := []struct{ name, src string }{
		{"good", cached},
		{"empty", ""},
		{"syntax", "x = = 1\n"},
		{"undefined", "x = configg\n"},
		{"fails", "load('lib.star', 'double')\nx = double(1) // 0\n"},
		{"not text", "x = '\x00'\n"},
		{"line ends", "x = 1\r\ny = x + 'a'\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := runCached(t, nil, tt.src)
			dir := filepath.Join(t.TempDir(), "cache")
			c := openCache(t, dir)
			for _, when := range []string{"new", "remembered"} {
				got := runCached(t, c, tt.src)
				got.Known = false
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-without +with):\n%s", when, diff)
				}
			}
			if err := c.Save(); err != nil {
				t.Fatal(err)
			}
			got := runCached(t, openCache(t, dir), tt.src)
			if got.Known != (want.Note != "") {
				t.Errorf("the note is known from the pack: got %v, want %v", got.Known, want.Note != "")
			}
			got.Known = false
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("written and read (-without +with):\n%s", diff)
			}
		})
	}
}

// TestCacheTells shows what makes a file another one.
func TestCacheTells(t *testing.T) {
	c := &Cache{}
	define := func(names ...string) *Sandbox {
		s := New(Options{Cache: c})
		for _, name := range names {
			if err := s.Define(name, starlark.String(name), Cost{Steps: 1}); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	for _, tt := range []struct {
		name, file, src string
		box             *Sandbox
		env             starlark.StringDict
		want            string
	}{
		{"name defined", "f.star", "x = len", define("len"), nil, `"len"`},
		{"name not defined", "f.star", "x = len", define(), nil, `<built-in function len>`},
		{"name of its own", "f.star", "x = len", define(), starlark.StringDict{"len": starlark.MakeInt(1)}, `1`},
		{"another text", "f.star", "x = 2", define(), nil, `2`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := tt.box.Parse(tt.file, []byte(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			m, _, err := tt.box.Run(context.Background(), f, Exec{Env: tt.env})
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Globals["x"].String(); got != tt.want {
				t.Errorf("x: got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestCacheSpoilt changes each byte of a pack, and cuts it at each byte: what is wrong
// is as if it were not there, and is written anew.
func TestCacheSpoilt(t *testing.T) {
	const small = "x = config + 1\n"
	want := runCached(t, nil, small)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c := openCache(t, dir)
	runCached(t, c, small)
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "programs.pack")
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, data []byte) {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := OpenCache(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		got := runCached(t, c, small)
		got.Known = false
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-without +with):\n%s", what, diff)
		}
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
		if again, err := os.ReadFile(file); err != nil || !cmp.Equal(good, again) {
			t.Fatalf("%s: the pack was not written anew: %v", what, err)
		}
	}
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 1 << (i % 8)
		check(fmt.Sprintf("bit %d of byte %d", i%8, i), bad)
	}
	for n := 0; n < len(good); n += 7 {
		check(fmt.Sprintf("cut at %d", n), good[:n])
	}
}

// TestCacheFolder shows which folders are used.
func TestCacheFolder(t *testing.T) {
	tests := []struct {
		name string
		make func(dir string) error
		want string
	}{
		{"new", func(string) error { return nil }, "<nil>"},
		{"private", func(dir string) error { return os.Mkdir(dir, 0o700) }, "<nil>"},
		{"others may read", func(dir string) error { return os.Mkdir(dir, 0o755) }, "cache DIR: others may use the folder: got mode 0755, want 0700"},
		{"a file", func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, "cache DIR: not a directory"},
		{"a link to nothing", func(dir string) error { return os.Symlink(dir+"-gone", dir) }, "cache DIR: file exists"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cache")
			if err := tt.make(dir); err != nil {
				t.Fatal(err)
			}
			c, err := OpenCache(dir)
			t.Cleanup(func() { c.Close() }) // there is one, though none in files
			want := tt.want
			if want != "<nil>" {
				want = "cache " + dir + want[len("cache DIR"):]
			}
			if got := fmt.Sprint(err); got != want {
				t.Errorf("OpenCache: got %s, want %s", got, want)
			}
			for range 2 {
				if got := runCached(t, c, cached); got.Globals == "" {
					t.Errorf("the cache does not work: %+v", got)
				}
			}
			if err := c.Save(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCacheGone takes the folder away while it is used.
func TestCacheGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := openCache(t, dir)
	if got := runCached(t, c, cached); got.Globals == "" {
		t.Errorf("the cache does not work: %+v", got)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := c.Save(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Save: got %v, want that there is no folder", err)
	}
}

// TestCacheLinks puts links in the place of files: they are not followed, but replaced.
func TestCacheLinks(t *testing.T) {
	for _, name := range []string{"key", "programs.pack"} {
		t.Run(name, func(t *testing.T) {
			outside, dir := filepath.Join(t.TempDir(), "outside"), filepath.Join(t.TempDir(), "cache")
			if err := errors.Join(os.WriteFile(outside, make([]byte, 32), 0o600), os.Mkdir(dir, 0o700), os.Symlink(outside, filepath.Join(dir, name))); err != nil {
				t.Fatal(err)
			}
			c := openCache(t, dir)
			runCached(t, c, cached)
			if err := c.Save(); err != nil {
				t.Fatal(err)
			}
			if got := runCached(t, openCache(t, dir), cached); !got.Known {
				t.Error("nothing was remembered")
			}
			if data, err := os.ReadFile(outside); err != nil || !cmp.Equal(data, make([]byte, 32)) {
				t.Errorf("what the link leads to was changed: %v", err)
			}
		})
	}
}

// TestCacheManyAtOnce lets many caches share a folder, as processes do: each finds what
// it wrote or nothing, and what the last ones learned is there in the end.
func TestCacheManyAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	openCache(t, dir) // makes the key
	want := runCached(t, nil, cached)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 5 {
				c, err := OpenCache(dir)
				if err != nil {
					t.Error(err)
					return
				}
				runCached(t, c, fmt.Sprintf("x = %d\n", i*10+n))
				got := runCached(t, c, cached)
				got.Known = false
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-without +with):\n%s", diff)
				}
				if err := errors.Join(c.Save(), c.Close()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := runCached(t, openCache(t, dir), cached); !got.Known {
		t.Error("nothing was remembered")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("files left: got %v (%v), want key and programs.pack", entries, err)
	}
}

// TestCacheShared uses one cache from many goroutines.
func TestCacheShared(t *testing.T) {
	c := &Cache{}
	want := runCached(t, nil, cached)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				got := runCached(t, c, cached)
				got.Known = false
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-without +with):\n%s", diff)
				}
			}
		})
	}
	wg.Wait()
}

// TestCacheForgets shows that what is not met again is forgotten.
func TestCacheForgets(t *testing.T) {
	c := &Cache{}
	large := fmt.Sprintf("x = '%0200000d'\n", 1)
	runCached(t, c, cached)
	for i := range 200 { // 40 MB
		runCached(t, c, large+fmt.Sprint("y = ", i, "\n"))
	}
	if runCached(t, c, cached).Known {
		t.Error("the first file of 40 MB of files is remembered")
	}
	if !runCached(t, c, large+"y = 199\n").Known {
		t.Error("the last file is not remembered")
	}
}
