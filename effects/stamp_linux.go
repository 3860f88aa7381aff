package effects

import (
	"io/fs"
	"syscall"
)

// StampOf returns the stamp of a file, false where the system has none.
func StampOf(info fs.FileInfo) (Stamp, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{}, false
	}
	return Stamp{fileID{uint64(s.Dev), s.Ino}, s.Size, s.Mtim.Nano(), s.Ctim.Nano()}, true
}
