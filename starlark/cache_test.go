package starlark

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
	"pgregory.net/rapid"
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
	NoteFound bool // whether the cache had the note
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
		note, err := f.Note("statements", func(f *syntax.File) ([]byte, error) {
			got.NoteFound = false
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

// openCache opens a cache, and fails the test if it is not on disk.
func openCache(t *testing.T, dir string) *Cache {
	t.Helper()
	c, err := OpenCache(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCacheChangesNothing runs files without a cache, with an empty cache, with a filled one, and
// with one read from disk. The results are the same.
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
			dir := filepath.Join(t.TempDir(), "cache")
			c := openCache(t, dir)
			for _, when := range []string{"new", "remembered"} {
				got := runCached(t, c, tt.src)
				got.NoteFound = false
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-without +with):\n%s", when, diff)
				}
			}
			if err := c.Save(); err != nil {
				t.Fatal(err)
			}
			got := runCached(t, openCache(t, dir), tt.src)
			if got.NoteFound != (want.Note != "") {
				t.Errorf("the note comes from the file: got %v, want %v", got.NoteFound, want.Note != "")
			}
			got.NoteFound = false
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("written and read (-without +with):\n%s", diff)
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

// TestCacheSpoilt changes each byte of the file, and truncates it at many places. The cache ignores
// damaged items and writes a good file.
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
	file := filepath.Join(dir, cacheFile())
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
		got := runCached(t, c, small)
		got.NoteFound = false
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-without +with):\n%s", what, diff)
		}
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
		if again, err := os.ReadFile(file); err != nil || !cmp.Equal(good, again) {
			t.Fatalf("%s: the file was not rewritten: %v", what, err)
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

// TestCacheFolder checks which folders the cache accepts.
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
			want := tt.want
			if want != "<nil>" {
				want = "cache " + dir + want[len("cache DIR"):]
			}
			if got := fmt.Sprint(err); got != want {
				t.Errorf("OpenCache: got %s, want %s", got, want)
			}
			for range 2 {
				if got := runCached(t, c, cachedSource); got.Globals == "" {
					t.Errorf("the cache does not work: %+v", got)
				}
			}
			if err := c.Save(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCacheGone removes the folder of an open cache.
func TestCacheGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := openCache(t, dir)
	if got := runCached(t, c, cachedSource); got.Globals == "" {
		t.Errorf("the cache does not work: %+v", got)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := c.Save(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Save: got %v, want that there is no folder", err)
	}
}

// TestCacheLinks replaces the file by a symbolic link. The cache replaces the link and does not
// follow it.
func TestCacheLinks(t *testing.T) {
	outside, dir := filepath.Join(t.TempDir(), "outside"), filepath.Join(t.TempDir(), "cache")
	err := errors.Join(
		os.WriteFile(outside, make([]byte, 32), 0o600),
		os.Mkdir(dir, 0o700),
		os.Symlink(outside, filepath.Join(dir, cacheFile())),
	)
	if err != nil {
		t.Fatal(err)
	}
	c := openCache(t, dir)
	runCached(t, c, cachedSource)
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	if got := runCached(t, openCache(t, dir), cachedSource); !got.NoteFound {
		t.Error("nothing was stored")
	}
	if data, err := os.ReadFile(outside); err != nil || !cmp.Equal(data, make([]byte, 32)) {
		t.Errorf("the target of the link was changed: %v", err)
	}
}

// TestCacheManyAtOnce lets many caches share a folder, as processes do. Each cache finds complete
// items or none. At the end, the file has the items of the last caches.
func TestCacheManyAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	want := runCached(t, nil, cachedSource)
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
				got := runCached(t, c, cachedSource)
				got.NoteFound = false
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-without +with):\n%s", diff)
				}
				if err := c.Save(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := runCached(t, openCache(t, dir), cachedSource); !got.NoteFound {
		t.Error("nothing was remembered")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("files left: got %v (%v), want one", entries, err)
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

// TestCacheForeign changes the build id of the file, replaces the file, and gives it to another
// user. The cache ignores it and writes a good one.
func TestCacheForeign(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	file := filepath.Join(dir, cacheFile())
	write := func() []byte {
		t.Helper()
		c := openCache(t, dir)
		if got := runCached(t, c, cachedSource); got.NoteFound {
			t.Error("got items of a foreign file")
		}
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	good := write()
	otherBuild := bytes.Clone(good)
	otherBuild[len(cacheMagic)] ^= 1
	for name, foreign := range map[string][]byte{
		"another build": otherBuild, "another format": append([]byte("starpack"), good...), "empty": {},
		"too large": append(bytes.Clone(good), make([]byte, maxCacheFile)...),
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(file, foreign, 0o600); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(good, write()); diff != "" {
				t.Errorf("the file was not rewritten (-good +got):\n%s", diff)
			}
		})
	}
	t.Run("another user", func(t *testing.T) {
		if err := os.Chown(file, 12345, -1); err != nil {
			t.Skipf("only root can give a file away: %v", err)
		}
		if diff := cmp.Diff(good, write()); diff != "" {
			t.Errorf("the file was not rewritten (-good +got):\n%s", diff)
		}
	})
}

// TestCacheForged stores bytes that are no program, with a correct SHA-256. The cache compiles the
// file and does not panic.
func TestCacheForged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	rapid.Check(t, func(r *rapid.T) {
		c := openCache(t, dir)
		runCached(t, c, "x = config + 1\n")
		for key, p := range c.programs {
			item, err := p.encode()
			if err != nil {
				r.Fatal(err)
			}
			from := rapid.IntRange(0, len(item)-1).Draw(r, "from")
			c.items[key] = append(item[:from], rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(r, "bytes")...)
		}
		c.unsaved = true
		if err := c.Save(); err != nil {
			r.Fatal(err)
		}
		again := openCache(t, dir)
		for _, stored := range again.fileItems {
			_, err := again.program(stored.key(), 1, func() (*compiledProgram, error) { return nil, io.EOF })
			if err != nil && err != io.EOF {
				r.Error(err)
			}
		}
	})
}

