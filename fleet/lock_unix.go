//go:build unix

package fleet

import (
	"os"
	"syscall"
)

// lock makes this process the only one that changes the bundles, until it calls unlock or ends.
func lock(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, errBusy(name)
	}
	return func() { f.Close() }, nil
}
