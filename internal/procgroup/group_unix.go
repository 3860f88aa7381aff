//go:build unix

package procgroup

import (
	"os"
	"os/exec"
	"syscall"
)

// Set makes cmd start a process group. Call it before cmd starts.
func Set(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// nobody is a group that owns nothing.
const nobody = 65534

// BecomeUser makes cmd run as a user, in no group, without a terminal. Only root can start it. Call it in place
// of Set: it starts a process group, too.
func BecomeUser(cmd *exec.Cmd, user int) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: uint32(user), Gid: nobody}}
}

// Kill kills a started program and all programs of its group. Call it also when the program has
// ended, because the programs that it started may still run.
func Kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// ExitCode returns an exit code as shells do: 128 plus the signal's number for a program that a
// signal ended.
func ExitCode(p *os.ProcessState) int {
	if status, ok := p.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return p.ExitCode()
}
