package procgroup

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// maxRounds bounds the scans for processes that start others while they are killed.
const maxRounds = 10

// KillMarked kills all processes whose environment contains a variable, in the form NAME=VALUE. It
// finds programs that left their process group, as setsid does. It does not find a program that
// removed the variable.
func KillMarked(variable string) {
	for range maxRounds {
		if !killMarked([]byte(variable)) {
			return
		}
	}
}

// killMarked scans all processes once and reports whether it killed any.
func killMarked(variable []byte) (killed bool) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err != nil || !containsVariable(environ, variable) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && pid != os.Getpid() && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed = true
		}
	}
	return killed
}

func containsVariable(environ, variable []byte) bool {
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.Equal(v, variable) {
			return true
		}
	}
	return false
}
