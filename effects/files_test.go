package effects_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/effects"
)

// folder makes a folder with files, by path.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		place := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(place, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// memory returns a file system in memory with the same files.
func memory(t *testing.T, files map[string]string) afero.Fs {
	t.Helper()
	m := afero.NewMemMapFs()
	for name, content := range files {
		if err := afero.WriteFile(m, name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// open opens a folder, and closes it when the test ends.
func open(t *testing.T, dir string) *effects.Files {
	t.Helper()
	f, err := effects.OpenFiles(dir, effects.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func link(t *testing.T, target, place string) {
	t.Helper()
	if err := os.Symlink(target, place); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

var tree = map[string]string{
	"a.md": "a", "b.txt": "b", ".env": "secret",
	"docs/one.md": "1", "docs/two.md": "2", "docs/deep/three.md": "3", "docs/.hidden/four.md": "4",
	"Docs.md": "D", "ünïcode.md": "u", "docs-2/x.md": "x",
}

// views returns a real folder and a folder in memory with the same files.
func views(t *testing.T, files map[string]string) map[string]*effects.Files {
	return map[string]*effects.Files{
		"folder": open(t, folder(t, files)),
		"memory": effects.NewFiles(memory(t, files), effects.FileOptions{}),
	}
}

func TestFiles(t *testing.T) {
	for name, f := range views(t, tree) {
		t.Run(name, func(t *testing.T) {
			if got, err := f.Read("./docs//one.md"); got != "1" || err != nil {
				t.Errorf("Read: got %q, %v, want 1", got, err)
			}
			if got, err := f.Resolve("docs/./one.md"); got != "docs/one.md" || err != nil {
				t.Errorf("Resolve: got %q, %v", got, err)
			}
			for path, want := range map[string]bool{
				"a.md": true, "docs": true, ".": true, "nope": false, "a.md/x": false, strings.Repeat("n", 3000): false,
			} {
				if got, err := f.Exists(path); got != want || err != nil {
					t.Errorf("Exists(%.20q): got %v, %v, want %v", path, got, err, want)
				}
			}
			for path, want := range map[string]effects.FileInfo{
				"docs/one.md": {Name: "one.md", Size: 1},
				"docs/":       {Name: "docs", IsDir: true},
				".":           {Name: ".", IsDir: true},
			} {
				if got, err := f.Stat(path); got != want || err != nil {
					t.Errorf("Stat(%q): got %+v, %v, want %+v", path, got, err, want)
				}
			}
		})
	}
}

func TestGlob(t *testing.T) {
	tests := []struct {
		pattern string
		want    []string
	}{
		{"*.md", []string{"Docs.md", "a.md", "ünïcode.md"}},
		{"**", []string{"Docs.md", "a.md", "b.txt", "docs-2/x.md", "docs/deep/three.md", "docs/one.md", "docs/two.md", "ünïcode.md"}},
		{"**/*.md", []string{"Docs.md", "a.md", "docs-2/x.md", "docs/deep/three.md", "docs/one.md", "docs/two.md", "ünïcode.md"}},
		{"docs/*", []string{"docs/one.md", "docs/two.md"}},
		{"docs", nil},
		{"docs/{two,one}.md", []string{"docs/one.md", "docs/two.md"}},
		{"{docs/deep,docs-*}/*", []string{"docs-2/x.md", "docs/deep/three.md"}},
		{".*", []string{".env"}},
		{"docs/.*/*", []string{"docs/.hidden/four.md"}},
		{"docs/.hidden/four.md", []string{"docs/.hidden/four.md"}},
		{"?[.-]md", []string{"a.md"}},
		{"DOCS/*", nil},
		{"nope/*", nil},
		{"a.md/*", nil},
		{".", nil},
	}
	for name, f := range views(t, tree) {
		for _, tt := range tests {
			t.Run(name+" "+tt.pattern, func(t *testing.T) {
				got, err := f.Glob(tt.pattern)
				if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
					t.Errorf("Glob (-want +got), %v:\n%s", err, diff)
				}
			})
		}
	}
}

// TestGlobIsAllows states a law: a walk finds exactly the files that a permission with the same pattern
// allows.
func TestGlobIsAllows(t *testing.T) {
	f := effects.NewFiles(memory(t, tree), effects.FileOptions{})
	part := rapid.SampledFrom([]string{"*", "**", "docs", "docs*", ".*", "*.md", "?.md", "{a,docs/one}.md", "deep", ".hidden", "{docs,.}"})
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "parts"), "/")
		got, err := f.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		grants, err := effects.ParseGrants([]string{"fs.read:" + pattern})
		if err != nil {
			t.Fatal(err)
		}
		for name := range tree {
			matched := false
			for _, g := range got {
				matched = matched || g == name
			}
			if allowed := grants.Allows("fs.read", name); allowed != matched {
				t.Errorf("%q: Glob matches %q: %v, Allows: %v", pattern, name, matched, allowed)
			}
		}
	})
}

func TestFilesRefuse(t *testing.T) {
	dir := folder(t, map[string]string{"a.md": "a", "latin1.txt": "caf\xe9", "docs/x": "x"})
	outside := folder(t, map[string]string{"secret": "s"})
	link(t, filepath.Join(outside, "secret"), filepath.Join(dir, "absolute"))
	link(t, "../"+filepath.Base(outside)+"/secret", filepath.Join(dir, "up"))
	link(t, "docs/../../x", filepath.Join(dir, "docs", "zigzag"))
	link(t, outside, filepath.Join(dir, "out"))
	link(t, "loop", filepath.Join(dir, "loop"))
	link(t, "nowhere", filepath.Join(dir, "broken"))
	huge, err := os.Create(filepath.Join(dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(huge.Truncate(300<<20), huge.Close()); err != nil {
		t.Fatal(err)
	}
	f := open(t, dir)
	const (
		path = ", want one relative to the folder, with / between names and without .., NUL and backslash"
		out  = ": a link leads out of the folder, which is refused: want a copy of the file inside"
	)
	tests := []struct{ path, code, want string }{
		{"", "E0503", `path: got ""` + path},
		{"/etc/passwd", "E0503", `path: got "/etc/passwd"` + path},
		{dir + "/a.md", "E0503", ""},
		{"..", "E0503", `path: got ".."` + path},
		{"docs/../a.md", "E0503", `path: got "docs/../a.md"` + path},
		{"docs/..", "E0503", `path: got "docs/.."` + path},
		{"a.md\x00", "E0503", `path: got "a.md\x00"` + path},
		{`docs\x`, "E0503", `path: got "docs\\x"` + path},
		{"a\xff", "E0503", `path: got "a\xff"` + path},
		{"absolute", "E0504", `file "absolute"` + out},
		{"up", "E0504", `file "up"` + out},
		{"docs/zigzag", "E0504", `file "docs/zigzag": no such file or folder`},
		{"out/secret", "E0504", `file "out/secret"` + out},
		{"loop", "E0504", `file "loop": more than 40 links lead to it`},
		{"broken", "E0504", `file "broken": no such file or folder`},
		{"nope", "E0504", `file "nope": no such file or folder`},
		{"a.md/x", "E0504", `file "a.md/x": no such file or folder`},
		{"docs", "E0504", `file "docs": got a folder, want a regular file`},
		{"latin1.txt", "E0505", `file "latin1.txt": got bytes that are not UTF-8, want text (read_bytes reads any file; read(path, default = None) returns None for such a file)`},
		{"huge", "E0506", `file "huge": got 314572800 bytes, want at most 8388608`},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			_, err := f.Read(tt.path)
			if diff := cmp.Diff(tt.want, message(err)); diff != "" && tt.want != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if got := code(err); got != tt.code {
				t.Errorf("code: got %q, want %q", got, tt.code)
			}
			if !strings.Contains(tt.path, dir) && strings.Contains(message(err), filepath.Dir(dir)) {
				t.Errorf("error: got %q, want no place on this machine", err)
			}
		})
	}
	if got, err := f.Glob("**"); err != nil || cmp.Diff([]string{"a.md", "docs/x", "huge", "latin1.txt"}, got) != "" {
		t.Errorf("Glob: got %q, %v, want no link that leads out", got, err)
	}
	if _, err := f.Glob("../*"); code(err) != "E0503" {
		t.Errorf("Glob: got %v, want E0503", err)
	}
	if _, err := f.Stat("out"); code(err) != "E0504" {
		t.Errorf("Stat: got %v, want E0504", err)
	}
	if _, err := f.Exists("out"); code(err) != "E0504" {
		t.Errorf("Exists: got %v, want E0504", err)
	}
	if ok, err := f.Exists("broken"); ok || err != nil {
		t.Errorf("Exists: got %v, %v, want false", ok, err)
	}
}

func TestFilesLinks(t *testing.T) {
	dir := folder(t, map[string]string{"releases/42/notes.md": "42", "top.md": "top"})
	link(t, "42", filepath.Join(dir, "releases", "current"))
	link(t, "releases/current/../../top.md", filepath.Join(dir, "link.md"))
	link(t, "..", filepath.Join(dir, "releases", "back"))
	link(t, ".", filepath.Join(dir, "self"))
	f := open(t, dir)

	for path, want := range map[string]string{
		"releases/current/notes.md": "releases/42/notes.md",
		"link.md":                   "top.md",
		"releases/back/top.md":      "top.md",
		"self/self/top.md":          "top.md",
		"self":                      ".",
	} {
		if got, err := f.Resolve(path); got != want || err != nil {
			t.Errorf("Resolve(%q): got %q, %v, want %q", path, got, err, want)
		}
	}
	for pattern, want := range map[string][]string{
		"**":                  {"link.md", "releases/42/notes.md", "top.md"},
		"releases/current/**": {"releases/current/notes.md"},
		"releases/*/*.md":     {"releases/42/notes.md", "releases/back/link.md", "releases/back/top.md", "releases/current/notes.md"},
	} {
		got, err := f.Glob(pattern)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("Glob(%q) (-want +got), %v:\n%s", pattern, err, diff)
		}
	}
}

