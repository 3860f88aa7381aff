package effects

import (
	"sync"
	"time"

	"github.com/spf13/afero"
)

// A recall remembers what files held, and by what the system says of a file knows
// whether it still does, so that an unchanged file is not read again. It never
// gives anything but what reading would: git's index goes by the same rule. (As
// there, memory that is mapped and written to for long may change unseen.)
//
// What is remembered is bounded; when it is full, all is forgotten. A nil recall
// remembers nothing. It is safe for concurrent use.
type recall struct {
	mu    sync.Mutex
	texts map[fileID]recalled
	bytes int
}

// A fileID is a file wherever it is moved.
type fileID struct{ device, inode uint64 }

// A stamp is all that a change of a file's bytes changes, unless two changes fall
// into one tick of the file system's clock.
type stamp struct {
	fileID
	size             int64
	written, changed int64 // nanoseconds since 1970; nobody can set the second
}

// A recalled is what a file held when it had a stamp.
type recalled struct {
	stamp
	text string
}

const (
	maxRecalled = 32 << 20 // bytes of all files
	maxRecall   = 1 << 20  // of one of them
	// coarsestTick is the longest tick of a file system's clock, that of FAT.
	coarsestTick = 2 * time.Second
)

// get returns what the file with this stamp holds, if that is known.
func (r *recall) get(s stamp) (text string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.texts[s.fileID]
	return known.text, ok && known.stamp == s
}

// put notes what was read from a file after begin that had the stamps before and
// after. A file that changed meanwhile is not remembered, nor is one that is so
// new that its next change may be in the same tick, and give it the same stamp.
func (r *recall) put(before, after stamp, begin time.Time, text string) {
	newest := time.Unix(0, max(before.written, before.changed))
	if before != after || before.size != int64(len(text)) || len(text) > maxRecall || begin.Sub(newest) <= coarsestTick {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += len(text) - len(r.texts[before.fileID].text)
	if r.texts == nil || r.bytes > maxRecalled {
		r.texts, r.bytes = map[fileID]recalled{}, len(text)
	}
	r.texts[before.fileID] = recalled{before, text}
}

// read is [readRegular] of a file that may be remembered.
func (r *recall) read(fsys afero.Fs, name, shown string, most int64) ([]byte, error) {
	info, err := statRegular(fsys, name, shown, most)
	if err != nil {
		return nil, err
	}
	before, stamped := stampOf(info)
	stamped = stamped && r != nil
	if stamped {
		if text, ok := r.get(before); ok {
			return []byte(text), nil
		}
	}
	begin := time.Now()
	b, info, err := readOpened(fsys, name, shown, most)
	if err == nil && stamped {
		after, _ := stampOf(info)
		r.put(before, after, begin, string(b))
	}
	return b, err
}
