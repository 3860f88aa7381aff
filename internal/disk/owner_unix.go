//go:build unix

package disk

import (
	"io/fs"
	"os"
	"syscall"
)

// Owner returns the number of the user who owns a file.
func Owner(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return os.Geteuid()
}