func TestGlobBounds(t *testing.T) {
	m := afero.NewMemMapFs()
	for i := range 10_001 {
		if err := afero.WriteFile(m, fmt.Sprintf("many/%05d", i), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := effects.NewFiles(m, effects.FileOptions{})
	if _, err := f.Glob("**"); message(err) != "more than 10000 files match, want a narrower path or pattern" || code(err) != "E0506" {
		t.Errorf("Glob: got %v, want too many matches", err)
	}
	if got, err := f.Glob("many/0*"); len(got) != 10_000 || err != nil {
		t.Errorf("Glob: got %d matches, %v, want 10000", len(got), err)
	}
	// Each "*" of the pattern goes through the link once more.
	dir := folder(t, map[string]string{"a": "", "b": "", "c": ""})
	for _, name := range []string{"d", "e", "f", "g", "h", "i", "j"} {
		link(t, ".", filepath.Join(dir, name))
	}
	_, err := open(t, dir).Glob(strings.Repeat("*/", 10) + "nope")
	if message(err) != "more than 100000 files to look at, want a narrower path or pattern" || code(err) != "E0506" {
		t.Errorf("Glob: got %v, want too much to look at", err)
	}
}

func TestMaxRead(t *testing.T) {
	f := effects.NewFiles(memory(t, map[string]string{"a": "123"}), effects.FileOptions{MaxRead: 2})
	if _, err := f.ReadBytes("a"); message(err) != `file "a": got 3 bytes, want at most 2` {
		t.Errorf("ReadBytes: got %v", err)
	}
}

func TestOpenFilesMissing(t *testing.T) {
	_, err := effects.OpenFiles(filepath.Join(t.TempDir(), "nope"), effects.FileOptions{})
	if !errors.Is(err, fs.ErrNotExist) || message(err) != `file ".": no such file or folder` {
		t.Errorf("OpenFiles: got %v, want fs.ErrNotExist", err)
	}
}

// growing is a file system whose files have more bytes than it says. Reads must stop at the limit all the
// same.
type growing struct{ afero.Fs }

func (g growing) Stat(name string) (os.FileInfo, error) {
	if err := afero.WriteFile(g.Fs, "small", nil, 0o644); err != nil {
		return nil, err
	}
	return g.Fs.Stat("small")
}

func TestGrowingFile(t *testing.T) {
	f := effects.NewFiles(growing{memory(t, map[string]string{"a": "12345"})}, effects.FileOptions{MaxRead: 4})
	if _, err := f.ReadBytes("a"); message(err) != `file "a": got more than 4 bytes` {
		t.Errorf("ReadBytes: got %v", err)
	}
}
