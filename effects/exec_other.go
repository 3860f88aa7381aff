//go:build !unix

package effects

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: there are no process groups here.
func ownGroup(*exec.Cmd) {}

// killGroup kills a program that was started.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func exitCode(p *os.ProcessState) int { return p.ExitCode() }
