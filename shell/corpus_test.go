//go:build unix

package shell

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
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

var update = flag.Bool("update", false, "write testdata/answers.txt")

// TestCorpusCommands compares what is seen in each line of testdata with answers.txt: the answer,
// the commands with what stands around them, and why the answer can be "maybe". The other tests of
// these lines find wrong answers; this one finds each change.
func TestCorpusCommands(t *testing.T) {
	const path = "testdata/answers.txt"
	got := []string{"# What is seen in the lines of the other files. go test ./shell -update writes it."}
	for _, file := range []string{"deletions.txt", "harmless.txt", "ordinary.txt", "unknown.txt"} {
		lines, separate := corpusLines(t, file)
		for _, text := range append(lines, separate...) {
			got = append(got, fmt.Sprintf("%s %s", asksDelete(text), seenIn(Parse(text, ""))))
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(got, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(data), "\n"), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// seenIn returns the commands of a script with what stands around them, and why an answer can be
// "maybe", in one line.
func seenIn(s *Script) string {
	var b strings.Builder
	for _, c := range s.Commands {
		flags, _ := c.Split()
		fmt.Fprintf(&b, "%q", append(append(c.Wrappers, texts([]*string{c.Name})...), texts(c.Argv[1:])...))
		for _, part := range []struct {
			name  string
			words []*string
		}{{" flags ", flags}, {" < ", c.Reads}, {" > ", c.Writes}} {
			if len(part.words) > 0 {
				fmt.Fprintf(&b, "%s%q", part.name, texts(part.words))
			}
		}
		for _, e := range c.Env {
			fmt.Fprintf(&b, " %s=%q", e.Name, texts([]*string{e.Value}))
		}
		fmt.Fprintf(&b, " %s; ", c.Via)
	}
	for _, u := range s.Unknowns {
		fmt.Fprintf(&b, "%s: %s; ", u.Program, u.Reason())
	}
	return fmt.Sprintf("%s%s %v", b.String(), s.Reason, s.Unknown)
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
