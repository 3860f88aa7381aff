package loader_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/loader"
)

// TestPluginTimeout checks that the timeout of one plugin tightens that of all, and never loosens
// it.
func TestPluginTimeout(t *testing.T) {
	for own, want := range map[string]time.Duration{"1s": time.Second, "3s": 2 * time.Second} {
		text := "[limits]\ntimeout = \"2s\"\n[plugin.p]\nlimits = { timeout = \"" + own + "\" }\n"
		c, _, err := loader.ParseConfig("c.toml", t.TempDir(), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.LimitsOf(&loader.Source{Name: "p"}).Timeout; got != want {
			t.Errorf("a plugin with %s: got %v, want %v", own, got, want)
		}
	}
}

// TestManagedKind checks that no part of another layer's kind stays beside the managed one.
func TestManagedKind(t *testing.T) {
	_, o := managedTree(t, `-- etc/config.toml --
[kinds]
run = { kind = "shell", command = "cmd" }
-- home/.config/starhost/config.toml --
[kinds]
run = { kind = "write", paths = "target", content = "text" }
own = { kind = "read", paths = "p" }
-- project/.git/x --
`)
	c, _, err := loader.LoadConfig(o)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{"run": {"kind": "shell", "command": "cmd"}, "own": {"kind": "read", "paths": "p"}}
	if diff := gocmp.Diff(want, c.Kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// TestWrongIgnoredSettings checks that a wrong value of a setting that a project may not make does
// not make all of its config count as wrong. A wrong grant does, because the project asks for it.
func TestWrongIgnoredSettings(t *testing.T) {
	for setting, want := range map[string]int{"model.default = 7": 1, "store.url = 7": 1, `grants.a = ["nonsense"]`: 0, `limits.timeout = "x"`: 0} {
		dir := tree(t, "-- .git/x --\n-- starhost.toml --\nlibraries.lib = \"lib\"\n"+setting+"\n")
		c, warnings, err := loader.LoadConfig(loader.ConfigOptions{Dir: dir, Getenv: env()})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Libraries) != want || len(warnings) != 1 {
			t.Errorf("%s: got %d libraries, want %d: %v", setting, len(c.Libraries), want, warnings)
		}
	}
}

// TestLoadClosesFolders checks that no folder of plugins is open after a load.
func TestLoadClosesFolders(t *testing.T) {
	const open = "/proc/self/fd"
	if _, err := os.ReadDir(open); err != nil {
		testbed.Lacks(t, "this system does not show which files are open")
	}
	l := loads(t, "-- p/a.star --\n-- p/b.star --\n-- p/c/plugin.star --\nload(\"x.star\", \"x\")\n-- p/c/x.star --\nx = 1\n", "p")
	if got, want := l.report(), "a loaded\nb loaded\nc loaded\n"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	dir, err := filepath.EvalSymlinks(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(open)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if target, err := os.Readlink(filepath.Join(open, f.Name())); err == nil && strings.HasPrefix(target, filepath.Join(dir, "p")) {
			t.Errorf("%s is open", target)
		}
	}
}
