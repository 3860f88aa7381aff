package decision

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Defaults of [Options].
const (
	DefaultKeep = 30 * 24 * time.Hour
	DefaultMax  = 1 << 30
)

// Options configure a [Log].
type Options struct {
	// Dir is the folder of the log. The log creates it with mode 0700.
	Dir string
	// Keep is how long the files of days stay. Zero means [DefaultKeep].
	Keep time.Duration
	// Max is the most bytes of all files, and of one day's file. Zero means [DefaultMax].
	Max int64
	// Sync flushes each record to the disk before the answer.
	Sync bool
	// Clock returns the time; nil means time.Now.
	Clock func() time.Time
}

// A Log appends records to the files of a folder. It is safe for concurrent use, also by many
// processes.
type Log struct{ o Options }

// New returns a log. It touches no file until the first record.
func New(o Options) *Log {
	o.Keep, o.Max = cmp.Or(o.Keep, DefaultKeep), cmp.Or(o.Max, DefaultMax)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Log{o}
}

// Append writes a record. It sets the schema, and the id and the time if they are empty. The first
// record of a day deletes the files that Keep and Max require.
func (l *Log) Append(r *Record) error {
	if r.Time.IsZero() {
		r.Time = l.o.Clock()
	}
	r.Time = r.Time.UTC().Round(time.Microsecond)
	r.Schema, r.ID = Schema, cmp.Or(r.ID, newID(r.Time))
	line, err := r.encode()
	if err == nil {
		err = l.write(line, r.Time)
	}
	if err != nil {
		return fmt.Errorf("decision log: %w", err)
	}
	return nil
}

// encode returns a record between two newlines.
func (r *Record) encode() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('\n')
	enc := json.NewEncoder(&b) // ends with a newline
	enc.SetEscapeHTML(false)
	err := enc.Encode(r)
	return b.Bytes(), err
}

// write appends bytes to the file of a day with one system call.
func (l *Log) write(line []byte, day time.Time) error {
	name := filepath.Join(l.o.Dir, fileName(day))
	f, err := l.open(name)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s: got a special file, want a regular file (remove it)", name)
	case info.Size()+int64(len(line)) > l.o.Max:
		err = fmt.Errorf("%s: got %d bytes in one day, limit %d ([log] max)", name, info.Size()+int64(len(line)), l.o.Max)
	default:
		_, err = f.Write(line)
		if err == nil && l.o.Sync {
			err = f.Sync()
		}
	}
	err = errors.Join(err, f.Close())
	if err == nil && info.Size() == 0 {
		_, err = l.Collect()
	}
	return err
}

// open opens a file to append to it. It creates the folder if it is missing. It follows no link and
// does not wait for a pipe.
func (l *Log) open(name string) (*os.File, error) {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: got a link or a special file, want a regular file (remove it)", name)
	}
	const flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND | syscall.O_NONBLOCK
	f, err := os.OpenFile(name, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(l.o.Dir, 0o700); err == nil {
			f, err = os.OpenFile(name, flags, 0o600)
		}
	}
	return f, err
}

// Collect deletes the files that are older than Keep, and the oldest files while all together are
// larger than Max. It never deletes the file of the newest day. It returns the names of the deleted
// files.
func (l *Log) Collect() (removed []string, err error) {
	names, err := logFiles(l.o.Dir)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	sizes, total := make([]int64, len(names)), int64(0)
	for i, name := range names {
		if info, err := os.Lstat(filepath.Join(l.o.Dir, name)); err == nil {
			sizes[i] = info.Size()
			total += sizes[i]
		}
	}
	oldest := l.o.Clock().Add(-l.o.Keep)
	for i, name := range names[:len(names)-1] {
		day, _ := dayOf(name)
		if !day.AddDate(0, 0, 1).Before(oldest) && total <= l.o.Max {
			continue
		}
		if err := os.Remove(filepath.Join(l.o.Dir, name)); err != nil {
			if errors.Is(err, fs.ErrNotExist) { // another process removed it
				continue
			}
			return removed, err
		}
		total -= sizes[i]
		removed = append(removed, name)
	}
	return removed, nil
}

// ids spells ids: Crockford's base 32, whose order is that of the bytes.
var ids = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// newID returns a unique id: the time in milliseconds, then 80 random bits.
func newID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // it never fails
	return ids.EncodeToString(b[:])
}
