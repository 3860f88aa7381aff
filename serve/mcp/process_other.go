//go:build !unix

package mcp

import "os/exec"

func ownGroup(*exec.Cmd) {}

// killGroup kills a program that was started.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
