package main

import (
	"errors"
	"fmt"
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

// errInputSize is the error of a file or stream of more than maxInput bytes.
var errInputSize = fmt.Errorf("got more than %d bytes, want less", maxInput)

// readInput reads a stream of at most maxInput bytes.
func readInput(in io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err == nil && len(data) > maxInput {
		return nil, errInputSize
	}
	return data, err
}

// readFile reads a regular file of at most maxInput bytes.
func readFile(name string) ([]byte, error) {
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readInput(f)
}

// rewriteFile replaces the contents of a regular file. It refuses a link, because its target may be
// outside of the project.
func rewriteFile(name string, content []byte) error {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "write", Path: name, Err: errors.New("got a link or a special file, want a regular file")}
	}
	return effects.ReplaceFile(name, content, 0o666)
}

// A replacement is written beside a file and takes its place when it is complete, for contents that
// the program does not hold.
type replacement struct {
	*os.File
	name string // "" once the file has it
}

// startReplacement starts to replace a file of the user alone. A pipe, a device and the target of a
// link are written directly: see [effects.ReplaceFile].
func startReplacement(name string) (*replacement, error) {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		return &replacement{File: file}, err
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".starhost-*.tmp")
	return &replacement{file, name}, err
}

// commit gives the file its name. Later writes go to it, too.
func (r *replacement) commit() error {
	if r.name == "" {
		return nil
	}
	err := r.Sync()
	if err == nil {
		err = os.Rename(r.Name(), r.name)
	}
	if err == nil {
		r.name = ""
	}
	return err
}

// close closes the file, and deletes it if nothing committed it.
func (r *replacement) close() error {
	err := r.Close()
	if r.name != "" {
		err = errors.Join(err, os.Remove(r.Name()))
	}
	return err
}
