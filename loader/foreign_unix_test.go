//go:build unix

package loader_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/loader"
)

// TestForeignFiles checks that files which another user puts into a folder in which all users can,
// as /tmp, belong to no project of the user who works there, and block nothing. An argument counts.
func TestForeignFiles(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	deny := "register_hook(\"pre_tool_call\", lambda: deny(\"no\"))\n"
	files := map[string]string{
		"x.star": deny, "mine.star": "", "plugins/p.star": deny, "starhost.toml": "[plugins]\npaths = [\"x.star\"]\n",
		"open/x.star": deny, "open/mine.star": "", "open/sub/plugin.star": deny,
	}
	own := func(names ...string) func(string) error {
		return func(dir string) error {
			for _, name := range names {
				if err := os.Lchown(filepath.Join(dir, name), 4711, 4711); err != nil {
					return err
				}
			}
			return nil
		}
	}
	link := func(dir string) error {
		name := filepath.Join(dir, "plugins")
		return errors.Join(os.Symlink(filepath.Join(dir, "open"), name), os.Lchown(name, 4711, 4711))
	}
	tests := []struct {
		name   string
		remove []string
		mode   os.FileMode
		spoil  func(dir string) error
		args   []string
		config string
		want   string
	}{
		{"a file", []string{"plugins", "starhost.toml"}, 0o1777, own("x.star"), nil, "", "mine"},
		{"the folder plugins", []string{"starhost.toml"}, 0o1777, own("plugins", "plugins/p.star"), nil, "", ""},
		{"a link", []string{"starhost.toml", "plugins"}, 0o1777, link, nil, "", ""},
		{"a config", []string{"plugins"}, 0o1777, own("starhost.toml", "x.star"), nil, "", "mine"},
		{"a file in an open folder of plugins", nil, 0o1777, own("open/x.star", "open/sub"), nil, "[plugins]\npaths = [\"open\"]\n", "mine"},
		{"a file of the user", []string{"plugins", "starhost.toml"}, 0o1777, own(), nil, "", "mine x"},
		{"a folder of the user's", []string{"plugins", "starhost.toml"}, 0o777, own("x.star"), nil, "", "mine x"},
		{"a sticky folder of the user's", []string{"plugins", "starhost.toml"}, 0o1755, own("x.star"), nil, "", "mine x"},
		{"an argument", []string{"plugins", "starhost.toml"}, 0o1777, own("x.star"), []string{"x.star"}, "", "x"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range files {
				file := filepath.Join(dir, name)
				err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644))
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range tt.remove {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			if tt.config != "" {
				if err := os.WriteFile(filepath.Join(dir, "starhost.toml"), []byte(tt.config), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			mode := tt.mode & 0o777
			if tt.mode&0o1000 != 0 {
				mode |= os.ModeSticky
			}
			err := errors.Join(os.Chmod(dir, mode), os.Chmod(filepath.Join(dir, "open"), mode), tt.spoil(dir))
			if err != nil {
				t.Fatal(err)
			}
			config, _, err := loader.LoadConfig(loader.ConfigOptions{Dir: dir, Getenv: func(string) string { return "" }})
			if err != nil {
				t.Fatal(err)
			}
			set, err := loader.Load(t.Context(), loader.Options{Config: config, Dir: dir, Args: tt.args})
			if err != nil && !errors.Is(err, loader.ErrNoPlugins) {
				t.Fatal(err)
			}
			if set == nil {
				set = new(loader.Set)
			}
			var names []string
			for _, s := range set.Sources {
				names = append(names, s.Name)
			}
			if diff := cmp.Diff(tt.want, strings.Join(names, " ")); diff != "" {
				t.Errorf("plugins (-want +got):\n%s", diff)
			}
			if set.Host != nil && tt.want == "mine" && set.Host.Refuses("pre_tool_call") != nil {
				t.Errorf("calls are refused: %v", set.Host.Refuses("pre_tool_call"))
			}
		})
	}
}
