package decision

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Bounds of reading.
const (
	maxLine  = 2 * MaxRecord // bytes of a line; a longer one is no record
	maxFiles = 100_000       // files of a folder
)

// A Reader reads records one after another, so that its memory does not grow with the log.
type Reader struct {
	// Since skips the files of days before this time and all records that are older.
	Since time.Time
	// Skipped counts the lines that are no records: torn by a crash, or another program's.
	Skipped int
	// Stdin is the file "-". NewReader sets that of the process.
	Stdin io.Reader

	files []string
}

// NewReader returns a reader of files and of the logs in folders, in the order of the paths and
// then of days. A file "-" is standard input. It skips everything in a folder that is not a regular
// file of the log.
func NewReader(paths ...string) (*Reader, error) {
	r := &Reader{Stdin: os.Stdin}
	for _, p := range paths {
		if p == "-" {
			r.files = append(r.files, p)
			continue
		}
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			r.files = append(r.files, p)
			continue
		}
		names, err := logFiles(p)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			r.files = append(r.files, filepath.Join(p, name))
		}
	}
	return r, nil
}

// The names of the log's files: decisions-YYYY-MM-DD.jsonl, of the day in UTC.
const (
	filePrefix = "decisions-"
	fileSuffix = ".jsonl"
)

func fileName(day time.Time) string {
	return filePrefix + day.UTC().Format(time.DateOnly) + fileSuffix
}

// dayOf returns the day of a log's file. ok is false for the name of another file.
func dayOf(name string) (day time.Time, ok bool) {
	middle, isPrefixed := strings.CutPrefix(filepath.Base(name), filePrefix)
	middle, isSuffixed := strings.CutSuffix(middle, fileSuffix)
	day, err := time.Parse(time.DateOnly, middle)
	return day, isPrefixed && isSuffixed && err == nil
}

// logFiles returns the names of a folder's log files that are regular files, by day.
func logFiles(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxFiles {
		return nil, fmt.Errorf("%s: got more than %d files, want at most that", dir, maxFiles)
	}
	var names []string
	for _, e := range entries {
		if _, ok := dayOf(e.Name()); ok && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// All returns the records with nil errors. The caller must not change them. An error of a file is
// the last element.
func (r *Reader) All() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		var parser recordParser
		for line, err := range r.Lines() {
			if err != nil {
				yield(nil, err)
				return
			}
			record, err := parser.parse(line)
			if err != nil {
				r.Skipped++
				continue
			}
			if !record.Time.Before(r.Since) && !yield(record, nil) {
				return
			}
		}
	}
}

// Lines returns the lines that are not blank. Each is valid until the next one. An error of a file
// is the last element.
func (r *Reader) Lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		buffer := bufio.NewReaderSize(nil, maxLine)
		for _, name := range r.files {
			if day, ok := dayOf(name); ok && day.AddDate(0, 0, 1).Before(r.Since) {
				continue
			}
			more, err := r.readFile(name, buffer, yield)
			if err != nil {
				yield(nil, err)
			}
			if err != nil || !more {
				return
			}
		}
	}
}

// readFile passes the lines of a file to yield. more is false if yield wants no more.
func (r *Reader) readFile(
	name string, buffer *bufio.Reader, yield func([]byte, error) bool,
) (more bool, err error) {
	if name != "-" {
		f, err := openRegular(name)
		if err != nil {
			return false, err
		}
		defer f.Close()
		buffer.Reset(f)
	} else {
		buffer.Reset(r.Stdin)
	}
	for {
		line, err := r.readLine(buffer)
		if line = bytes.TrimSpace(line); len(line) > 0 && !yield(line, nil) {
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
	}
}

// readLine returns the next line, nil for one that is too long.
func (r *Reader) readLine(buffer *bufio.Reader) ([]byte, error) {
	line, err := buffer.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	r.Skipped++
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = buffer.ReadSlice('\n')
	}
	return nil, err
}

// openRegular opens a file for reading. Opening a pipe without a writer would wait forever, so it
// opens without waiting and refuses special files.
func openRegular(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("got a special file, want a regular file")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// pollInterval is the time between two looks at a log that a reader follows.
const pollInterval = 200 * time.Millisecond

// Follow returns the records of a folder as All does, and then those that programs write, until ctx
// ends. It calls wait each time it has returned all records so far; an error of wait ends it.
func (r *Reader) Follow(ctx context.Context, dir string, wait func() error) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		t := tail{Reader: r, dir: dir, offsets: map[string]int64{}, buffer: bufio.NewReaderSize(nil, maxLine)}
		for {
			more, err := t.readNew(yield)
			if err == nil && more {
				err = wait()
			}
			if err != nil {
				yield(nil, err)
			}
			if err != nil || !more {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(pollInterval):
			}
		}
	}
}

// A tail reads what is new in a folder. It looks at all files, because programs write to the file
// of an earlier day after a clock jumped back.
type tail struct {
	*Reader
	dir     string
	offsets map[string]int64 // behind the last complete line, by file
	buffer  *bufio.Reader
}

// readNew passes the new records to yield. more is false if yield wants no more.
func (t *tail) readNew(yield func(*Record, error) bool) (more bool, err error) {
	names, err := logFiles(t.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // no program has written yet
	}
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if day, _ := dayOf(name); day.AddDate(0, 0, 1).Before(t.Since) {
			continue
		}
		file := filepath.Join(t.dir, name)
		if info, err := os.Lstat(file); err != nil || info.Size() == t.offsets[file] {
			continue // it was deleted, or has nothing new
		}
		if more, err := t.readFrom(file, yield); err != nil || !more {
			return more, err
		}
	}
	return true, nil
}

// readFrom reads the complete lines of a file behind its offset.
func (t *tail) readFrom(file string, yield func(*Record, error) bool) (more bool, err error) {
	f, err := openRegular(file)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil // it was deleted
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if _, err := f.Seek(t.offsets[file], io.SeekStart); err != nil {
		return false, err
	}
	t.buffer.Reset(f)
	for {
		line, err := t.buffer.ReadSlice('\n')
		if errors.Is(err, io.EOF) { // a program is writing the last line
			return true, nil
		}
		t.offsets[file] += int64(len(line))
		if errors.Is(err, bufio.ErrBufferFull) {
			continue // a part of a line that is too long
		}
		if err != nil {
			return false, err
		}
		record, err := ParseRecord(line)
		if err == nil && !record.Time.Before(t.Since) && !yield(record, nil) {
			return false, nil
		}
	}
}
