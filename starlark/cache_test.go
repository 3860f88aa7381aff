package starlark

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// cachedSource is a small program with everything that a cache stores: helpers, a defined name, a
// library, a docstring and positions.
const cachedSource = `load("lib.star", "double")

def f(x = config):
    "Adds."
    return [double(x) + n for n in range(3) if n not in [1]]

y = f()
`

// A runResult has all observable results of a run.
type runResult struct {
	Globals   string
	Usage     Usage
	Err       string
	Note      string
	NoteFound bool // whether the cache had the note before the run
}

// runCached runs src with a cache.
func runCached(t *testing.T, c *Cache, src string) (got runResult) {
	t.Helper()
	s := New(Options{Cache: c})
	load := func(from, label string) (string, []byte, error) {
		return label, []byte("def double(x):\n    return x * 2\n"), nil
	}
	f, err := s.Parse("f.star", []byte(src))
	if err == nil {
		got.NoteFound = true
		note, err := f.Note("statements", func(f *syntax.File) (any, error) {
			got.NoteFound = false
			return fmt.Sprint(len(f.Stmts)), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		got.Note = note.(string)
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

// TestCacheChangesNothing runs files without a cache, with an empty cache and with a filled one. The
// results are the same.
func TestCacheChangesNothing(t *testing.T) {
	tests := []struct{ name, src string }{
		{"good", cachedSource},
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
			c := &Cache{}
			for _, when := range []string{"new", "remembered"} {
				got := runCached(t, c, tt.src)
				if filled := when == "remembered" && want.Note != ""; got.NoteFound != filled {
					t.Errorf("%s: the note comes from the cache: got %v, want %v", when, got.NoteFound, filled)
				}
				got.NoteFound = false
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-without +with):\n%s", when, diff)
				}
			}
		})
	}
}

// TestCacheKeys checks which changes of a file give it a new key.
func TestCacheKeys(t *testing.T) {
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

// TestCacheShared uses one cache from many goroutines.
func TestCacheShared(t *testing.T) {
	c := &Cache{}
	want := runCached(t, nil, cachedSource)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				got := runCached(t, c, cachedSource)
				got.NoteFound = false
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-without +with):\n%s", diff)
				}
			}
		})
	}
	wg.Wait()
}

// TestCacheDropsItemsWhenFull checks that a cache drops items when it is full.
func TestCacheDropsItemsWhenFull(t *testing.T) {
	c := &Cache{}
	large := fmt.Sprintf("x = '%0200000d'\n", 1)
	runCached(t, c, cachedSource)
	for i := range 200 { // 40 MB
		runCached(t, c, large+fmt.Sprint("y = ", i, "\n"))
	}
	if runCached(t, c, cachedSource).NoteFound {
		t.Error("the first file of 40 MB of files is remembered")
	}
	if !runCached(t, c, large+"y = 199\n").NoteFound {
		t.Error("the last file is not remembered")
	}
}
