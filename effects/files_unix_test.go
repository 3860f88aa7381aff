//go:build unix

package effects_test

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/starhost/starhost/effects"
)

// TestSpecialFiles checks that starhost opens regular files only, because opening a pipe would wait for a
// writer.
func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "sock"))
	if err != nil {
		t.Skipf("no sockets here: %v", err)
	}
	defer l.Close()
	f := open(t, dir)
	for name, want := range map[string]string{
		"pipe": `file "pipe": got a pipe, want a regular file`,
		"sock": `file "sock": got a socket, want a regular file`,
	} {
		if _, err := f.Read(name); message(err) != want || code(err) != "E0504" {
			t.Errorf("Read: got %v, want %s", err, want)
		}
		if _, err := effects.ReadAttachment(dir, name); message(err) != want {
			t.Errorf("ReadAttachment: got %v, want %s", err, want)
		}
		if _, err := load(t, effects.RefOptions{Dir: dir}, "file:"+name); message(err) != want {
			t.Errorf("file: got %v, want %s", err, want)
		}
	}
	if got, err := f.Glob("**"); len(got) != 0 || err != nil {
		t.Errorf("Glob: got %q, %v, want none", got, err)
	}
	if _, err := load(t, effects.RefOptions{}, "/dev/null"); message(err) != `file "/dev/null": got a device, want a regular file` {
		t.Errorf("device: got %v", err)
	}
}

func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := folder(t, map[string]string{"a.md": "a"})
	if err := os.Chmod(filepath.Join(dir, "a.md"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, dir).Read("a.md"); message(err) != `file "a.md": permission denied` {
		t.Errorf("Read: got %v", err)
	}
}
