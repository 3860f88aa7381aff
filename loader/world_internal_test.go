package loader

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/effects"
)

// grants parses permissions with blanks between them.
func grants(t *testing.T, texts string) effects.Grants {
	t.Helper()
	g, err := effects.ParseGrants(strings.Fields(texts))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestBoth(t *testing.T) {
	tests := []struct{ declared, granted, want string }{
		{"", "respond:page", ""},
		{"respond:page", "", ""},
		{"override:page", "respond:page", ""},
		{"respond:page", "override:*", ""},
		{"respond:page", "respond:page", "page"},
		{"respond:page respond:other", "respond:p*", "page"},
		{"respond:p*", "respond:page respond:other", "page"},
		{"respond:p*", "respond:p*", "p*"},
		{"respond:p*", "respond:*", "p*"},
		{"respond:*", "respond:p*", "p*"},
		{"respond:p*", "respond:*e", ""},
		{"respond:p?", "respond:p*", ""},
		{"respond:b respond:a", "respond:a respond:b respond:*", "a b"},
	}
	for _, test := range tests {
		t.Run(test.declared+" and "+test.granted, func(t *testing.T) {
			got := strings.Join(commonNames("respond", grants(t, test.declared), grants(t, test.granted)), " ")
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestSecretNames(t *testing.T) {
	declared := grants(t, "secret:A@x.internal secret:B secret:C secret:D_* env:A")
	granted := grants(t, "secret:A secret:B@y.internal secret:D_1 env:C")
	if diff := cmp.Diff([]string{"A", "B"}, secretNames(declared, granted)); diff != "" {
		t.Errorf("secretNames (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A", "B", "C"}, secretNames(declared, grants(t, "secret:*"))); diff != "" {
		t.Errorf("secretNames (-want +got):\n%s", diff)
	}
}

// Configs, plugins and libraries in the workspace are protected, whatever their names are.
func TestProtected(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, name := range []string{"plugins/a/plugin.star", "b.star", "lib/x.star", "shared/y.star", "ops.toml", outside + "/c.star"} {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("shared", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	c, _, err := ParseConfig("ops.toml", dir, []byte("[libraries]\nlib = \"lib\"\nlinked = \"link\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLoadRun(Options{Config: c, Dir: dir, Args: []string{"plugins", "b.star", outside + "/c.star"}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.set.Close()
	if diff := cmp.Diff([]string{"b.star", "lib", "ops.toml", "plugins/a", "shared"}, l.World.Protected); diff != "" {
		t.Errorf("protected (-want +got):\n%s", diff)
	}
}

// TestProtectedBroken checks that plugins must not write a project's config that does not count
// because of a mistake.
func TestProtectedBroken(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"starhost.toml": "[", "b.star": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c, _, err := LoadConfig(ConfigOptions{Dir: dir, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLoadRun(Options{Config: c, Dir: dir, Args: []string{"b.star"}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.set.Close()
	if diff := cmp.Diff([]string{"b.star", "starhost.toml"}, l.World.Protected); diff != "" {
		t.Errorf("protected (-want +got):\n%s", diff)
	}
}

// TestMayLoad checks that no form of a load statement is overlooked, because trust pins the files that it names.
func TestMayLoad(t *testing.T) {
	for src, want := range map[string]bool{
		"load(\"//x.star\", \"x\")": true, "x = 1; load (\"x.star\", \"x\")": true, "load\t(": true, "load\\\n(": true,
		"loader = 1\nload(\"a\", \"b\")": true, "upload(": true, "x.load": true,
		"": false, "x = 1": false, "loader(": false, "register_fragment_loader(\"x\", f)": false, "load_1(": false, "loadé(": false,
	} {
		if got := mayLoad([]byte(src)); got != want {
			t.Errorf("mayLoad(%q): got %v, want %v", src, got, want)
		}
	}
}
