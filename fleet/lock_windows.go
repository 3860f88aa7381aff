package fleet

import (
	"errors"
	"syscall"
)

// errorSharing is what Windows answers if another process has a file open alone.
const errorSharing = syscall.Errno(32)

// lock makes this process the only one that changes the bundles, until it calls unlock or ends.
func lock(name string) (unlock func(), err error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	const sharedWithNobody = 0
	h, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, sharedWithNobody, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errorSharing) {
		return nil, errBusy(name)
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = syscall.CloseHandle(h) }, nil
}
