package effects

import (
	"io/fs"
	"slices"
	"syscall"
	"time"
)

// StampOf returns the stamp of a file, false where the system has none. A change in a
// whole second is none: images of file systems are made with such, the same in each.
func StampOf(info fs.FileInfo) (Stamp, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || s.Ctim.Nano()%int64(time.Second) == 0 {
		return Stamp{}, false
	}
	return Stamp{fileID{uint64(s.Dev), s.Ino}, s.Size, s.Mtim.Nano(), s.Ctim.Nano()}, true
}

// keepers are the file systems that note each change of a file when it happens, by their
// numbers in statfs(2). Others ask a server or a program, which may answer with what was
// true a minute ago, or make it up.
var keepers = []uint32{
	0xEF53,     // ext2, ext3, ext4
	0x58465342, // XFS
	0x9123683E, // Btrfs
	0x01021994, // tmpfs
	0x794C7630, // overlayfs
	0xF2F52010, // F2FS
	0x2FC12FC1, // ZFS
	0xCA451A4E, // bcachefs
}

// KeepsStamps returns the device that a folder is on, and whether the stamps of files there
// are to be believed by others than the process that took them.
func KeepsStamps(dir string) (device uint64, ok bool) {
	var folder syscall.Stat_t
	var system syscall.Statfs_t
	if syscall.Stat(dir, &folder) != nil || syscall.Statfs(dir, &system) != nil {
		return 0, false
	}
	return uint64(folder.Dev), slices.Contains(keepers, uint32(system.Type))
}
