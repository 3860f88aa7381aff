//go:build unix

package procgroup

import (
	"bufio"
	"os/exec"
	"testing"

	"github.com/starhost/starhost/internal/testbed"
)

// TestKill shows that a program's children end with it, also after the program itself ended.
func TestKill(t *testing.T) {
	cmd := exec.Command(testbed.Need(t, "/bin/sh"), "-c", "sleep 600 & echo started; exit 3")
	Set(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the program printed nothing")
	}
	state, err := cmd.Process.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if got := ExitCode(state); got != 3 {
		t.Errorf("got exit code %d, want 3", got)
	}
	Kill(cmd)
	lines.Scan() // returns when no process has the pipe open; otherwise the test times out
}

// TestExitCode shows the code of a program that a signal ended.
func TestExitCode(t *testing.T) {
	cmd := exec.Command(testbed.Need(t, "/bin/sh"), "-c", "kill -9 $$")
	_ = cmd.Run()
	if got := ExitCode(cmd.ProcessState); got != 137 {
		t.Errorf("got exit code %d, want 137", got)
	}
}
