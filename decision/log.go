package decision

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/starhost/starhost"
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
	// Max is the most bytes of all files together, and of one day's file. Zero means [DefaultMax].
	Max int64
	// Sync makes the log flush each record to the disk before the host answers.
	Sync bool
	// Required makes [Log.Observe] return the error of a record that it cannot write, so that the
	// host refuses the event.
	Required bool
	// Include lists the parts of events that records contain only if the operator wants them: [IncludePrompt]
	// and the others.
	Include []string
	// Mask are globs on JSON pointers into records. The log masks the values at these places, and all values
	// that look like keys and passwords.
	Mask []string
	// KeepLikelyKeys lets values stay that only look like keys and passwords. The log always masks the values
	// of Mask and Patterns, and the secrets of [Log.Use].
	KeepLikelyKeys bool
	// Patterns match further texts that the log must not contain.
	Patterns []*regexp.Regexp
	// Agent is the agent that records state for events that name none. Starhost is the version of the
	// program.
	Agent, Starhost string
	// Describe describes the tool call of an event that no host fired: see [Log.Undecided].
	Describe func(*starhost.Event) *starhost.CallInfo
	// Report receives each failure of [Log.Observe]. Nil drops them.
	Report func(error)
	// Clock returns the time; nil means time.Now.
	Clock func() time.Time
}

// A Log appends records to the files of a folder. It is safe for concurrent use, also by many
// processes.
type Log struct {
	o     Options
	globs func() *regexp.Regexp
	used  atomic.Pointer[usedSet]
}

// A usedSet is the set of plugins that decide, with the function that removes their secrets from texts.
type usedSet struct {
	set    Set
	redact func(string) string
}

// New returns a log. The log touches no file until the first record comes.
func New(o Options) *Log {
	o.Keep, o.Max = cmp.Or(o.Keep, DefaultKeep), cmp.Or(o.Max, DefaultMax)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	l := &Log{o: o, globs: sync.OnceValue(func() *regexp.Regexp { return compileGlobs(o.Mask) })}
	l.used.Store(&usedSet{})
	return l
}

// Use sets the plugins that decide about the next records. redact replaces the values of their secrets in a
// text; nil replaces nothing.
func (l *Log) Use(set Set, redact func(string) string) { l.used.Store(&usedSet{set, redact}) }

// mask returns the mask for the next record.
func (l *Log) mask() *mask {
	return &mask{l.globs(), l.o.Patterns, l.used.Load().redact, l.o.KeepLikelyKeys}
}

// Append writes a record. If the record has no schema, id or time, Append sets it. The first record of a day
// deletes the files that Keep and Max do not allow.
func (l *Log) Append(r *Record) error {
	if r.Time.IsZero() {
		r.Time = l.o.Clock()
	}
	r.Time = utc(r.Time)
	r.Schema, r.ID = Schema, cmp.Or(r.ID, newID(r.Time))
	line, err := l.encode(r)
	if err == nil {
		if len(r.Set.Plugins) > fewPlugins && r.Set.Revision != "" {
			line = l.withoutSet(line, r)
		}
		err = cmp.Or(l.write(line, r.Time), l.appendRan(r))
	}
	if err != nil {
		l.countLost()
		return fmt.Errorf("decision log: %w", err)
	}
	return nil
}

// file returns the path of a file of the log.
func (l *Log) file(name string) string { return filepath.Join(l.o.Dir, name) }

// write appends a record to the file of a day.
func (l *Log) write(line []byte, day time.Time) error { return l.writeFile(filePrefix, line, day) }

// writeFile appends bytes to the file of a kind and of a day with one system call.
func (l *Log) writeFile(prefix string, line []byte, day time.Time) error {
	name := l.file(fileName(prefix, day))
	if l.o.Dir == "" {
		return errors.New("there is no folder for it: want HOME, XDG_STATE_HOME or [log] path")
	}
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
			err = flush(f)
		}
	}
	err = errors.Join(err, f.Close())
	if err == nil && info.Size() == 0 {
		l.prepareLost()
		_, err = l.Collect()
	}
	return err
}

// flush writes a file to the disk. A test counts its calls.
var flush = (*os.File).Sync

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
// larger than Max. It never deletes the file of the newest day. Of the newest file of answers that it deletes,
// one byte stays: see [Gaps]. It returns the names of the deleted files.
func (l *Log) Collect() (removed []string, err error) {
	names, err := filesOf(l.o.Dir, filePrefix, answeredPrefix)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	newest, _ := dayOf(names[len(names)-1])
	sizes, total := make([]int64, len(names)), int64(0)
	for i, name := range names {
		if info, err := os.Lstat(filepath.Join(l.o.Dir, name)); err == nil {
			sizes[i] = info.Size()
			total += sizes[i]
		}
	}
	oldest, left := l.o.Clock().Add(-l.o.Keep), "" // left is the file of answers of which a byte stays
	for i, name := range names {
		day, _ := dayOf(name)
		isAnswers := strings.HasPrefix(name, answeredPrefix)
		isLeft := isAnswers && sizes[i] == removedSize
		if day.Equal(newest) || !isLeft && !day.AddDate(0, 0, 1).Before(oldest) && total <= l.o.Max {
			continue
		}
		gone := name
		if isAnswers {
			if !isLeft {
				err = os.Truncate(l.file(name), removedSize) // also on a full disk
			}
			gone, left = left, name
		}
		if err == nil && gone != "" {
			err = os.Remove(l.file(gone))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else another process has removed it
			return removed, err
		}
		if total -= sizes[i]; err == nil && !isLeft {
			removed = append(removed, name)
		}
		err = nil
	}
	return removed, nil
}

// fileName returns the name of a log file of a day.
func fileName(prefix string, day time.Time) string {
	return prefix + day.UTC().Format(time.DateOnly) + fileSuffix
}

// newID returns a unique id in the form of a ULID: the time in milliseconds, then 80 random bits.
func newID(now time.Time) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // rand.Read never fails
	high, low := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	var id [26]byte
	for i := len(id) - 1; i >= 0; i-- {
		id[i] = digits[low&31]
		low, high = low>>5|high<<59, high>>5
	}
	return string(id[:])
}
