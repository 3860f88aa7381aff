//go:build unix

package starlark

import (
	"io/fs"
	"os"
	"syscall"
)

// isOwn reports whether a file belongs to the effective user of this process.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
