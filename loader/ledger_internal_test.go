package loader

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/starlark"
)

// ReadLater has files be read an hour from now, when all of today's are old.
func ReadLater(t testing.TB) {
	clock = func() time.Time { return time.Now().Add(time.Hour) }
	t.Cleanup(func() { clock = time.Now })
}

// NextTick waits until the clock of the file system ticks: what is written now has
// another stamp than what was written before.
func NextTick(dir string) error {
	changed := func() (int64, error) {
		file := filepath.Join(dir, "tick")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			return 0, err
		}
		info, err := os.Stat(file)
		if err != nil {
			return 0, err
		}
		stamp, _ := effects.StampOf(info)
		return stamp.Changed, os.Remove(file)
	}
	first, err := changed()
	for next := first; err == nil && next == first && next != 0; {
		time.Sleep(time.Millisecond)
		next, err = changed()
	}
	return err
}

// A ledgerTest is a plugin's folder, which one process after another reads.
type ledgerTest struct {
	t          *testing.T
	dir, cache string
}

func newLedgerTest(t *testing.T) *ledgerTest {
	l := &ledgerTest{t, filepath.Join(t.TempDir(), "plugins"), filepath.Join(t.TempDir(), "cache")}
	l.must(os.Mkdir(l.dir, 0o755))
	if _, ok := effects.KeepsStamps(l.dir); !ok {
		t.Skip("this file system does not say surely that a file changed: files are read each time")
	}
	return l
}

func (l *ledgerTest) must(errs ...error) {
	l.t.Helper()
	if err := errors.Join(errs...); err != nil {
		l.t.Fatal(err)
	}
}

func (l *ledgerTest) file(name string) string { return filepath.Join(l.dir, name) }

func (l *ledgerTest) write(name, text string) {
	l.t.Helper()
	l.must(os.WriteFile(l.file(name), []byte(text), 0o644), NextTick(l.dir))
}

// setTimes sets when a file was written.
func (l *ledgerTest) setTimes(name string, at time.Time) {
	l.t.Helper()
	l.must(os.Chtimes(l.file(name), at, at))
}

// A process is one that reads the folder.
type process struct {
	*ledgerTest
	source  *Source
	cache   *starlark.Cache
	ledgers ledgers
}

// start starts one.
func (l *ledgerTest) start() *process {
	l.t.Helper()
	c, err := starlark.OpenCache(l.cache)
	l.must(err)
	l.t.Cleanup(func() { c.Close() })
	return &process{l, NewLibrary("x", Path{Real: l.dir}, 0), c, ledgers{l.dir: openLedger(c, l.dir)}}
}

// knows reports whether the digest of a file is known without reading it, and checks
// that it is right.
func (p *process) knows(name string) bool {
	p.t.Helper()
	f, err := p.source.file(name, p.ledgers)
	p.must(err)
	b, err := os.ReadFile(p.file(name))
	p.must(err)
	if want := fragments.Sum(string(b)); f.sum != want {
		p.t.Errorf("%s: got the digest %s, want that of %q", name, f.sum, b)
	}
	return f.known != nil
}

