package decision

import (
	"bufio"
	"bytes"
	"cmp"
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

// A Reader reads records one after another. Its memory does not grow with the log.
type Reader struct {
	// Since makes the Reader skip the files of days before this time, and all older records.
	Since time.Time
	// Skipped counts the lines that are no records, because a crash tore them or another program wrote them.
	Skipped int
	// Stdin is what the Reader reads for the file "-". NewReader sets it to the standard input of the
	// process.
	Stdin io.Reader

	files []string
	name  string // the file that it reads
	sets
}

// NewReader returns a reader of files and of the logs in folders, in the order of the paths and then of days.
// The path "-" means standard input. In a folder, the Reader skips everything that is no regular file of the
// log.
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

// The names of the log's files: decisions-YYYY-MM-DD.jsonl and answered-YYYY-MM-DD.jsonl, of the day in
// UTC.
const (
	filePrefix     = "decisions-"
	answeredPrefix = "answered-"
	fileSuffix     = ".jsonl"
)

// dayOf returns the day that the name of a log file states. ok is false for the name of any other file.
func dayOf(name string) (day time.Time, ok bool) {
	kind, middle, _ := strings.Cut(filepath.Base(name), "-")
	isPrefixed := kind+"-" == filePrefix || kind+"-" == answeredPrefix
	middle, isSuffixed := strings.CutSuffix(middle, fileSuffix)
	day, err := time.Parse(time.DateOnly, middle)
	return day, isPrefixed && isSuffixed && err == nil
}

// logFiles returns the names of a folder's files of records.
func logFiles(dir string) ([]string, error) { return filesOf(dir, filePrefix) }

// filesOf returns the names of a folder's files of some kinds that are regular files, by day.
func filesOf(dir string, prefixes ...string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	return filesIn(f, dir, prefixes...)
}

// filesIn is filesOf for an open folder, which it closes.
func filesIn(f *os.File, dir string, prefixes ...string) ([]string, error) {
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
		isOf := func(prefix string) bool { return strings.HasPrefix(e.Name(), prefix) }
		if _, ok := dayOf(e.Name()); ok && e.Type().IsRegular() && slices.ContainsFunc(prefixes, isOf) {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		dayA, _ := dayOf(a)
		dayB, _ := dayOf(b)
		return cmp.Or(dayA.Compare(dayB), strings.Compare(a, b))
	})
	return names, nil
}

// All returns the records, each with a nil error. If a file cannot be
// read, the last element is the error.
func (r *Reader) All() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for line, err := range r.Lines() {
			if err != nil {
				yield(nil, err)
				return
			}
			record, err := r.parse(line)
			if err != nil {
				if _, err := ParseRecord(bytes.ReplaceAll(line, []byte(`\\`), []byte(`\`))); err == nil {
					yield(nil, readError(r.name, errCopied))
					return
				}
				r.Skipped++
				continue
			}
			if !record.Time.Before(r.Since) && !yield(record, nil) {
				return
			}
		}
	}
}

// errCopied says that other lines may be wrong, too, though they are JSON.
var errCopied = errors.New("the lines have each backslash twice, as copy of PostgreSQL writes text: want " +
	`copy (...) to stdout with (format csv, delimiter e'\x01', quote e'\x02')`)

// Lines returns the lines that are not blank. A line is valid until the next one comes. If a file cannot be
// read, the last element is the error.
func (r *Reader) Lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		buffer := bufio.NewReaderSize(nil, maxLine)
		for _, name := range r.files {
			if day, ok := dayOf(name); ok && day.AddDate(0, 0, 1).Before(r.Since) {
				continue
			}
			r.name = name
			more, err := r.readFile(name, buffer, yield)
			if err != nil {
				yield(nil, readError(name, err))
			}
			if err != nil || !more {
				return
			}
		}
	}
}

// readError returns an error of reading a file with the file's name.
func readError(name string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	return &fs.PathError{Op: "read", Path: name, Err: err}
}

// readFile calls yield with each line of a file. more is false if yield wants no more lines.
func (r *Reader) readFile(
	name string, buffer *bufio.Reader, yield func([]byte, error) bool,
) (more bool, err error) {
	in := r.Stdin
	if name != "-" {
		f, err := openRegular(name)
		if err != nil {
			return false, err
		}
		defer f.Close()
		in = f
	}
	buffer.Reset(in)
	in, end, err := unpack(buffer)
	if err != nil {
		return false, err
	}
	if in != nil {
		buffer = bufio.NewReaderSize(in, maxLine)
	}
	defer func() {
		if failed := end(); failed != nil && err == nil && more {
			err = failed
		}
	}()
	for {
		line, err := r.readLine(buffer)
		if line = bytes.TrimSpace(line); len(line) > 0 && !yield(line, nil) {
			return false, nil
		}
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// readLine returns the next line. It returns nil for a line that is too long.
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

// openRegular opens a file for reading, and refuses special files. It opens without waiting, because opening
// a pipe without a writer would wait forever.
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

// pollInterval is how long a reader that follows a log waits before it looks for new records.
const pollInterval = 200 * time.Millisecond

// Follow returns the records of a folder as All does, and then the records that programs write, until ctx
// ends. Each time it has returned all records so far, it calls wait. If wait returns an error, Follow ends.
func (r *Reader) Follow(ctx context.Context, dir string, wait func() error) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		t := tail{dir: dir, owner: anyOwner, since: r.Since, offsets: map[string]int64{}}
		records := func(_ string, line []byte) bool {
			record, err := r.parse(line)
			return err != nil || record.Time.Before(r.Since) || yield(record, nil)
		}
		for {
			more, err := t.readNew(records)
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
