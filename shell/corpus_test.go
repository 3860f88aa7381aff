//go:build unix

package shell

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// corpusLines returns the texts of a file of testdata: one a line, in which ␤ is a newline. A line
// that begins with "# " and an upper-case letter is a comment of the file. second has the lines
// behind the comment that begins with "# Counted separately".
func corpusLines(t *testing.T, name string) (first, second []string) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	separate := false
	for line := range strings.SplitSeq(strings.TrimSuffix(string(data), "\n"), "\n") {
		text := strings.ReplaceAll(line, "␤", "\n")
		switch {
		case len(line) > 2 && line[:2] == "# " && line[2] >= 'A' && line[2] <= 'Z':
			separate = separate || strings.HasPrefix(line, "# Counted separately")
		case separate:
			second = append(second, text)
		default:
			first = append(first, text)
		}
	}
	return first, second
}

// asksDelete asks the question of the corpus.
func asksDelete(text string) string { return Parse(text, "").Runs("kubectl", []string{"delete"}) }

// TestCorpusAnswers checks the answers for the lines of testdata, without shells.
func TestCorpusAnswers(t *testing.T) {
	counts := func(file string, lines []string, wrong string, most int) {
		found := map[string]int{}
		for _, text := range lines {
			answer := asksDelete(text)
			found[answer]++
			if answer == wrong {
				t.Errorf("%s: %q: got %s", file, text, answer)
			}
			if answer == "maybe" && most >= 0 {
				t.Logf("%s: %q: maybe", file, text)
			}
		}
		t.Logf("%s: %d lines: %d yes, %d maybe, %d no", file, len(lines), found["yes"], found["maybe"], found["no"])
		if most >= 0 && found["maybe"]*100 > most*len(lines) {
			t.Errorf("%s: %d of %d lines are maybe, want at most %d %%", file, found["maybe"], len(lines), most)
		}
	}
	deletions, _ := corpusLines(t, "deletions.txt")
	harmless, _ := corpusLines(t, "harmless.txt")
	ordinary, separate := corpusLines(t, "ordinary.txt")
	if len(deletions) < 300 || len(harmless) < 100 || len(ordinary) < 150 {
		t.Errorf("got %d deletions, %d harmless and %d ordinary lines, want at least 300, 100 and 150", len(deletions), len(harmless), len(ordinary))
	}
	counts("deletions.txt", deletions, "no", -1)
	unknown, _ := corpusLines(t, "unknown.txt")
	counts("unknown.txt", unknown, "no", -1)
	counts("harmless.txt", harmless, "yes", -1)
	counts("ordinary.txt", ordinary, "", 5)
	counts("ordinary.txt, counted separately", separate, "yes", 100)
}

// TestCorpusTruth runs the lines of testdata in the shells of this machine. A line that deletes is
// never "no"; a line that deletes in no shell is never "yes". Each line of deletions.txt deletes in
// some shell, and no line of harmless.txt does. The short form runs a line that is "no" in one
// setting, which the lines take in turn.
func TestCorpusTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	type entry struct {
		file, text string
		n          int // counts the lines
	}
	work := make(chan entry)
	var workers sync.WaitGroup
	for range max(2, runtime.NumCPU()) {
		r := newTruthRunner(t, false)
		workers.Go(func() {
			for e := range work {
				answer := asksDelete(e.text)
				if answer == "maybe" && e.file == "ordinary.txt" {
					continue // both would be right
				}
				where, deletes := "", false
				if answer == "no" && os.Getenv("STARHOST_LONG") == "" {
					where, deletes = r.deletesIn(t, e.n%r.settings(), e.text)
				} else {
					where, deletes = r.deletes(t, e.text)
				}
				switch {
				case deletes && answer == "no", !deletes && answer == "yes" && r.isWhole(e.text):
					t.Errorf("%s: %q: got %s, but deletes is %v (%s)", e.file, e.text, answer, deletes, where)
				case !deletes && e.file == "deletions.txt" && r.isWhole(e.text):
					t.Errorf("%s: %q deletes nothing in %v (answer %s)", e.file, e.text, r.shells, answer)
				case deletes && e.file == "harmless.txt":
					t.Errorf("%s: %q deletes in %s (answer %s)", e.file, e.text, where, answer)
				}
			}
		})
	}
	n := 0
	for _, file := range []string{"deletions.txt", "harmless.txt", "ordinary.txt"} {
		lines, separate := corpusLines(t, file)
		for _, text := range append(lines, separate...) {
			work <- entry{file, text, n}
			n++
		}
	}
	close(work)
	workers.Wait()
}
