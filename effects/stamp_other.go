//go:build !linux

package effects

import "io/fs"

// StampOf returns false: systems other than Linux say it in other ways, or not as
// surely. There, files are read each time.
func StampOf(fs.FileInfo) (Stamp, bool) { return Stamp{}, false }

// KeepsStamps returns false: there are none.
func KeepsStamps(string) (device uint64, ok bool) { return 0, false }
