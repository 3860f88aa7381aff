package procgroup

import "syscall"

// HideEnvironment makes the environment and the memory of this process unreadable for other
// processes of the same user, such as the programs that it starts: they cannot read
// /proc/PID/environ, and no debugger can attach. The process leaves no core dump. It does not stop
// root, and programs that the process starts are as readable as before.
func HideEnvironment() {
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 0, 0) // cannot fail for 0
}
