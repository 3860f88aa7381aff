//go:build unix

package decision_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starhost/starhost/decision"
)

// TestUnsentOwner checks what root reads in the folder of a user: regular files of that user alone. A link leads to
// nothing, whatever the user puts in the place of a folder or a file.
func TestUnsentOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root reads the logs of others")
	}
	const user = 4711
	line := []byte(`{"schema":"starhost.decision/1","id":"R1","event":"turn_end"}` + "\n")
	name := func(dir string) string { return filepath.Join(dir, "decisions-2026-11-23.jsonl") }
	for _, tt := range []struct {
		name, err string
		records   int
		make      func(root, dir string) error
	}{
		{"as it should be", "", 1, func(string, string) error { return nil }},
		{"a link to a file of the same folder", "", 1, func(_, dir string) error {
			return os.Symlink(name(dir), filepath.Join(dir, "decisions-2026-11-24.jsonl"))
		}},
		{"a link in the place of the file", "", 0, func(root, dir string) error {
			save(t, filepath.Join(root, "secret"), line)
			_ = os.Remove(name(dir))
			return os.Symlink(filepath.Join(root, "secret"), name(dir))
		}},
		{"a file of another user", "got a file of user 0, want one of user 4711", 0, func(_, dir string) error {
			return os.Chown(name(dir), 0, 0)
		}},
		{"a hard link to a file of another user", "got a file of user 0", 1, func(root, dir string) error {
			save(t, filepath.Join(root, "secret"), line)
			return os.Link(filepath.Join(root, "secret"), filepath.Join(dir, "decisions-2026-11-24.jsonl"))
		}},
		{"a link in the place of the folder", "got a link or a folder of another user, want one of user 4711", 0, func(root, dir string) error {
			_ = os.Rename(dir, dir+"x")
			return os.Symlink(dir+"x", dir)
		}},
		{"the folder of another user", "got a link or a folder of another user", 0, func(_, dir string) error {
			return os.Chown(dir, 0, 0)
		}},
		{"the count of lost records is a link", "", 1, func(root, dir string) error {
			save(t, filepath.Join(root, "9"), []byte("9"))
			return os.Symlink(filepath.Join(root, "9"), filepath.Join(dir, "lost"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "4711")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			save(t, name(dir), line)
			for _, file := range []string{dir, name(dir)} {
				if err := os.Chown(file, user, user); err != nil {
					t.Fatal(err)
				}
			}
			if err := tt.make(root, dir); err != nil {
				t.Fatal(err)
			}
			u, err := decision.NewUnsent(dir, user)
			var got []decision.UnsentRecord
			if err == nil {
				got, err = u.Next(10, 1000)
			}
			if len(got) > tt.records || err == nil && (tt.err != "" || len(got) != tt.records) || err != nil && (tt.err == "" || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("got %d records, %v, want %d, %q", len(got), err, tt.records, tt.err)
			}
			if _, dropped, err := decision.State(dir, user, true); err == nil && dropped != 0 {
				t.Errorf("got %d lost records", dropped)
			}
		})
	}
}
