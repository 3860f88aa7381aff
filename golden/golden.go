package golden

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/starhost/starhost/loader"
)

// Options say which cases run. The zero value runs those of the plugins in the
// current folder.
type Options struct {
	// Paths name plugins, folders of plugins, folders of cases or cases; PATH::NAME
	// is the one case of that name. None means the plugins that Config names.
	Paths []string
	// Dir is what Paths are relative to; "" means ".".
	Dir string
	// Config says where plugins are if there are no Paths, and nothing else. Nil
	// means the built-in one.
	Config *loader.Config
	// Run selects the cases whose name, as "scripts/oncall::slow", matches; nil
	// means all.
	Run *regexp.Regexp
	// Update rewrites the want of cases that give something else. It is refused
	// where the environment variable CI is set.
	Update bool
	// Getenv returns environment variables: CI. Nil means an empty environment.
	Getenv func(string) string
	// Out receives failures, accepted differences and a last line that counts; nil
	// drops them.
	Out io.Writer
}

// A Status says how a case ended.
type Status string

// The statuses of a case.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Updated Status = "updated"     // its want was rewritten
	Broken  Status = "not started" // its file could not be read
)

// A Result is what became of one case.
type Result struct {
	// Name is the case as a PATH can name it: "scripts/oncall::slow".
	Name string
	// File is the case's path as messages show it.
	File string
	// Prose is what the case says must hold.
	Prose  string
	Status Status
	// Text says why the case did not pass, or shows what was accepted; "" if it
	// passed. It ends with a line break.
	Text string
}

// A Summary is the result of [Test].
type Summary struct {
	// Results are in the order of paths and names.
	Results []Result
	// Passed, Failed, Updated and Broken count them.
	Passed, Failed, Updated, Broken int
}

// A UsageError says that cases were asked for in a way that makes no sense.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Test runs cases twice each and compares what they give with what they want. A
// case that fails is no error: that is a *UsageError, of ctx, or of Out, or says
// that no case could start.
func Test(ctx context.Context, o Options) (Summary, error) {
	if o.Update && o.Getenv != nil && o.Getenv("CI") != "" {
		return Summary{}, &UsageError{errors.New("--update: got it with CI set, want it where a person looks at the difference")}
	}
	o.Dir = cmp.Or(o.Dir, ".")
	if o.Config == nil {
		o.Config, _, _ = loader.ParseConfig(loader.ConfigName, o.Dir, nil) // nothing is no mistake
	}
	found, err := find(&o)
	if err != nil {
		return Summary{}, err
	}
	temp, err := os.MkdirTemp("", "starhost-golden-")
	if err != nil {
		return Summary{}, err
	}
	defer os.RemoveAll(temp)
	var cases []*testCase
	plugins := pluginCache{}
	for _, l := range found {
		if o.Run == nil || o.Run.MatchString(l.id) {
			cases = append(cases, prepare(l, plugins, filepath.Join(temp, fmt.Sprint(len(cases)))))
		}
	}
	runAll(ctx, cases)
	if err := ctx.Err(); err != nil {
		return Summary{}, err
	}
	var s Summary
	for _, c := range cases {
		s.add(c.judge(o.Update))
	}
	return s, s.write(o.Out)
}

// Run runs the cases at dir, each as a subtest.
func Run(t *testing.T, dir string) {
	t.Helper()
	summary, err := Test(t.Context(), Options{Paths: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	if len(summary.Results) == 0 {
		t.Fatalf("%s: no golden cases", dir)
	}
	for _, r := range summary.Results {
		t.Run(r.Name, func(t *testing.T) {
			if r.Status != Passed {
				t.Error(r.describe())
			}
		})
	}
}

// runAll runs all cases twice: in order, and last first, two at a time.
func runAll(ctx context.Context, cases []*testCase) {
	for _, c := range cases {
		c.first = c.run(ctx, conditions{workers: 1})
	}
	queue := make(chan *testCase)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for c := range queue {
				c.second = c.run(ctx, conditions{workers: 2, lastFirst: true})
			}
		})
	}
	for i := range cases {
		queue <- cases[len(cases)-1-i]
	}
	close(queue)
	wg.Wait()
}

func (s *Summary) add(r Result) {
	s.Results = append(s.Results, r)
	switch r.Status {
	case Passed:
		s.Passed++
	case Updated:
		s.Updated++
	case Broken:
		s.Broken++
	default:
		s.Failed++
	}
}

// String counts the cases: "3 cases: 2 passed, 1 failed".
func (s *Summary) String() string {
	n := len(s.Results)
	text := fmt.Sprintf("%d cases", n)
	switch n {
	case 0:
		return "no cases"
	case 1:
		text = "1 case"
	}
	sep := ": "
	for _, c := range []struct {
		n      int
		status Status
	}{{s.Passed, Passed}, {s.Failed, Failed}, {s.Updated, Updated}, {s.Broken, Broken}} {
		if c.n > 0 {
			text += fmt.Sprintf("%s%d %s", sep, c.n, c.status)
			sep = ", "
		}
	}
	return text
}

func (s *Summary) write(w io.Writer) error {
	if w == nil {
		return nil
	}
	var b strings.Builder
	for i := range s.Results {
		if r := &s.Results[i]; r.Status != Passed {
			b.WriteString(r.describe() + "\n")
		}
	}
	b.WriteString(s.String() + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// describe shows a case that did not just pass, with its prose above what is to
// be said.
func (r *Result) describe() string {
	text := fmt.Sprintf("%s %s (%s)\n", strings.ToUpper(string(r.Status)), r.Name, r.File)
	for line := range strings.Lines(r.Prose) {
		text += strings.TrimRight("  "+line, " \r\n") + "\n"
	}
	return text + r.Text
}
