// Package disk opens, reads and replaces files that a person names: within a limit, without waiting
// for pipes, and so that nobody sees half a file.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrNotRegular is the error of a pipe, a device or a folder in the place of a file.
var ErrNotRegular = errors.New("got a pipe, a device or a folder, want a regular file")

// Open opens a regular file for reading. A pipe with another name than that of a descriptor
// of this program, as <(command) in a shell has, is an error, because opening it could wait
// forever.
func Open(name string) (*os.File, error) {
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
			err = &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
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

// MaxInput is the limit in bytes for a file or stream that an argument names, such as a prompt,
// arguments or a request.
const MaxInput = 16 << 20

// ErrSize is the error of a file or stream of more than maxInput bytes.
var ErrSize = fmt.Errorf("got more than %d bytes, want less", MaxInput)

// ReadAll reads a stream of at most maxInput bytes.
func ReadAll(in io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(in, MaxInput+1))
	if err == nil && len(data) > MaxInput {
		return nil, ErrSize
	}
	return data, err
}

// Read reads a regular file of at most maxInput bytes.
func Read(name string) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f)
}

// Rewrite replaces the contents of a regular file. It refuses a link, because its target may be
// outside of the project.
func Rewrite(name string, content []byte) error {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "write", Path: name, Err: errors.New("got a link or a special file, want a regular file")}
	}
	return Replace(name, content, 0o666)
}

// A Replacement is written beside a file and takes its place when it is complete, for contents that
// the program does not hold.
type Replacement struct {
	*os.File
	name string // "" once the file has it
}

// StartReplacement starts to replace a file of the user alone. A pipe, a device and the target of a
// link are written directly: see [Replace].
func StartReplacement(name string) (*Replacement, error) {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		return &Replacement{File: file}, err
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".starhost-*.tmp")
	return &Replacement{file, name}, err
}

// Commit gives the file its name. Later writes go to it, too.
func (r *Replacement) Commit() error {
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

// Close closes the file, and deletes it if nothing committed it.
func (r *Replacement) Close() error {
	err := r.File.Close()
	if r.name != "" {
		err = errors.Join(err, os.Remove(r.Name()))
	}
	return err
}
