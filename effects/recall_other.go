//go:build !linux

package effects

import "io/fs"

// stampOf returns false: systems other than Linux say it in other ways, or not as
// surely. There, files are read each time.
func stampOf(fs.FileInfo) (stamp, bool) { return stamp{}, false }
