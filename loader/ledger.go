package loader

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/starlark"
)

// A ledger says what the files of a folder held when they were last read, so that those
// which the system says did not change since need not be read to know their digests:
// see [effects.Stamp]. Their bytes are in the cache, too. It never says anything but
// what reading would. A nil ledger says nothing. It is safe for concurrent use.
type ledger struct {
	cache   *starlark.Cache
	key     starlark.Key
	device  uint64    // that the folder is on
	entries []entered // as the cache has them, sorted by name

	mu    sync.Mutex
	size  int                // of all, in bytes
	fresh map[string]entered // that were read since
}

// An entered is what a file held when it had a stamp.
type entered struct {
	name  string // in the folder, with "/"
	stamp effects.Stamp
	sum   fragments.Hash
}

// clock tells when a file is read; tests have old files without waiting.
var clock = time.Now

// maxLedger is the most bytes of a ledger, as it is kept: those of some 10,000 files. One
// that is full takes no more names.
const maxLedger = 1 << 20

// openLedger returns the ledger of a folder with an absolute path, nil where its files have
// no stamps to go by.
func openLedger(c *starlark.Cache, dir string) *ledger {
	device, ok := effects.KeepsStamps(dir)
	if !ok {
		return nil
	}
	l := &ledger{cache: c, device: device, key: starlark.ShelfStart.Key(fragments.Sum("ledger 1 " + dir))}
	in := coder{reading: true, in: c.Recall(l.key)}
	l.size = len(in.in)
	if codeItems(&in, &l.entries, codeEntered); in.broken || len(in.in) > 0 {
		l.entries = nil
	}
	return l
}

func codeEntered(c *coder, e *entered) {
	codeText(c, &e.name)
	for _, n := range []*uint64{&e.stamp.Device, &e.stamp.Inode} {
		c.number(n)
	}
	for _, n := range []*int64{&e.stamp.Size, &e.stamp.Written, &e.stamp.Changed} {
		codeInteger(c, n)
	}
	codeHash(c, &e.sum)
}

// textKey returns the key of the bytes with a digest.
func textKey(sum fragments.Hash) starlark.Key {
	return starlark.ShelfNeed.Key(fragments.Sum("text " + string(sum[:])))
}

// text returns the bytes with a digest, if the cache has them.
func (l *ledger) text(sum fragments.Hash) ([]byte, bool) {
	text := l.cache.Recall(textKey(sum))
	return text, sha256.Sum256(text) == sum
}

// entry returns what is known of a file.
func (l *ledger) entry(name string) (entered, bool) {
	i, found := sort.Find(len(l.entries), func(i int) int { return strings.Compare(name, l.entries[i].name) })
	if !found {
		return entered{}, false
	}
	return l.entries[i], true
}

// stampOf returns the stamp of a file, false where it has none to go by: also if something
// else is mounted there, of which nobody asked whether it keeps stamps.
func (l *ledger) stampOf(info fs.FileInfo) (effects.Stamp, bool) {
	s, stamped := effects.StampOf(info)
	return s, stamped && s.Device == l.device
}

// sum returns the digest of a file, if what the system says of it now tells.
func (l *ledger) sum(name string, info fs.FileInfo) (sum fragments.Hash, ok bool) {
	if l == nil {
		return sum, false
	}
	stamp, stamped := l.stampOf(info)
	e, known := l.entry(name)
	if !known || !stamped || e.stamp != stamp {
		return sum, false
	}
	return e.sum, true
}

// enter notes what was read, after begin, from a file that is open, and of which the
// system said before what it was.
func (l *ledger) enter(name string, before fs.FileInfo, file *os.File, begin time.Time, read sourceFile) {
	if l == nil {
		return
	}
	after, err := file.Stat()
	if err != nil {
		return
	}
	stamp, stamped := l.stampOf(before)
	if now, _ := effects.StampOf(after); !stamped || !stamp.Held(now, begin, len(read.bytes)) {
		return
	}
	e := entered{name, stamp, read.sum}
	c := coder{}
	codeEntered(&c, &e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.entry(name); !known {
		l.size += len(c.out)
	}
	if l.size > maxLedger || !l.cache.Keep(textKey(read.sum), read.bytes) {
		return
	}
	if l.fresh == nil {
		l.fresh = map[string]entered{}
	}
	l.fresh[name] = e
}

// keep has the cache keep the ledger, if there is something new in it.
func (l *ledger) keep() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.fresh) == 0 {
		return
	}
	all := slices.DeleteFunc(slices.Clone(l.entries), func(e entered) bool { return l.fresh[e.name].name != "" })
	for _, e := range l.fresh {
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entered) int { return strings.Compare(a.name, b.name) })
	out := coder{}
	codeItems(&out, &all, codeEntered)
	l.cache.Keep(l.key, out.out)
}

// ledgers are those of the folders that a Load reads from, by their absolute paths. All are
// opened before the first is asked, so that many can ask at the same time. Nil has none.
type ledgers map[string]*ledger

// openLedgers returns the ledgers of the folders that plugins and libraries are in.
func (l *loading) openLedgers() ledgers {
	all := ledgers{}
	open := func(s *Source) {
		if _, opened := all[s.dir]; !opened {
			all[s.dir] = openLedger(l.Cache, s.dir)
		}
	}
	for _, s := range l.sources {
		open(s)
	}
	for _, s := range l.libraries {
		open(s)
	}
	return all
}

// keep has the cache keep all of them.
func (l ledgers) keep() {
	for _, known := range l {
		known.keep()
	}
}
