//go:build unix

package fleet

import (
	"os"
	"syscall"

	"github.com/starhost/starhost/internal/codes"
)

// lock makes this process the only one that changes the bundles, until it calls unlock or ends.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, codes.Errorf(codeFetch, "another starhost sync is at work on this machine: %s", name)
	}
	return func() { f.Close() }, nil
}
