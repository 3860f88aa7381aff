//go:build !unix

package procgroup

import (
	"os"
	"os/exec"
)

// Set does nothing, because this system has no process groups.
func Set(*exec.Cmd) {}

// BecomeUser does nothing: nobody becomes another user here.
func BecomeUser(*exec.Cmd, int) {}

// Kill kills a started program.
func Kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

// ExitCode returns the exit code of a program that ended.
func ExitCode(p *os.ProcessState) int { return p.ExitCode() }
