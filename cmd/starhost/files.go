package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/starhost/starhost/effects"
)

// errNotRegular is the error of a pipe, a device or a folder in the place of a file.
var errNotRegular = errors.New("got a pipe, a device or a folder, want a regular file")

// openFile opens a regular file for reading. A pipe with another name than that of a descriptor
// of this program, as <(command) in a shell has, is an error, because opening it could wait
// forever.
func openFile(name string) (*os.File, error) {
	if isDescriptor(name) {
		return os.Open(name)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		if err == nil {
			err = &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
		}
		return nil, err
	}
	return f, nil
}

// isDescriptor reports whether a name stands for a file that the program's caller opened.
func isDescriptor(name string) bool {
	name = filepath.Clean(name)
	return name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/")
}

// readFile reads a regular file.
func readFile(name string) ([]byte, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// rewriteFile replaces the contents of a regular file. It refuses a link, because its target may be
// outside of the project.
func rewriteFile(name string, content []byte) error {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "write", Path: name, Err: errors.New("got a link or a special file, want a regular file")}
	}
	return effects.ReplaceFile(name, content, 0o666)
}
