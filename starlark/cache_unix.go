//go:build unix

package starlark

import (
	"io/fs"
	"os"
	"syscall"
)

// isOwn reports whether a file belongs to the user that this program acts as.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
