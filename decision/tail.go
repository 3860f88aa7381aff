package decision

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/starhost/starhost/internal/disk"
)

// anyOwner stands for every user in the place of one.
const anyOwner = -1

// A tail reads the lines that programs add to a folder. It looks at all files, because after a clock has
// jumped back, programs write to the file of an earlier day.
type tail struct {
	dir     string
	owner   int // the user who must own the folder and its files, because root reads them; or anyOwner
	since   time.Time
	offsets map[string]int64 // the offsets after the last complete line that was read, by file
	buffer  *bufio.Reader
}

// open opens the folder. It follows no link if the folder must belong to a user.
func (t *tail) open() (*os.Root, error) {
	root, err := os.OpenRoot(t.dir)
	if err != nil || t.owner == anyOwner {
		return root, err
	}
	named, err := os.Lstat(t.dir)
	if info, wrong := root.Stat("."); err == nil && (wrong != nil || !os.SameFile(named, info) || disk.Owner(info) != t.owner) {
		err = &fs.PathError{Op: "open", Path: t.dir, Err: fmt.Errorf("got a link or a folder of another user, want one of user %d", t.owner)}
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// openFile opens a regular file in the folder, and follows no link.
func (t *tail) openFile(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	named, err := root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular() || !os.SameFile(named, info):
		err = &fs.PathError{Op: "read", Path: filepath.Join(t.dir, name), Err: errors.New("got a link or a special file, want a regular file")}
	case t.owner != anyOwner && disk.Owner(info) != t.owner:
		err = &fs.PathError{Op: "read", Path: filepath.Join(t.dir, name), Err: fmt.Errorf("got a file of user %d, want one of user %d", disk.Owner(info), t.owner)}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// files calls see with each file of records, the oldest first. more is false if see wants no more.
func (t *tail) files(see func(f *os.File, name string, size int64) (more bool, err error)) (more bool, err error) {
	root, err := t.open()
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // no program has written anything yet
	}
	if err != nil {
		return false, err
	}
	defer root.Close()
	folder, err := root.Open(".")
	if err != nil {
		return false, err
	}
	names, err := filesIn(folder, t.dir, filePrefix)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if day, _ := dayOf(name); day.AddDate(0, 0, 1).Before(t.since) {
			continue
		}
		f, info, err := t.openFile(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the file was deleted
		}
		if err != nil {
			return false, err
		}
		more, err := see(f, name, info.Size())
		f.Close()
		if err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// readNew calls yield with the new lines, each of at most maxLine bytes. more is false if yield wants no more.
func (t *tail) readNew(yield func(name string, line []byte) bool) (more bool, err error) {
	if t.buffer == nil {
		t.buffer = bufio.NewReaderSize(nil, maxLine)
	}
	return t.files(func(f *os.File, name string, size int64) (more bool, err error) {
		if size == t.offsets[name] {
			return true, nil
		}
		if _, err := f.Seek(t.offsets[name], io.SeekStart); err != nil {
			return false, err
		}
		t.buffer.Reset(f)
		for {
			line, err := t.buffer.ReadSlice('\n')
			if errors.Is(err, io.EOF) { // a program is writing the last line
				return true, nil
			}
			t.offsets[name] += int64(len(line))
			if errors.Is(err, bufio.ErrBufferFull) {
				continue // the line is too long, and this is a part of it
			}
			if err != nil || !yield(name, line) {
				return false, err
			}
		}
	})
}
