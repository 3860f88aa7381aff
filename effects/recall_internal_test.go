package effects

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"
	"pgregory.net/rapid"
)

// A tickingFile is a file of one byte on a file system whose clock ticks slowly.
type tickingFile struct {
	tick    time.Duration
	now     time.Time
	content string
	stamp   Stamp
}

func (f *tickingFile) write(content string) {
	at := f.now.Truncate(f.tick).UnixNano()
	f.content, f.stamp = content, Stamp{fileID{1, 2}, int64(len(content)), at, at}
}

// Whatever is written when, also twice in one tick of the clock and with the same
// length, what is recalled is what the file holds.
func TestLawRecall(t *testing.T) {
	hits := 0
	rapid.Check(t, func(t *rapid.T) {
		var r recall
		f := tickingFile{tick: time.Duration(rapid.SampledFrom([]int{1, 4, 1000, 2000}).Draw(t, "tick")) * time.Millisecond, now: time.Unix(1000, 0)}
		f.write("0")
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			f.now = f.now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 3, 900, 2001, 5000}).Draw(t, "wait")) * time.Millisecond)
			if rapid.Bool().Draw(t, "write") {
				f.write(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "content"))
				continue
			}
			if text, ok := r.get(f.stamp); ok {
				hits++
				if text != f.content {
					t.Fatalf("recalled %q, want %q", text, f.content)
				}
				continue
			}
			before, begin, text := f.stamp, f.now, f.content
			if rapid.Bool().Draw(t, "written meanwhile") {
				f.now = f.now.Add(time.Millisecond)
				f.write("d")
			}
			r.put(before, f.stamp, begin, text)
		}
	})
	if hits == 0 {
		t.Error("nothing was ever recalled")
	}
}

// Files of the machine are recalled, and read again after each kind of change.
func TestRecallFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.md")
	write := func(content string) {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var r recall
	changes := map[string]func(){
		"written in place": func() { write("three") },
		"replaced": func() {
			other := name + ".new"
			if err := os.WriteFile(other, []byte("six"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(other, name); err != nil {
				t.Fatal(err)
			}
		},
	}
	for what, change := range changes {
		write("one")
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		s, stamped := StampOf(info)
		r.put(s, s, time.Now().Add(time.Hour), "one") // as if it were old enough
		if text, ok := r.get(s); stamped && (!ok || text != "one") {
			t.Errorf("%s: before: got %q, %v, want it recalled", what, text, ok)
		}
		change()
		check(t, &r, name, what)
	}
}

// check compares what r reads with what the file holds.
func check(t *testing.T, r *recall, name, what string) {
	t.Helper()
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.read(afero.NewOsFs(), name, name, 1<<20); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: got %q, %v, want %q", what, got, err, want)
	}
}

func TestRecallBound(t *testing.T) {
	var r recall
	text := strings.Repeat("x", maxRecall)
	for i := range 2 * maxRecalled / maxRecall {
		s := Stamp{fileID{1, uint64(i)}, int64(len(text)), 0, 0}
		r.put(s, s, time.Unix(100, 0), text)
		if r.bytes > maxRecalled || len(r.texts) > maxRecalled/maxRecall {
			t.Fatalf("after %d files: got %d bytes, want at most %d", i, r.bytes, maxRecalled)
		}
	}
	s := Stamp{fileID{2, 0}, maxRecall + 1, 0, 0}
	if r.put(s, s, time.Unix(100, 0), text+"x"); r.texts[s.fileID].text != "" {
		t.Error("a file over the limit was remembered")
	}
}
