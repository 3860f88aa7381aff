//go:build unix

package trace

import (
	"io/fs"
	"os"
	"syscall"
)

// isOthers reports whether another user owns a file.
func isOthers(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) != os.Geteuid()
}
