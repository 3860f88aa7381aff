//go:build unix

package loader

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// isForeign reports whether another user put a file, a folder or a link into a folder in which all users can
// put files, such as /tmp. The person who works in that folder did not choose such a file.
func isForeign(file string) bool {
	if !isCommon(filepath.Dir(file)) {
		return false
	}
	info, err := os.Lstat(file)
	return err == nil && isOthers(info)
}

// isCommon reports whether all users can put files into a folder, and remove only their own.
func isCommon(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.Mode()&fs.ModeSticky != 0 && info.Mode().Perm()&0o002 != 0
}

// isOthers reports whether a file belongs neither to root nor to the current user.
func isOthers(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid() && !isUnmapped(stat.Uid)
}
