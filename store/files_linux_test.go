package store_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/starhost/starhost/store"
)

// On a full disk, a write is an error with the file, stored values remain, and writes work again
// once there is room.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no small disk can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	filler, file := filepath.Join(dir, "filler"), filepath.Join(dir, "a.db")
	if err := os.WriteFile(filler, make([]byte, 400<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(store.Options{URL: "sqlite:" + file})
	if err != nil {
		t.Fatal(err)
	}
	value := json.RawMessage(`"` + strings.Repeat("x", 10_000) + `"`)
	stored := 0
	for ; stored < 1000; stored++ {
		if err = db.Set(t.Context(), "p", fmt.Sprint(stored), value); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "full") {
		t.Errorf("after %d writes: got %v, want an error about a full disk with the file", stored, err)
	}
	check := func() {
		t.Helper()
		for i := range stored {
			if got, _, err := db.Get(t.Context(), "p", fmt.Sprint(i)); string(got) != string(value) || err != nil {
				t.Fatalf("value %d of %d: got %d bytes, %v", i, stored, len(got), err)
			}
		}
	}
	check()
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := db.Set(t.Context(), "p", "last", value); err != nil {
		t.Errorf("with room again: %v", err)
	}
	check()
	if err := db.Close(); err != nil { // before the folder is unmounted
		t.Error(err)
	}
	if stored == 0 {
		t.Error("the disk was full at once")
	}
}

// A user who may not write to the file or its folder gets an error with the file's name, and the
// values remain.
func TestReadOnly(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "starhost-readonly") // other users may enter /tmp
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "data", "a.db")
	db := open(t, store.Options{URL: "sqlite:" + file})
	if err := db.Set(t.Context(), "p", "k", json.RawMessage("1")); err != nil {
		t.Fatal(err)
	}
	db.Close()
	for name, mode := range map[string]os.FileMode{dir: 0o755, filepath.Dir(file): 0o555, file: 0o444} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(filepath.Dir(file), 0o755) })
	program := filepath.Join(dir, "program")
	copyProgram(t, program)
	for task, want := range map[string]string{"read": "even to read", "write x": "permission denied"} {
		cmd := exec.Command(program)
		cmd.Env = []string{"STARHOST_STORE_TASK=" + task, "STARHOST_STORE_URL=sqlite:" + file}
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), file) || !strings.Contains(string(out), want) {
			t.Errorf("%s: got %v, %s, want an error with %q and the file", task, err, out, want)
		}
	}
	if err := os.Chmod(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	db = open(t, store.Options{URL: "sqlite:" + file})
	if value, _, err := db.Get(t.Context(), "p", "k"); string(value) != "1" || err != nil {
		t.Errorf("got %s, %v, want 1", value, err)
	}
}

// copyProgram copies this program, because another user may not enter its folder.
func copyProgram(t *testing.T, to string) {
	t.Helper()
	in, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// A pipe in place of a file of the database is an error at once, because SQLite would wait for its
// other end.
func TestPipes(t *testing.T) {
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		file := filepath.Join(t.TempDir(), "a.db")
		if suffix != "" {
			execute(t, file, `CREATE TABLE t (c)`)
		}
		if err := syscall.Mkfifo(file+suffix, 0o600); err != nil {
			t.Fatal(err)
		}
		refuses(t, file, "a.db"+suffix+" is not a regular file")
	}
}
