package disk_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/internal/disk"
)

func TestReplace(t *testing.T) {
	tests := []struct {
		name  string
		old   fs.FileMode // permissions of the existing file, 0 for none
		mode  fs.FileMode
		want  fs.FileMode // 0 means the permissions that the umask leaves
		to    string      // the target of a link at the name, "" for no link
		after string      // the contents behind the link, if not the new text
	}{
		{name: "new", mode: 0o666},
		{name: "keeps its permissions", old: 0o751, mode: 0o666, want: 0o751},
		{name: "for its owner alone", old: 0o644, mode: 0o600, want: 0o600},
		{name: "through a link", old: 0o644, mode: 0o666, want: 0o644, to: "there"},
		{name: "link to nothing yet", mode: 0o666, to: "there"},
		{name: "a private file is not written through a link", old: 0o644, mode: 0o600, want: 0o644, to: "there", after: "old"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, "file")
			at := name
			if tt.to != "" {
				at = filepath.Join(dir, tt.to)
				if err := os.Symlink(tt.to, name); err != nil {
					t.Fatal(err)
				}
			}
			if tt.old != 0 {
				if err := os.WriteFile(at, []byte("old"), tt.old); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(at, tt.old); err != nil {
					t.Fatal(err)
				}
			}
			if err := disk.Replace(name, []byte("new"), tt.mode); err != nil {
				t.Fatal(err)
			}
			want := "new"
			if tt.after != "" {
				want = tt.after
			}
			text, err := os.ReadFile(at)
			if err != nil || string(text) != want {
				t.Errorf("got %q, %v, want %q", text, err, want)
			}
			if info, err := os.Stat(at); err != nil || tt.want != 0 && info.Mode().Perm() != tt.want {
				t.Errorf("got mode %v, %v, want %v", info.Mode(), err, tt.want)
			}
			if diff := cmp.Diff(tt.to != "" && tt.after == "", isLink(t, name)); diff != "" {
				t.Errorf("is a link (-want +got):\n%s", diff)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".starhost*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func isLink(t *testing.T, name string) bool {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()&fs.ModeSymlink != 0
}

// A file that cannot be replaced stays unchanged, and no temporary file remains.
func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(folder, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{folder, filepath.Join(dir, "none", "file"), filepath.Join(dir, "a\x00b")} {
		if err := disk.Replace(name, []byte("new"), 0o600); err == nil {
			t.Errorf("%q: got no error", name)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v, want the folder alone", entries, err)
	}
}
