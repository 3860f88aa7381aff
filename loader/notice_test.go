package loader_test

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

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
