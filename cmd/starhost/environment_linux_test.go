package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestEnvironmentIsHidden checks that main hides the program's environment. Linux then gives the
// files of the process in /proc to root, so the program must run as another user.
func TestEnvironmentIsHidden(t *testing.T) {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Skip(err)
	}
	defer self.Close()
	cmd := exec.Command("/proc/self/fd/3", "hook", "picoclaw", "none.star")
	cmd.Args[0], cmd.ExtraFiles, cmd.Dir = "starhost", []*os.File{self}, "/"
	cmd.Env = []string{"HOME=/nonexistent"}
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("another user cannot run this test: %v", err)
	}
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{}}`)
	answer, err := bufio.NewReader(stdout).ReadString('\n')
	var stat syscall.Stat_t
	statErr := syscall.Stat(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid), &stat)
	stdin.Close()
	_ = cmd.Wait() // the exit code does not matter
	if err != nil || statErr != nil {
		t.Fatalf("got %q, %v, %v", answer, err, statErr)
	}
	if stat.Uid != 0 {
		t.Errorf("user %d owns the process's environment, want root", stat.Uid)
	}
}
