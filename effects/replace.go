package effects

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/afero"
)

// ReplaceFile gives a file of the machine new contents, all of them or none: whoever
// reads it meanwhile, and whatever stops the program, sees the old file or the new
// one. A file that exists keeps its permissions, a new one has those of mode that the
// process gives. A mode for the owner alone holds for both.
//
// What cannot be replaced by a file beside it is written to as it is: a pipe, a
// device, and what a link leads to. A file for its owner alone takes the place of the
// link.
func ReplaceFile(name string, content []byte, mode fs.FileMode) error {
	private := mode&0o077 == 0
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular(), isLink(name) && !private:
		return writeInPlace(name, content, mode)
	case err == nil && !private:
		return replace(afero.OsFs{}, name, content, info.Mode().Perm(), true)
	}
	return replace(afero.OsFs{}, name, content, mode, private)
}

func isLink(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// writeInPlace writes to what is there, which may be a pipe.
func writeInPlace(name string, content []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// replace writes a file beside another and renames it to that one. Where exact is
// true it has the mode whatever the process takes from those of new files.
func replace(out writeFS, name string, content []byte, mode fs.FileMode, exact bool) error {
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

// createTemporary makes a file beside another, under the first name that is free.
func createTemporary(out writeFS, name string, mode fs.FileMode) (string, afero.File, error) {
	for n := 0; ; n++ {
		beside := filepath.Join(filepath.Dir(name), fmt.Sprintf(".starhost-%d.tmp", n))
		file, err := out.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err == nil || n == 100 || !errors.Is(err, fs.ErrExist) {
			return beside, file, err
		}
	}
}
