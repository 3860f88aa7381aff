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

// A recalled is what a file held when it had a stamp.
type recalled struct {
	Stamp
	text string
}

const (
	maxRecalled = 32 << 20 // bytes of all files
	maxRecall   = 1 << 20  // of one of them
)

// get returns what the file with this stamp holds, if that is known.
func (r *recall) get(s Stamp) (text string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.texts[s.fileID]
	return known.text, ok && known.Stamp == s
}

// put notes what was read from a file after begin that had the stamps before and
// after, if that is sure.
func (r *recall) put(before, after Stamp, begin time.Time, text string) {
	if len(text) > maxRecall || !before.Held(after, begin, len(text)) {
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
	before, stamped := StampOf(info)
	stamped = stamped && r != nil
	if stamped {
		if text, ok := r.get(before); ok {
			return []byte(text), nil
		}
	}
	begin := time.Now()
	b, info, err := readOpened(fsys, name, shown, most)
	if err == nil && stamped {
		after, _ := StampOf(info)
		r.put(before, after, begin, string(b))
	}
	return b, err
}
