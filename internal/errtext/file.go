package errtext

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A FileError is a failure of a file or stream that a person named.
type FileError struct {
	Name string
	Err  error
}

func (e *FileError) Error() string { return e.Name + ": " + e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// File returns err as a [FileError], without the path that the system adds. It returns nil for nil.
func File(name string, err error) error {
	var path *fs.PathError
	var link *os.LinkError // from os.Rename
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("no such file or folder")
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return &FileError{name, err}
}

// OfPath returns an error with a path as File does for this path, and others as they are.
func OfPath(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return File(filepath.ToSlash(failed.Path), err)
	}
	return err
}

// InHome returns a path with ~ for the user's home folder.
func InHome(home, path string) string {
	if rel, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel)
	}
	return path
}
