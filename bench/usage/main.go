// Command usage runs a process and prints its peak resident size in KiB, its minor page faults and
// the microseconds of processors that it used. A new process counts its parent's size as its own at
// first, so the parent must be small.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

func main() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin = os.Stdin
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %.400s\n", err, out)
		os.Exit(1)
	}
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	busy := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	fmt.Println(used.Maxrss, used.Minflt, busy.Microseconds())
}
