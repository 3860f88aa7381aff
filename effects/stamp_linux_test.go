package effects_test

import (
	"io/fs"
	"syscall"
	"testing"

	"github.com/starhost/starhost/effects"
)

// statInfo is a file of which the system says what is in stat.
type statInfo struct {
	fs.FileInfo
	stat syscall.Stat_t
}

func (i *statInfo) Sys() any { return &i.stat }

// TestStampOf: what changed in a whole second may be in an image, where all files did.
func TestStampOf(t *testing.T) {
	for nanoseconds, want := range map[int64]bool{0: false, 1: true} {
		info := &statInfo{stat: syscall.Stat_t{Ctim: syscall.NsecToTimespec(315532800e9 + nanoseconds)}}
		if _, got := effects.StampOf(info); got != want {
			t.Errorf("%d ns: got %v, want %v", nanoseconds, got, want)
		}
	}
}

// TestKeepsStamps: files that a program makes up have no stamps to go by.
func TestKeepsStamps(t *testing.T) {
	for _, dir := range []string{"/proc", t.TempDir() + "/none"} {
		if _, got := effects.KeepsStamps(dir); got {
			t.Errorf("%s: got true, want false", dir)
		}
	}
}