// FuzzCacheFile parses any bytes after the head of a file. The parser does not panic, and verified
// items survive a write.
func FuzzCacheFile(f *testing.F) {
	key := cacheKey{1}
	f.Add(encodeItems(map[cacheKey][]byte{key: []byte("note"), {2}: nil}, nil)[len(cacheHead()):])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		items := parseItems(append(bytes.Clone(cacheHead()), data...))
		intact := map[cacheKey]bool{}
		for _, item := range items {
			decodeProgram(item.data())
			if item.isIntact() {
				intact[item.key()] = true
			}
		}
		again := parseItems(encodeItems(nil, items))
		for key := range intact {
			if _, ok := again.find(key); !ok {
				t.Errorf("key %x is missing", key)
			}
		}
		if len(again) != len(intact) {
			t.Errorf("got %d items, want %d", len(again), len(intact))
		}
	})
}

// TestCacheBound fills the file. Items that the process used have priority.
func TestCacheBound(t *testing.T) {
	data := make([]byte, 100<<10)
	for _, tt := range []struct {
		name                 string
		used, others         int
		wantUsed, wantOthers int
	}{
		{"room for all", 20, 5, 20, 5},
		{"more others than a start should read", 20, 50, 20, 20},
		{"more of all than the file may have", 100, 50, 81, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			used, others := map[cacheKey][]byte{}, storedItems{}
			for i := range tt.used {
				used[cacheKey{byte(i)}] = data
			}
			for i := range tt.others {
				others = append(others, newStoredItem(cacheKey{byte(200 + i)}, data))
			}
			file := encodeItems(used, others)
			var gotUsed, gotOthers int
			for _, item := range parseItems(file) {
				if item[0] < 200 {
					gotUsed++
				} else {
					gotOthers++
				}
			}
			if gotUsed != tt.wantUsed || gotOthers != tt.wantOthers || len(file) > maxCacheFile {
				t.Errorf("got %d and %d items in %d bytes, want %d and %d", gotUsed, gotOthers, len(file), tt.wantUsed, tt.wantOthers)
			}
		})
	}
}

// TestCacheBuilds checks that a build leaves the files of the builds that wrote last, and no other
// files of builds.
func TestCacheBuilds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for i, name := range strings.Fields("programs-1.cache programs-2.cache programs.cache programs-4.cache programs-5.cache notes x.cache") {
		file, at := filepath.Join(dir, name), now.Add(time.Duration(i-9)*time.Hour)
		if err := errors.Join(os.WriteFile(file, []byte(name), 0o600), os.Chtimes(file, now, at)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // a second file of this build takes the place of the first one
		c := openCache(t, dir)
		runCached(t, c, cachedSource+fmt.Sprintln("y =", time.Now().UnixNano()))
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, strings.Replace(e.Name(), cacheFile(), "OWN", 1))
	}
	want := []string{"OWN", "notes", "programs-4.cache", "programs-5.cache", "programs.cache", "x.cache"}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestSaveOnce checks that Save replaces the file only for new items, and preserves old items.
func TestSaveOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := openCache(t, dir)
	box := New(Options{Cache: c})
	saved := func() os.FileInfo {
		t.Helper()
		if err := c.Save(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, cacheFile()))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	prepare := func(text string) *File {
		t.Helper()
		f, err := box.Parse("a.star", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		box.Prepare(f)
		return f
	}
	files := []*File{prepare("x = 1")}
	first := saved()
	if !os.SameFile(first, saved()) {
		t.Error("the file was replaced without anything new")
	}
	files = append(files, prepare("x = 2"))
	if os.SameFile(first, saved()) {
		t.Error("the file was not replaced")
	}
	again := openCache(t, dir)
	for _, f := range files {
		if _, ok := again.item(f.key.itemKey("note", "syntax")); !ok {
			t.Errorf("the items of %q are missing", f.src)
		}
	}
}
