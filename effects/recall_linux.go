package effects

import (
	"io/fs"
	"syscall"
)

// stampOf returns the stamp of a file, false where the system has none.
func stampOf(info fs.FileInfo) (stamp, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	return stamp{fileID{uint64(s.Dev), s.Ino}, s.Size, s.Mtim.Nano(), s.Ctim.Nano()}, true
}
