package decision

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/starhost/starhost/internal/disk"
)

// An Unsent reads the records of a folder that were not sent yet. Beside the folder is a file with a bookmark,
// which says how far each of its files was sent: records of one day can come after those of the next. One
// program sends; a second one at the same time sends records twice, and loses none.
type Unsent struct {
	// Skipped counts the lines that are no records, because a crash tore them.
	Skipped int

	tail
	marks   bookmark
	scanned map[string]string // the id of the last record that was read, by file
}

// A bookmark is the content of the file beside the folder.
type bookmark struct {
	Files   []mark `json:"files"`
	Dropped int    `json:"dropped"` // records that the collector refused
}

// A mark says how far one file was sent. The id is that of the last record before the offset, so that another
// file of the same name is sent from its start.
type mark struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	ID     string `json:"id"`
}

// An UnsentRecord is the text of a record, with its id and its time.
type UnsentRecord struct {
	ID   string
	Time time.Time
	JSON []byte
}

// NewUnsent returns the records of a folder that its bookmark leaves. owner is the user who must own the folder
// and its files, for a program that runs as root; -1 means any.
func NewUnsent(dir string, owner int) (*Unsent, error) {
	u := &Unsent{tail: tail{dir: dir, owner: owner, offsets: map[string]int64{}}, scanned: map[string]string{}}
	text, err := disk.Read(u.file(".sent.json"))
	if err == nil {
		_ = json.Unmarshal(text, &u.marks) // without a mark, records are sent again
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	_, err = u.files(func(f *os.File, name string, size int64) (bool, error) {
		if i := slices.IndexFunc(u.marks.Files, func(m mark) bool { return m.File == name }); i >= 0 {
			if m := u.marks.Files[i]; m.isIn(f, size) {
				u.offsets[name], u.scanned[name] = m.Offset, m.ID
			}
		}
		return true, nil
	})
	return u, err
}

// file returns the name of a file beside the folder. It is not in it, because if root sends, the folder is the
// user's.
func (u *Unsent) file(suffix string) string { return strings.TrimRight(u.dir, `/\`) + suffix }

// isIn reports whether a file is the one of the mark.
func (m mark) isIn(f *os.File, size int64) bool {
	if m.Offset < 0 || m.Offset > size {
		return false
	}
	start := max(0, m.Offset-maxLine)
	before := make([]byte, m.Offset-start)
	_, err := f.ReadAt(before, start)
	return err == nil && bytes.Contains(before, []byte(`"`+m.ID+`"`))
}

// Next returns the next records, as many as make most bytes, at most n.
func (u *Unsent) Next(n, most int) (batch []UnsentRecord, err error) {
	size := 0
	_, err = u.readNew(func(name string, line []byte) bool {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			return true
		}
		r, err := ParseRecord(line)
		if err != nil {
			u.Skipped++
			return true
		}
		u.scanned[name] = r.ID
		batch = append(batch, UnsentRecord{r.ID, r.Time, bytes.Clone(line)})
		size += len(line)
		return len(batch) < n && size < most
	})
	return batch, err
}

// Commit stores that all records of Next were sent.
func (u *Unsent) Commit() error {
	u.marks.Files = nil
	for name, id := range u.scanned {
		u.marks.Files = append(u.marks.Files, mark{name, u.offsets[name], id})
	}
	slices.SortFunc(u.marks.Files, func(a, b mark) int { return strings.Compare(a.File, b.File) })
	text, err := json.Marshal(u.marks)
	if err != nil {
		return err
	}
	return disk.Replace(u.file(".sent.json"), append(text, '\n'), 0o644)
}

// maxAside is the most bytes of records that the collector refused.
const maxAside = 16 << 20

// SetAside stores records of which the collector refused n. Commit stores the number.
func (u *Unsent) SetAside(batch []UnsentRecord, n int) error {
	u.marks.Dropped += n
	f, err := os.OpenFile(u.file(".rejected.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	for i := range batch {
		if err == nil && info.Size() < maxAside {
			_, err = f.Write(append(batch[i].JSON, '\n'))
		}
	}
	return errors.Join(err, f.Close())
}

// State returns how many lines of a folder are not sent, and how many records no collector will get: those that it
// refused, and those that could not be written. owner is that of [NewUnsent]. Unless isSent, nothing is behind, and
// no records are read.
func State(dir string, owner int, isSent bool) (behind, dropped int, err error) {
	u, err := NewUnsent(dir, owner)
	if err != nil {
		return 0, 0, err
	}
	if isSent {
		_, err = u.readNew(func(_ string, line []byte) bool {
			if len(bytes.TrimSpace(line)) > 0 {
				behind++
			}
			return true
		})
	}
	lost := 0
	if root, wrong := u.open(); wrong == nil {
		defer root.Close()
		if f, _, wrong := u.openFile(root, lostName); wrong == nil {
			defer f.Close()
			lost = readCount(f)
		}
	}
	return behind, u.marks.Dropped + lost, err
}

// lostName is the file that counts the records that could not be written.
const lostName = "lost"

// countDigits is the size of that file, which it has from the start: a full disk can still change it.
const countDigits = 20

// readCount reads the number in the file.
func readCount(f *os.File) int {
	text := make([]byte, countDigits)
	_, _ = f.ReadAt(text, 0)
	n, _ := strconv.Atoi(string(bytes.TrimSpace(bytes.Trim(text, "\x00"))))
	return max(n, 0)
}

// countLost counts a record that could not be written. Two processes at the same time can count one.
func (l *Log) countLost() {
	name := l.file(lostName)
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return
	}
	if f, err := os.OpenFile(name, os.O_RDWR, 0); err == nil {
		_, _ = fmt.Fprintf(io.NewOffsetWriter(f, 0), "%*d\n", countDigits-1, readCount(f)+1)
		_ = f.Close()
	}
}

// prepareLost makes the file, while the disk has room for it.
func (l *Log) prepareLost() {
	f, err := os.OpenFile(l.file(lostName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, _ = fmt.Fprintf(f, "%*d\n", countDigits-1, 0)
		_ = f.Close()
	}
}
