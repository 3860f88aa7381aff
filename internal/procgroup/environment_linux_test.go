package procgroup_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/starhost/starhost/internal/procgroup"
	"github.com/starhost/starhost/internal/testbed"
)

// TestHideEnvironment checks that a program cannot read the environment of the process that started
// it. Root can read everything, so the test runs as another user.
func TestHideEnvironment(t *testing.T) {
	if mode := os.Getenv("HIDE"); mode != "" { // the process that starts a program
		if mode == "yes" {
			procgroup.HideEnvironment()
		}
		out, err := exec.Command("/bin/sh", "-c", "cat /proc/$PPID/environ; echo end").CombinedOutput()
		os.Stdout.Write(out)
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	testbed.Need(t, "/bin/sh")
	for mode, readable := range map[string]bool{"no": true, "yes": false} {
		cmd := exec.Command(copyOfTest(t), "-test.run", "TestHideEnvironment")
		cmd.Env = []string{"HIDE=" + mode, "TOKEN=hush", "PATH=/usr/bin:/bin"}
		cmd.Dir = "/"
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "end") {
			t.Skipf("another user cannot run this test: %v\n%s", err, out)
		}
		if got := strings.Contains(string(out), "TOKEN=hush"); got != readable {
			t.Errorf("hidden %s: the program reads the environment: %v, want %v\n%s", mode, got, readable, out)
		}
	}
}

// copyOfTest copies the test's program to a folder in which other users can run it.
func copyOfTest(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "starhost-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	defer from.Close()
	file := filepath.Join(dir, "test")
	to, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if closeErr := to.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	return file
}
