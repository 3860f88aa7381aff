package effects_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost/effects"
)

func grants(t interface{ Fatal(...any) }, texts ...string) effects.Grants {
	g, err := effects.ParseGrants(texts)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestWorld(t *testing.T) {
	dir := folder(t, map[string]string{
		"runbooks/a.md": "A", "runbooks/b.md": "\xff", "runbooks/private/p.md": "P", "notes.md": "N", "secret.md": "S",
	})
	link(t, "../secret.md", filepath.Join(dir, "runbooks", "link.md"))
	link(t, "../notes.md", filepath.Join(dir, "runbooks", "good.md"))
	w := &effects.World{
		Plugin:    "oncall",
		Declared:  grants(t, "fs.read:runbooks/**", "fs.read:notes.md"),
		Granted:   grants(t, "fs.read:runbooks/*", "fs.read:*.md", "fs.read:runbooks"),
		Workspace: open(t, dir),
	}
	ctx := t.Context()

	tests := []struct{ path, content, err string }{
		{"runbooks/a.md", "A", ""},
		{"./notes.md", "N", ""},
		{"runbooks/good.md", "N", ""},
		{"secret.md", "", `plugin oncall has no permission fs.read:secret.md: add "fs.read:secret.md" to plugin(permissions = [...])`},
		{"runbooks/link.md", "", `plugin oncall has no permission fs.read:secret.md: add "fs.read:secret.md" to plugin(permissions = [...])`},
		{"runbooks/private/p.md", "", `plugin oncall has no permission fs.read:runbooks/private/p.md: add to the list oncall in [grants] of your config: "fs.read:runbooks/**" (or --grant 'oncall=fs.read:runbooks/**')`},
		{"x[1].md", "", `plugin oncall has no permission fs.read:x[[]1].md: add "fs.read:x[[]1].md" to plugin(permissions = [...])`},
		{"runbooks/A.md", "", `file "runbooks/A.md": no such file or folder (did you mean runbooks/a.md?)`},
		{"runbooks/aa.md", "", `file "runbooks/aa.md": no such file or folder (did you mean runbooks/a.md?)`},
		{"runbooks/quite-other.txt", "", `file "runbooks/quite-other.txt": no such file or folder`},
		{"runbooks/b.md", "", `file "runbooks/b.md": got bytes that are not UTF-8, want text (read_bytes reads any file; read(path, default = None) returns None for such a file)`},
		{"runbooks/../notes.md", "", `path: got "runbooks/../notes.md", want one relative to the folder, with / between names and without .., NUL and backslash`},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			got, err := w.ReadFile(ctx, tt.path)
			if diff := cmp.Diff(tt.err, message(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if got != tt.content {
				t.Errorf("ReadFile: got %q, want %q", got, tt.content)
			}
		})
	}

	if got, err := w.ReadFileBytes(ctx, "runbooks/b.md"); string(got) != "\xff" || err != nil {
		t.Errorf("ReadFileBytes: got %q, %v", got, err)
	}
	for path, want := range map[string]bool{"runbooks/a.md": true, "runbooks": true, "runbooks/nope": false} {
		if got, err := w.FileExists(ctx, path); got != want || err != nil {
			t.Errorf("FileExists(%q): got %v, %v, want %v", path, got, err, want)
		}
	}
	if _, err := w.FileExists(ctx, "secret.md"); code(err) != "E0501" {
		t.Errorf("FileExists: got %v, want E0501", err)
	}
	if got, err := w.StatFile(ctx, "runbooks/good.md"); got != (effects.FileInfo{Name: "good.md", Size: 1}) || err != nil {
		t.Errorf("StatFile: got %+v, %v", got, err)
	}
	if _, err := w.StatFile(ctx, "secret.md"); code(err) != "E0501" {
		t.Errorf("StatFile: got %v, want E0501", err)
	}
	got, err := w.GlobFiles(ctx, "**/*.md")
	if diff := cmp.Diff([]string{"notes.md", "runbooks/a.md", "runbooks/b.md", "runbooks/good.md"}, got); diff != "" || err != nil {
		t.Errorf("GlobFiles (-want +got), %v:\n%s", err, diff)
	}
}

func TestWorldGlobRefuses(t *testing.T) {
	w := &effects.World{
		Plugin: "p", Declared: grants(t, "fs.read:docs/{a,b}/**", "env:X"), Granted: grants(t, "fs.read:docs/*/*.md"),
		Workspace: effects.NewFiles(memory(t, nil), effects.FileOptions{}),
	}
	tests := []struct{ pattern, code string }{
		{"docs/a/*.md", ""},
		{"docs/*/x.md", ""},
		{"**", ""},
		{"docs/**", ""},
		{"docs/a/x.txt", "E0501"}, // declared, but not granted
		{"docs/c/*", "E0501"},     // granted, but not declared
		{"docs/a", "E0501"},
		{"doc/*", "E0501"},
		{"*.md", "E0501"},
		{"../*", "E0503"},
	}
	for _, tt := range tests {
		t.Run(tt.pattern, func(t *testing.T) {
			if _, err := w.GlobFiles(t.Context(), tt.pattern); code(err) != tt.code {
				t.Errorf("GlobFiles: got %v, want code %q", err, tt.code)
			}
		})
	}
	_, err := w.GlobFiles(t.Context(), "./docs/c/*")
	want := &effects.PermissionError{Plugin: "p", Permission: "fs.read:docs/c/*", Granted: true}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestWorldNotReady(t *testing.T) {
	w := &effects.World{Plugin: "p", Declared: grants(t, "fs.read:**"), Granted: grants(t, "fs.read:**")}
	if _, err := w.ReadFile(t.Context(), "a"); code(err) != "E0504" {
		t.Errorf("ReadFile: got %v, want that there is no workspace", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.GlobFiles(ctx, "*"); !errors.Is(err, context.Canceled) {
		t.Errorf("GlobFiles: got %v, want context.Canceled", err)
	}
}

// TestRefusalSuffices checks, for any path, that the permission that a refusal prints is enough.
func TestRefusalSuffices(t *testing.T) {
	w := &effects.World{Plugin: "p", Workspace: effects.NewFiles(memory(t, nil), effects.FileOptions{})}
	name := rapid.StringMatching(`[a-z.*?\[\]{},!^ "-]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		path := name.Draw(t, "folder") + "/" + name.Draw(t, "file")
		_, err := w.FileExists(t.Context(), path)
		var refused *effects.PermissionError
		if !errors.As(err, &refused) {
			return // the drawn text is no path
		}
		enough := *w
		enough.Declared = grants(t, refused.Permission)
		enough.Granted = enough.Declared
		if _, err := enough.FileExists(t.Context(), path); err != nil {
			t.Errorf("FileExists(%q) with %q: got %v, want no error", path, refused.Permission, err)
		}
	})
}

// TestSiblingHint checks that the error about a missing file proposes one of some files beside
// it, none of many, and none in a context without hints.
func TestSiblingHint(t *testing.T) {
	for _, n := range []int{2, 64, 257, 1000} {
		files := map[string]string{"notes/pager.md": ""}
		for i := range n - 1 {
			files[fmt.Sprintf("notes/%04d", i)] = ""
		}
		w := &effects.World{
			Plugin: "p", Declared: grants(t, "fs.read:**"), Granted: grants(t, "fs.read:**"),
			Workspace: effects.NewFiles(memory(t, files), effects.FileOptions{}),
		}
		_, err := w.ReadFile(t.Context(), "notes/pagr.md")
		if got := strings.Contains(message(err), "did you mean notes/pager.md?"); got != (n <= 64) {
			t.Errorf("%d files: got %v", n, err)
		}
		if _, err := w.ReadFile(effects.WithoutHints(t.Context()), "notes/pagr.md"); strings.Contains(message(err), "did you mean") {
			t.Errorf("without hints: got %v", err)
		}
	}
}