// text returns what reading a file gives.
func (p *process) text(name string) string {
	b, err := p.source.read(name, p.ledgers)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// end ends it.
func (p *process) end() {
	p.t.Helper()
	p.ledgers.keep()
	p.must(p.cache.Save())
}

// TestLedger changes a file that a process knows, in all the ways that keep what they
// can of what the system says of it: the next one reads it again.
func TestLedger(t *testing.T) {
	long := time.Now().Add(-24 * time.Hour)
	tests := []struct {
		name   string
		change func(*ledgerTest)
		known  bool
	}{
		{"nothing", func(l *ledgerTest) {}, true},
		{"another file", func(l *ledgerTest) { l.write("b.star", "B") }, true},
		{"same size, time restored", func(l *ledgerTest) {
			l.write("a.star", "two")
			l.setTimes("a.star", long)
		}, false},
		{"other size, time restored", func(l *ledgerTest) {
			l.write("a.star", "three")
			l.setTimes("a.star", long)
		}, false},
		{"renamed over", func(l *ledgerTest) {
			l.write("new", "two")
			l.setTimes("new", long)
			l.must(os.Rename(l.file("new"), l.file("a.star")))
		}, false},
		{"removed and made anew", func(l *ledgerTest) {
			l.must(os.Remove(l.file("a.star")))
			l.write("a.star", "two")
			l.setTimes("a.star", long)
		}, false},
		{"a link instead", func(l *ledgerTest) {
			l.write("other", "two")
			l.setTimes("other", long)
			l.must(os.Remove(l.file("a.star")), os.Symlink("other", l.file("a.star")))
		}, false},
		{"a folder that moved", func(l *ledgerTest) {
			l.must(os.Rename(l.dir, l.dir+".old"), os.Mkdir(l.dir, 0o755))
			l.write("a.star", "two")
			l.setTimes("a.star", long)
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ReadLater(t)
			l := newLedgerTest(t)
			l.write("a.star", "one")
			l.setTimes("a.star", long)
			first := l.start()
			if first.knows("a.star") {
				t.Fatal("it is known before it was read")
			}
			first.end()
			tt.change(l)
			second := l.start()
			if got := second.knows("a.star"); got != tt.known {
				t.Errorf("known without reading: got %v, want %v", got, tt.known)
			}
			second.end()
			if !l.start().knows("a.star") {
				t.Error("it is not known once it was read again")
			}
		})
	}
}

// TestLedgerLinks switches a link between two files that are both known.
func TestLedgerLinks(t *testing.T) {
	ReadLater(t)
	l := newLedgerTest(t)
	l.write("one", "1")
	l.write("two", "2")
	for _, to := range []string{"one", "two", "one", "two"} {
		os.Remove(l.file("a.star")) // perhaps it is not there
		l.must(os.Symlink(to, l.file("a.star")))
		p := l.start()
		p.knows("a.star")
		p.end()
	}
	if p := l.start(); p.text("a.star") != "2" {
		t.Errorf("got %q, want what the link leads to", p.text("a.star"))
	}
}

// TestLedgerNew reads files that are so new, or from the future, that the next change
// may not show: they are read each time.
func TestLedgerNew(t *testing.T) {
	l := newLedgerTest(t)
	l.write("new.star", "one")
	l.write("future.star", "one")
	l.setTimes("future.star", time.Now().Add(2*time.Hour))
	for _, later := range []bool{false, true} {
		if later {
			ReadLater(t)
			l.must(os.Remove(l.file("new.star")))
			l.write("new.star", "two")
		}
		p := l.start()
		p.knows("new.star")
		p.knows("future.star")
		p.end()
		if next := l.start(); next.knows("future.star") || !later && next.knows("new.star") {
			t.Error("a file is known that may change unseen")
		}
	}
}

// TestLedgerMount reads a file where something else is mounted than the folder is on.
func TestLedgerMount(t *testing.T) {
	ReadLater(t)
	l := newLedgerTest(t)
	l.write("a.star", "one")
	for range 2 {
		p := l.start()
		p.ledgers[l.dir].device++
		if p.knows("a.star") {
			t.Error("a file of another device is known")
		}
		p.end()
	}
	p := l.start()
	p.knows("a.star")
	p.end()
	p = l.start()
	p.ledgers[l.dir].device++
	if p.knows("a.star") {
		t.Error("a file that was known is so on another device")
	}
}

// TestLedgerText reads what a ledger knows when the file is no more what it was: it has
// the bytes still, or says so.
func TestLedgerText(t *testing.T) {
	ReadLater(t)
	l := newLedgerTest(t)
	l.write("a.star", "one")
	p := l.start()
	p.knows("a.star")
	p.end()
	kept, lost, last := l.start(), l.start(), l.start()
	for _, p := range []*process{kept, lost, last} {
		if !p.knows("a.star") {
			t.Error("the file is not known")
		}
	}
	for _, p := range []*process{lost, last} {
		p.cache.Keep(textKey(fragments.Sum("one")), nil)
	}
	if got := last.text("a.star"); got != "one" {
		t.Errorf("same file: got %q", got)
	}
	l.write("a.star", "two")
	if got := kept.text("a.star"); got != "one" {
		t.Errorf("the bytes are kept: got %q", got)
	}
	if got := last.text("a.star"); got != "one" {
		t.Errorf("the bytes were read: got %q", got)
	}
	if got := lost.text("a.star"); !strings.Contains(got, "changed since") && lost.source.first.known != nil {
		t.Errorf("the bytes are lost: got %q", got)
	}
}

// TestLedgerCode writes and reads a ledger, and what is none.
func TestLedgerCode(t *testing.T) {
	ReadLater(t)
	l := newLedgerTest(t)
	l.write("a.star", "one")
	p := l.start()
	p.knows("a.star")
	p.end()
	key := p.ledgers[l.dir].key
	for _, bad := range []string{"x", "\x02", string(p.cache.Recall(key)) + "x"} {
		p.cache.Keep(key, []byte(bad))
		if got := openLedger(p.cache, l.dir).entries; got != nil {
			t.Errorf("%q: got %v, want nothing", bad, got)
		}
	}
}

// TestLedgerBound enters files in a ledger that is full: it takes those alone that it has.
func TestLedgerBound(t *testing.T) {
	ReadLater(t)
	l := newLedgerTest(t)
	l.write("a.star", "one")
	first := l.start()
	first.knows("a.star")
	first.end()
	l.write("a.star", "two")
	l.write("b.star", "B")
	p := l.start()
	p.ledgers[l.dir].size = maxLedger
	p.knows("a.star")
	p.knows("b.star")
	if fresh := p.ledgers[l.dir].fresh; len(fresh) > 0 && (len(fresh) != 1 || fresh["a.star"].name == "") {
		t.Errorf("got %v, want a.star", fresh)
	}
}
