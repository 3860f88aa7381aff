package loader_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/loader"
)

// discover finds plugins at paths relative to dir and returns a line for each plugin and error.
func discover(dir string, args ...string) string {
	var paths []loader.Path
	for _, arg := range args {
		paths = append(paths, loader.NewPath(dir, arg))
	}
	found, errs := loader.Discover(paths, 0)
	var b strings.Builder
	for _, s := range found {
		fmt.Fprintf(&b, "%s %s %s\n", s.Name, s.Path, s.Display)
	}
	for _, e := range errs {
		fmt.Fprintf(&b, "%s: %v\n", e.Code(), e)
	}
	return b.String()
}

func TestDiscover(t *testing.T) {
	const rule = "want a lower-case letter, then at most 63 of a-z, 0-9, _ and -"
	tests := []struct{ name, files, args, want string }{
		{"file", "-- oncall.star --\n", "oncall.star", "oncall oncall.star oncall.star\n"},
		{"folder", "-- p/oncall/plugin.star --\n-- p/oncall/other.star --\n", "p/oncall", "oncall p/oncall oncall/plugin.star\n"},
		{"its main file", "-- oncall/plugin.star --\n", "oncall/plugin.star", "oncall oncall oncall/plugin.star\n"},
		{"here", "-- x --\n-- p/a.star --\n", "./p/", "a p/a.star a.star\n"},
		{"folder of plugins", "-- p/b.star --\n-- p/a-b/plugin.star --\n-- p/a.star --\n-- p/a_b.star --\n-- p/README.md --\n-- p/data/x.star --\n" +
			"-- p/.hidden.star --\n-- p/.git/plugin.star --\n-- p/golden/plugin.star --\n", "p",
			"a p/a.star a.star\na-b p/a-b a-b/plugin.star\na_b p/a_b.star a_b.star\nb p/b.star b.star\n"},
		{"order of paths", "-- a.star --\n-- b.star --\n", "b.star a.star", "b b.star b.star\na a.star a.star\n"},
		{"the same twice", "-- p/a.star --\n-- p/b/plugin.star --\n-- l -> p --\n", "p/a.star p p/b l",
			"a p/a.star a.star\nb p/b b/plugin.star\n"},
		{"two of one name", "-- p/a.star --\n-- p/a/plugin.star --\n-- q/a.star --\n", "p q",
			"a p/a a/plugin.star\nE0606: p/a.star: plugin a is already found at p/a: want different names, or one path: leave p/a.star out, and edit p/a in its place\n" +
				"E0606: q/a.star: plugin a is already found at p/a: want different names, or one path: leave q/a.star out, and edit p/a in its place\n"},
		{"names", "-- p/On Call.star --\n-- p/9lives/plugin.star --\n-- p/ok.star --\n-- p/Äh.star --\n", "p",
			"ok p/ok.star ok.star\n" +
				`E0605: p/9lives: plugin name: got "9lives", ` + rule + " (rename it to lives)\n" +
				`E0605: p/On Call.star: plugin name: got "On Call", ` + rule + " (rename it to on-call.star)\n" +
				`E0605: p/Äh.star: plugin name: got "Äh", ` + rule + " (rename it to h.star)\n"},
		{"no name", "-- ...star --\n", "...star", `E0605: ...star: plugin name: got "..", ` + rule + " (rename it to my-plugin.star)\n"},
		{"missing", "-- plugins/a.star --\n", "plugin", "E0604: plugin: no such file or folder (did you mean plugins?)\n"},
		{"missing below missing", "", "x/y", "E0604: x/y: no such file or folder\n"},
		{"below a file", "-- a.star --\n", "a.star/b", "E0607: a.star/b: not a directory\n"},
		{"empty", "-- p/ --\n", "p", "E0604: p: got no plugins, want *.star files or folders with plugin.star\n"},
		{"nothing of ours", "-- p/README.md --\n-- p/x/y.star --\n", "p", "E0604: p: got no plugins, want *.star files or folders with plugin.star\n"},
		{"another kind", "-- a.txt --\n", "a.txt", "E0604: a.txt: got a file of another kind, want a .star or .rules file, or a folder\n"},
		{"folder like a file", "-- x.star/y --\n", "x.star", "E0604: x.star: got a folder, want a file of this name, or a folder without .star that holds plugin.star\n"},
		{"folder like a file, inside", "-- p/x.star/y --\n-- p/a.star --\n", "p",
			"a p/a.star a.star\nE0604: p/x.star: got a folder, want a file of this name, or a folder without .star that holds plugin.star\n"},
		{"links inside", "-- p/a.star --\n-- p/b.star -> a.star --\n-- p/d -> .lib --\n-- p/.lib/plugin.star --\n", "p",
			"a p/a.star a.star\nb p/b.star b.star\nd p/d d/plugin.star\n"},
		{"links that leave", "-- x.star --\n-- y/plugin.star --\n-- p/x.star -> ../x.star --\n-- p/y -> ../y --\n-- p/notes -> ../x.star --\n-- p/gone.star -> nowhere --\n-- p/a.star --\n", "p",
			"a p/a.star a.star\nE0607: p/gone.star: no such file or folder\n" +
				"E0607: p/x.star: the link leaves the folder, which is refused: want a copy of the file inside\n" +
				"E0607: p/y: the link leaves the folder, which is refused: want a copy of the file inside\n"},
		{"a link that was named", "-- lib/b-v2.star --\n-- b.star -> lib/b-v2.star --\n", "b.star", "b b.star b.star\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := discover(tree(t, test.files), strings.Fields(test.args)...)
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOneErrorOfAPath checks that a path with a broken plugin is not also one without plugins.
func TestOneErrorOfAPath(t *testing.T) {
	if got := discover(tree(t, "-- p/a.star/x --\n"), "p"); strings.Count(got, "\n") != 1 || !strings.Contains(got, "a.star: got a folder") {
		t.Errorf("got %s", got)
	}
}

func TestDiscoverSaysWhichConfigNamedAPath(t *testing.T) {
	dir := tree(t, "-- plugins/a.star --\n")
	c, _, err := loader.ParseConfig("c.toml", dir, []byte("[plugins]\npaths = [\n\"plugin\", \"plugins\"]"))
	if err != nil {
		t.Fatal(err)
	}
	found, errs := loader.Discover(c.Plugins.Paths, 0)
	if len(errs) != 1 || errs[0].Error() != "c.toml:2: plugin: no such file or folder (did you mean plugins?)" {
		t.Errorf("errors: got %v", errs)
	}
	if len(found) != 1 || found[0].Place.String() != "c.toml:2" {
		t.Errorf("found: got %v, want the place in the config", found)
	}
}

func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := tree(t, "-- p/a.star --\n-- b.star --\n")
	for _, name := range []string{"p", "b.star"} {
		if err := os.Chmod(filepath.Join(dir, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(filepath.Join(dir, "p"), 0o755)
	if got, want := discover(dir, "p"), "E0607: p: permission denied\n"; got != want {
		t.Errorf("folder: got %s, want %s", got, want)
	}
	found, _ := loader.Discover([]loader.Path{loader.NewPath(dir, "b.star")}, 0)
	if _, err := found[0].Read("b.star"); err == nil || err.Error() != "b.star: permission denied" {
		t.Errorf("file: got %v", err)
	}
}

// source returns the only plugin of a new folder.
func source(t testing.TB, archive, arg string) (*loader.Source, string) {
	t.Helper()
	dir := tree(t, archive)
	found, errs := loader.Discover([]loader.Path{loader.NewPath(dir, arg)}, 0)
	if len(errs) > 0 || len(found) != 1 {
		t.Fatalf("got %v and errors %v, want one plugin", found, errs)
	}
	return found[0], dir
}

const oncall = `
-- oncall/plugin.star --
load("lib/x.star", "x")
-- oncall/lib/x.star --
x = 1
-- oncall/runbooks/b.md --
b
-- oncall/runbooks/a.md --
a
-- oncall/runbooks/deep/c.md --
c
-- oncall/runbooks/.draft.md --
-- oncall/.hidden/d.md --
-- oncall/link -> runbooks --
-- oncall/inside.md -> runbooks/a.md --
-- oncall/outside.md -> ../secret.md --
-- oncall/broken.md -> nowhere.md --
-- secret.md --
secret
`

func TestRead(t *testing.T) {
	s, _ := source(t, oncall, "oncall")
	tests := []struct{ name, want string }{
		{"plugin.star", "load(\"lib/x.star\", \"x\")\n"},
		{"lib/x.star", "x = 1\n"},
		{"link/b.md", "b\n"},
		{"inside.md", "a\n"},
		{"outside.md", "oncall/outside.md: the link leaves the folder, which is refused: want a copy of the file inside"},
		{"broken.md", "oncall/broken.md: no such file"},
		{"runbooks", "oncall/runbooks: got a folder, want a file"},
		{"runbooks/zzzzzz", "oncall/runbooks/zzzzzz: no such file"},
		{"runbook/a.md", "oncall/runbook/a.md: no such file"},
		{"lib/y.staar", "oncall/lib/y.staar: no such file (did you mean lib/x.star?)"},
		{"../secret.md", bad("../secret.md")}, {"/etc/passwd", bad("/etc/passwd")}, {"", bad("")}, {"a//b", bad("a//b")},
		{"lib\\x.star", bad("lib\\x.star")}, {"a\x00", bad("a\x00")}, {"lib/", bad("lib/")}, {"\xff", bad("\xff")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b, err := s.Read(test.name)
			got := string(b)
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	if _, err := s.Read("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

func bad(name string) string {
	return fmt.Sprintf("oncall/plugin.star: path: got %q, want one inside the plugin's folder, with / between names and without . and ..", name)
}

func TestSingleFileHasNoFolder(t *testing.T) {
	s, _ := source(t, "-- a.star --\nx\n-- b.star --\n", "a.star")
	if b, err := s.Read("a.star"); err != nil || string(b) != "x\n" {
		t.Errorf("got %q, %v", b, err)
	}
	const want = `a.star: path "b.star": a plugin that is a single file has no folder (make it a/plugin.star)`
	if _, err := s.Read("b.star"); err == nil || err.Error() != want {
		t.Errorf("Read: got %v, want %s", err, want)
	}
	if _, err := s.Exists("b.star"); err == nil || err.Error() != want {
		t.Errorf("Exists: got %v, want %s", err, want)
	}
	if _, err := s.Glob("b.star", nil); err == nil || err.Error() != want {
		t.Errorf("Glob: got %v, want %s", err, want)
	}
}

func TestReadSeesTheFirstBytes(t *testing.T) {
	s, dir := source(t, oncall, "oncall")
	file := filepath.Join(dir, "oncall", "runbooks", "a.md")
	read := func() string {
		b, err := s.Read("runbooks/a.md")
		if err != nil {
			t.Fatal(err)
		}
		names, err := s.Glob("runbooks/*.md", nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(b) + strings.Join(names, " ")
	}
	first := read()
	if err := os.WriteFile(file, []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "oncall", "runbooks", "z.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := read(); got != first {
		t.Errorf("got %q, then %q", first, got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Exists("runbooks/a.md"); !ok || err != nil {
		t.Errorf("Exists of a file that was read: got %t, %v", ok, err)
	}
}

func TestExists(t *testing.T) {
	s, _ := source(t, oncall, "oncall")
	for name, want := range map[string]bool{
		"plugin.star": true, "runbooks": true, "runbooks/a.md": true, ".": true, "runbooks/.draft.md": true,
		"x": false, "x/y": false, "plugin.star/x": false, "Plugin.star": false,
	} {
		if got, err := s.Exists(name); got != want || err != nil {
			t.Errorf("%s: got %t, %v, want %t", name, got, err, want)
		}
	}
	if _, err := s.Exists("../secret.md"); err == nil || err.Error() != bad("../secret.md") {
		t.Errorf("got %v", err)
	}
}

func TestGlob(t *testing.T) {
	s, _ := source(t, oncall, "oncall")
	tests := []struct{ pattern, want string }{
		{"*", "broken.md inside.md outside.md plugin.star"},
		{"*.md", "broken.md inside.md outside.md"},
		{"runbooks/*.md", "runbooks/a.md runbooks/b.md"},
		{"runbooks/**", "runbooks/a.md runbooks/b.md runbooks/deep/c.md"},
		{"**/*.md", "broken.md inside.md outside.md runbooks/a.md runbooks/b.md runbooks/deep/c.md"},
		{"**/.*", "runbooks/.draft.md"},
		{".hidden/*", ".hidden/d.md"},
		{"runbooks/{b,a,b}.md", "runbooks/a.md runbooks/b.md"},
		{"runbooks/[ab].md", "runbooks/a.md runbooks/b.md"},
		{"plugin.star", "plugin.star"},
		{"plugin.star/*", ""},
		{"none/*", ""},
		{"runbooks", ""},
		{"../*", bad("../*")},
		{"/*", bad("/*")},
		{"[a", `oncall/plugin.star: pattern: got "[a", want a glob as *.md or **/*.md, with brackets closed`},
		{strings.Repeat("a", 1001), "oncall/plugin.star: got 1001 bytes, want at most 1000"},
		{strings.Repeat("{a,*}", 40), "oncall/plugin.star: pattern: got more than 64 alternatives in braces"},
	}
	for _, test := range tests {
		t.Run(test.pattern[:min(len(test.pattern), 20)], func(t *testing.T) {
			names, err := s.Glob(test.pattern, nil)
			got := strings.Join(names, " ")
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestReadBounds(t *testing.T) {
	s, dir := source(t, "-- a/plugin.star --\n", "a")
	sparse := func(name string, size int64) {
		file := filepath.Join(dir, "a", name)
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
	}
	sparse("big.star", 300<<20)
	sparse("limit.star", loader.DefaultMaxSource)
	sparse("over.star", loader.DefaultMaxSource+1)
	sparse("data.bin", 40<<20)
	sparse("more.bin", 24<<20)
	tests := []struct{ name, want string }{
		{"big.star", "a/big.star: got 314572800 bytes, want at most 262144 ([limits] source raises it)"},
		{"limit.star", ""},
		{"over.star", "a/over.star: got 262145 bytes, want at most 262144 ([limits] source raises it)"},
		{"data.bin", ""},
		{"more.bin", "a/more.bin: got 25165824 bytes, want at most 24903680"}, // 64 MiB in all
		{"data.bin", ""},
	}
	for _, test := range tests {
		got := ""
		if _, err := s.Read(test.name); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestGlobMatchesAreBounded(t *testing.T) {
	s, dir := source(t, "-- a/plugin.star --\n-- a/d/x --\n", "a")
	for i := range 10_001 {
		if err := os.WriteFile(filepath.Join(dir, "a", "d", fmt.Sprintf("%05d", i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const want = "a/d/*: got 10002 matches, want at most 10000"
	if _, err := s.Glob("d/*", nil); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if names, err := s.Glob("d/0000?", nil); err != nil || len(names) != 10 {
		t.Errorf("got %v, %v, want 10 names", names, err)
	}
}

func TestSourceOfMissingFolder(t *testing.T) {
	s, dir := source(t, "-- p/a/plugin.star --\n", "p")
	if err := os.RemoveAll(filepath.Join(dir, "p", "a")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read("plugin.star"); err == nil || err.Error() != "a/plugin.star: no such file" {
		t.Errorf("Read: got %v", err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "p")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Glob("*", nil); err == nil || err.Error() != "a/*: no such file" {
		t.Errorf("Glob: got %v", err)
	}
}

func TestLibrary(t *testing.T) {
	dir := tree(t, "-- lib/text.star --\nx = 1\n-- lib/deep/y.star --\n")
	s := loader.NewLibrary("lib", loader.NewPath(dir, "lib"), 0)
	if b, err := s.Read("text.star"); err != nil || string(b) != "x = 1\n" {
		t.Errorf("got %q, %v", b, err)
	}
	if got, want := s.File("deep/y.star"), "@lib//deep/y.star"; got != want {
		t.Errorf("File: got %s, want %s", got, want)
	}
	const want = "@lib//txt.star: no such file (did you mean text.star?)"
	if _, err := s.Read("txt.star"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestSourceIsSafeForConcurrentUse(t *testing.T) {
	s, _ := source(t, oncall, "oncall")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			names, err := s.Glob("runbooks/**", nil)
			if err != nil {
				t.Error(err)
			}
			for _, name := range names {
				if _, err := s.Read(name); err != nil {
					t.Error(err)
				}
			}
			if ok, err := s.Exists("lib/x.star"); !ok || err != nil {
				t.Errorf("got %t, %v", ok, err)
			}
		})
	}
	wg.Wait()
}

// The law: for any names and contents of a folder, the plugins that Discover finds are sorted,
// unique and readable, and have valid names.
func TestDiscoverLaw(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp("", "discover")
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(dir)
		name := rapid.SampledFrom([]string{"a", "b", "a-b", "a.star", "b.star", "A.star", ".star", "plugin", "golden", "c/plugin.star", "a/plugin.star", "d/x.star", "Z/plugin.star"})
		for _, file := range rapid.SliceOfDistinct(name, rapid.ID).Draw(r, "files") {
			path := filepath.Join(dir, file)
			if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
				_ = os.WriteFile(path, []byte("x"), 0o644) // an existing name stays as it is
			}
		}
		found, errs := loader.Discover([]loader.Path{loader.NewPath(dir, "."), loader.NewPath(dir, ".")}, 0)
		if len(found)+len(errs) == 0 {
			r.Fatal("got neither plugins nor errors")
		}
		var names []string
		for _, s := range found {
			names = append(names, s.Name)
			if b, err := s.Read(s.Main); err != nil || string(b) != "x" {
				r.Errorf("%s: got %q, %v", s.Path, b, err)
			}
		}
		if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
			r.Errorf("got %v, want sorted and unique names", names)
		}
	})
}

// The law: no name or pattern gives access to files outside of the folder.
func FuzzSourceStaysInside(f *testing.F) {
	for _, seed := range []string{"../secret.md", "outside.md", "link/../../secret.md", "**", "{..,*}/*", "./*", "*/../*", "\\../x", "..\\x"} {
		f.Add(seed)
	}
	s, dir := source(f, oncall, "oncall")
	f.Fuzz(func(t *testing.T, name string) {
		if b, err := s.Read(name); err == nil && strings.Contains(string(b), "secret") {
			t.Errorf("Read(%q): got %q", name, b)
		}
		names, err := s.Glob(name, nil)
		if err != nil {
			return
		}
		for _, n := range names {
			if _, err := os.Lstat(filepath.Join(dir, "oncall", n)); err != nil || !filepath.IsLocal(n) {
				t.Errorf("Glob(%q): got %q, %v", name, n, err)
			}
		}
	})
}
