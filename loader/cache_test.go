package loader_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// writeMany writes plugins that load, share a library, require each other, print, conflict, and
// fail in each phase.
func writeMany(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("lib/shared.star", "def twice(x):\n    return x * 2\n")
	write("lib/broken.star", "x = 1 // 0\n")
	for i := range 40 {
		name := fmt.Sprintf("plugins/p%02d.star", i)
		switch i % 8 {
		case 0:
			write(name, fmt.Sprintf("load(\"@lib//shared.star\", \"twice\")\ndef f(x = twice(%d)):\n    \"Does.\"\n    return x\nregister_tool(f, name = \"f%d\")\nprint(\"loaded\", %d)\n", i, i, i))
		case 1:
			write(name, fmt.Sprintf("plugin(version = \"1.%d\", requires = [\"p%02d\"], config = {\"a\": [1, -2.5, {\"b\": None}]})\nregister_hook(\"turn_start\", lambda: None)\n", i, (i+8)%40))
		case 2:
			write(name, "def f(x = 1):\n    \"Does.\"\n    return x\nregister_tool(f, name = \"same\")\n")
		case 3:
			write(name, "x = = 1\n")
		case 4:
			write(name, "print(\"before\")\nx = undefind\n")
		case 5:
			write(name, "load(\"@lib//broken.star\", \"x\")\n")
		case 6:
			write(name, fmt.Sprintf("plugin(requires_env = [\"NOT_SET\"], requires = [\"p%02d\"])\n", i))
		case 7:
			write(name, fmt.Sprintf("plugin(requires = [\"p%02d\"])\n", i-5))
		}
	}
	write("plugins/folder/plugin.star", "load(\"lib/a.star\", \"a\")\n\"Text.\"\nabort(\"dropped\")\n")
	write("plugins/folder/lib/a.star", "a = 1\n")
	return dir
}

// everything returns the complete outcome of a Load as text.
func everything(t *testing.T, dir string, o loader.Options) string {
	t.Helper()
	config, _, err := loader.ParseConfig("starhost.toml", dir, []byte("[libraries]\nlib = \"lib\"\n[grants]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	o.Config, o.Dir, o.Args = config, dir, []string{"plugins"}
	o.Host = host.Options{Log: func(l host.LogLine) { fmt.Fprintln(&b, "log", l.Plugin, l.Text, l.Pos) }}
	set, err := loader.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for _, p := range set.Plugins {
		fmt.Fprintln(&b, p.Name, p.Version, p.Status, p.Digest, p.Steps, p.Bytes, p.Declared, p.Granted)
		if p.Registered != nil {
			fmt.Fprintln(&b, "  tools", len(p.Registered.Tools), "hooks", len(p.Registered.Hooks))
		}
		if p.Err != nil {
			fmt.Fprintln(&b, detail(p.Err))
		}
	}
	fmt.Fprintln(&b, set.Warnings, set.Problems)
	return b.String()
}

// TestLoadSame loads plugins with one worker and without a cache, with several workers, and with
// empty and full caches: the outcome is the same.
func TestLoadSame(t *testing.T) {
	dir := writeMany(t)
	want := everything(t, dir, loader.Options{Workers: 1})
	for _, status := range []string{"loaded", "failed", "unavailable"} {
		if !strings.Contains(want, status) {
			t.Errorf("no plugin is %s", status)
		}
	}
	memory := &starlark.Cache{}
	tests := []struct {
		name string
		o    loader.Options
	}{
		{"2 workers", loader.Options{Workers: 2}},
		{"8 workers", loader.Options{Workers: 8}},
		{"as many as CPUs", loader.Options{}},
		{"new cache", loader.Options{Workers: 8, Cache: memory}},
		{"same cache", loader.Options{Workers: 8, Cache: memory}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(want, everything(t, dir, tt.o)); diff != "" {
				t.Errorf("(-one worker, no cache +this):\n%s", diff)
			}
		})
	}
}
