package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/afero"
)

// Replace replaces the contents of a file of the machine: a concurrent reader, or a reader
// after a crash, sees the old contents or the new ones, never a mixture. A file that exists
// retains its permissions; a new file gets mode less the process's umask. If mode is for the
// owner alone, the file has exactly this mode in both cases.
//
// A pipe, a device and the target of a link cannot be replaced by renaming another file, so
// Replace writes to them directly. But a file for its owner alone replaces the link.
func Replace(name string, content []byte, mode fs.FileMode) error {
	private := mode&0o077 == 0
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular(), isLink(name) && !private:
		return writeInPlace(name, content, mode)
	case err == nil && !private:
		return ReplaceIn(afero.OsFs{}, name, content, info.Mode().Perm(), true)
	}
	return ReplaceIn(afero.OsFs{}, name, content, mode, private)
}

func isLink(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// writeInPlace writes to an existing file, which may be a pipe.
func writeInPlace(name string, content []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// ReplaceIn writes a temporary file in the same folder and renames it to name. If exact is true,
// the file has exactly mode; otherwise the process's umask is subtracted.
func ReplaceIn(out FS, name string, content []byte, mode fs.FileMode, exact bool) error {
	beside, file, err := createTemporary(out, name, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if exact && err == nil {
		err = out.Chmod(beside, mode)
	}
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = out.Rename(beside, name)
	}
	if err != nil {
		_ = out.Remove(beside)
	}
	return err
}

// createTemporary creates a file in the folder of name, under the first free name.
func createTemporary(out FS, name string, mode fs.FileMode) (string, afero.File, error) {
	for n := 0; ; n++ {
		beside := filepath.Join(filepath.Dir(name), fmt.Sprintf(".starhost-%d.tmp", n))
		file, err := out.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err == nil || n == 100 || !errors.Is(err, fs.ErrExist) {
			return beside, file, err
		}
	}
}

// An FS is the part of a file system that writes. An afero.Fs implements it.
type FS interface {
	MkdirAll(name string, mode fs.FileMode) error
	OpenFile(name string, flag int, mode fs.FileMode) (afero.File, error)
	Chmod(name string, mode fs.FileMode) error
	Rename(from, to string) error
	Remove(name string) error
}
