package effects_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/starhost/starhost/effects"
)

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func TestWriteFile(t *testing.T) {
	tree := map[string]string{"out/old.md": "old", "top.md": "top"}
	dir := folder(t, tree)
	if err := os.Chmod(filepath.Join(dir, "out", "old.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]*effects.Files{
		"folder": open(t, dir), "memory": effects.NewFiles(memory(t, tree), effects.FileOptions{}),
	} {
		t.Run(name, func(t *testing.T) {
			w := plugin(t, "fs.write:**", "fs.read:**", "fs.write:.github/*")
			w.Workspace = files
			for path, content := range map[string]string{"out/old.md": "new", "top.md": "", "./a//b/c.md": "C", ".github/x.yml": "\xff"} {
				if err := w.WriteFile(t.Context(), path, content); err != nil {
					t.Errorf("WriteFile(%q): %v", path, err)
				}
				got, err := files.ReadBytes(strings.ReplaceAll(path, "//", "/"))
				if string(got) != content || err != nil {
					t.Errorf("ReadBytes(%q): got %q, %v, want %q", path, got, err, content)
				}
			}
			names, err := files.Glob("{**,**/.*}")
			if diff := cmp.Diff([]string{"a/b/c.md", "out/old.md", "top.md"}, names); diff != "" || err != nil {
				t.Errorf("Glob (-want +got), %v:\n%s", err, diff)
			}
		})
	}
	if info, err := os.Stat(filepath.Join(dir, "out", "old.md")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode: got %v, %v, want that of the old file", info.Mode(), err)
	}
}

// TestWriteFileRefuses checks that no grant lets a plugin write plugins, config and protected paths.
func TestWriteFileRefuses(t *testing.T) {
	outside := folder(t, map[string]string{"x.md": "outside"})
	tree := map[string]string{"plugins/p/data.txt": "P", "lib/x.txt": "L", "out/a.md": "A", "private/x.md": "X", "starhost.toml": "C"}
	dir := folder(t, tree)
	for name, target := range map[string]string{
		"out/link.md": "../private/x.md", "out/in": "../private", "out/plugins": "../plugins", "out/away": outside, "out/up": "../..",
		"out/gone": "nowhere", "out/config": "..", "out/dangling.md": "none.md",
	} {
		link(t, target, filepath.Join(dir, filepath.FromSlash(name)))
	}
	if err := os.Mkdir(filepath.Join(dir, "out", "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	w := &effects.World{
		Plugin: "p", Declared: grants(t, "fs.write:**"), Granted: grants(t, "fs.write:out/**", "fs.write:{plugins,lib,Plugins}/**", "fs.write:*", "fs.write:**/*.star"),
		Workspace: open(t, dir), Protected: []string{"plugins/p", "lib"},
	}
	tests := []struct{ path, code string }{
		{"private/x.md", "E0501"},
		{"out/in/x.md", "E0501"},
		{"out/link.md", "E0514"},
		{"out/dangling.md", "E0514"},
		{"out/gone/x.md", "E0504"},
		{"out/plugins/p/data.txt", "E0520"},
		{"out/plugins/p/new.txt", "E0520"},
		{"out/config/starhost.toml", "E0520"},
		{"out/config/lib/x.txt", "E0520"},
		{"out/away/x.md", "E0504"},
		{"out/up/x.md", "E0504"},
		{"plugins/p/data.txt", "E0520"},
		{"plugins/P/data.txt", "E0520"},
		{"Plugins/p/plugin.star", "E0520"},
		{"plugins/q.star", "E0520"},
		{"out/q.STAR", "E0520"},
		{"out/q.rules", "E0520"},
		{"lib/x.txt", "E0520"},
		{"starhost.toml", "E0520"},
		{"StarHost.TOML", "E0520"},
		{"out/starhost.toml", "E0520"},
		{".git/hooks/pre-commit", "E0501"},
		{"out/.env", "E0501"},
		{"../x.md", "E0503"},
		{"out/../../x.md", "E0503"},
		{"/etc/passwd", "E0503"},
		{`out\x.md`, "E0503"},
		{"out/a\x00.md", "E0503"},
		{"", "E0503"},
		{"out", "E0514"},
		{"out/folder", "E0514"},
		{"out/a.md/x.md", "E0514"},
		{"out/" + strings.Repeat("x", 300), "E0514"},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			err := w.WriteFile(t.Context(), tt.path, "evil")
			if code(err) != tt.code {
				t.Errorf("WriteFile: got %v, want code %q", err, tt.code)
			}
			if strings.Contains(message(err), dir) {
				t.Errorf("WriteFile: got %v, which shows where the folder is", err)
			}
		})
	}
	if err := w.WriteFile(t.Context(), "out/a.md", strings.Repeat("x", effects.MaxWrite+1)); code(err) != "E0506" {
		t.Errorf("WriteFile: got %v, want E0506", err)
	}
	for name, want := range tree {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if string(got) != want || err != nil {
			t.Errorf("%s: got %q, %v, want it as it was", name, got, err)
		}
	}
	if got, _ := os.ReadFile(filepath.Join(outside, "x.md")); string(got) != "outside" {
		t.Errorf("outside: got %q", got)
	}
	all := &effects.World{Plugin: "p", Declared: w.Declared, Granted: w.Declared, Workspace: w.Workspace, Protected: []string{"."}}
	if err := all.WriteFile(t.Context(), "out/a.md", ""); code(err) != "E0520" {
		t.Errorf("WriteFile: got %v, want E0520", err)
	}
}

// TestWriteFileFails checks that a file is written completely or not at all, and that no temporary file
// remains.
func TestWriteFileFails(t *testing.T) {
	m := memory(t, map[string]string{"a.md": "old"})
	for name, fsys := range map[string]afero.Fs{"read only": afero.NewReadOnlyFs(m), "rename": noRename{m}} {
		t.Run(name, func(t *testing.T) {
			w := plugin(t, "fs.write:**")
			w.Workspace = effects.NewFiles(fsys, effects.FileOptions{})
			if err := w.WriteFile(t.Context(), "a.md", "new"); code(err) != "E0514" {
				t.Errorf("WriteFile: got %v, want E0514", err)
			}
			entries, err := afero.ReadDir(m, ".")
			if err != nil || len(entries) != 1 {
				t.Errorf("ReadDir: got %d, %v, want a.md alone", len(entries), err)
			}
			if b, _ := afero.ReadFile(m, "a.md"); string(b) != "old" {
				t.Errorf("a.md: got %q, want it as it was", b)
			}
		})
	}
}

type noRename struct{ afero.Fs }

func (noRename) Rename(string, string) error {
	return &os.LinkError{Op: "rename", Err: fs.ErrPermission}
}
