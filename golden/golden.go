package golden

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
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
	// Update rewrites the want of cases that give something else. Prune removes files
	// and variables that nothing looked at from cases that pass otherwise, and cases
	// whose plugin is gone. Record first runs the cases with the effects that they
	// have, and rewrites their effects.jsonl. All are refused where the environment
	// variable CI is set.
	Update, Prune, Record bool
	// Once runs each case once, which is quicker and does not see that a case gives now
	// this, now that. It excludes Update, Prune and Record, as a case is rewritten only
	// from two runs that agree, and Coverage, which counts only beside such runs.
	Once bool
	// FailFast stops at the first case that fails, in the order of the results: later
	// ones are Skipped.
	FailFast bool
	// Jobs is how many cases run at a time; zero or less means one for each CPU. It
	// changes no result.
	Jobs int
	// Coverage counts what the cases reach of their plugins, in a further run of each case.
	// It changes no result.
	Coverage bool
	// Cache remembers the compiled programs of plugins and cases beyond this run; nil
	// means one of its own.
	Cache *starlark.Cache
	// Plugins are a program's own, of Go: they are in the host of every case, after
	// those of the case.
	Plugins []starhost.Plugin
	// Getenv returns environment variables: CI, and secrets for Record. Nil means an
	// empty environment.
	Getenv func(string) string
}

// A Status says how a case ended.
type Status string

// The statuses of a case.
const (
	Passed   Status = "passed"
	Failed   Status = "failed"
	Updated  Status = "updated"     // its want was rewritten
	Pruned   Status = "pruned"      // unused parts of it were removed, or all of it
	Recorded Status = "recorded"    // its effects.jsonl was rewritten
	Broken   Status = "not started" // its file could not be read
	Skipped  Status = "not run"     // a case before it failed, and that was enough
)

// A Result is what became of one case.
type Result struct {
	// Name is the case as a PATH can name it: "scripts/oncall::slow".
	Name string
	// File is the case's path as messages show it.
	File string
	// Line is the line of File that Text is about; 0 for a case that did not fail.
	Line int
	// Prose is what the case says must hold.
	Prose  string
	Status Status
	// Reason says in one line why the case failed; "" if it did not.
	Reason string
	// Text says all about why the case failed, or shows what was accepted; "" if it
	// just passed. It ends with a line break.
	Text string
}

// fail notes why a case did not pass. The reason is the first line of the text if
// it is "", and the other way round.
func (r *Result) fail(line int, reason, text string) {
	r.Status, r.Line = Failed, line
	r.Text = cmp.Or(text, reason+"\n")
	first, _, _ := strings.Cut(text, "\n")
	r.Reason = cmp.Or(reason, first)
}

// A Summary is the result of [Test].
type Summary struct {
	// Results are in the order of paths and names.
	Results []Result
	// Passed and the others count them.
	Passed, Failed, Updated, Pruned, Recorded, Broken, Skipped int
	// Coverage is what the cases reached, if that was asked for; those that did not
	// run to their end count as well.
	Coverage Coverage
}

// A UsageError says that cases were asked for in a way that makes no sense.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Test runs cases, twice each unless they are to run once, and compares what they give
// with what they want. A case that fails is no error: that is a *UsageError, of ctx, or
// says that no case could start.
func Test(ctx context.Context, o Options) (Summary, error) {
	if err := cmp.Or(o.checkCI(), o.checkOnce()); err != nil {
		return Summary{}, err
	}
	o.Dir = cmp.Or(o.Dir, ".")
	if o.Config == nil {
		o.Config, _, _ = loader.ParseConfig(loader.ConfigName, o.Dir, nil) // nothing is no mistake
	}
	if o.Cache == nil {
		o.Cache = &starlark.Cache{}
	}
	found, err := findCases(&o)
	if err != nil {
		return Summary{}, err
	}
	temp, err := os.MkdirTemp("", "starhost-golden-")
	if err != nil {
		return Summary{}, err
	}
	defer os.RemoveAll(temp)
	if o.Run != nil {
		found = slices.DeleteFunc(found, func(l *caseFile) bool { return !o.Run.MatchString(l.id) })
	}
	cases, plugins := newCases(found), newPluginCache(o.Cache)
	list := splitChunks(cases)
	runParallel(o.jobCount(), len(list), func(i int) {
		for _, c := range list[i] {
			c.prepare(plugins, temp)
		}
	})
	if o.Record {
		if err := recordAll(ctx, cases, &o); err != nil {
			return Summary{}, err
		}
	}
	var coverage *starlark.Coverage
	if o.Coverage {
		coverage = &starlark.Coverage{}
	}
	ran, err := runAll(ctx, cases, &o, coverage)
	if err != nil {
		return Summary{}, err
	}
	s := judgeAll(cases, ran, &o)
	if o.Coverage {
		plugins.expectFiles(coverage)
		s.Coverage = coverageOf(coverage, o.Dir, temp)
	}
	return s, nil
}

// A flag is an option as the command line calls it.
type flag struct {
	name string
	set  bool
}

// rewriteFlags are the options that rewrite cases.
func (o *Options) rewriteFlags() []flag {
	return []flag{{"--update", o.Update}, {"--prune", o.Prune}, {"--record", o.Record}}
}

// checkCI refuses to rewrite cases where nobody looks at what is accepted.
func (o *Options) checkCI() error {
	for _, f := range o.rewriteFlags() {
		if f.set && o.Getenv != nil && o.Getenv("CI") != "" {
			return &UsageError{fmt.Errorf("%s: got it with CI set, want it where a person looks at the difference", f.name)}
		}
	}
	return nil
}

// checkOnce refuses a single run for what takes two.
func (o *Options) checkOnce() error {
	for _, f := range append(o.rewriteFlags(), flag{"--coverage", o.Coverage}) {
		if f.set && o.Once {
			return &UsageError{fmt.Errorf("--once: got it with %s, want both runs for that", f.name)}
		}
	}
	return nil
}

// judgeAll judges the cases that ran, up to the first that fails if that is
// enough, and mends them.
func judgeAll(cases []*testCase, ran int, o *Options) Summary {
	s := Summary{Results: make([]Result, 0, len(cases))}
	for _, c := range cases[:ran] {
		if o.FailFast && s.Failed+s.Broken > 0 {
			break
		}
		r, m := c.judge(o)
		m.apply(c, &r)
		s.add(r)
	}
	for _, c := range cases[len(s.Results):] {
		s.add(Result{Name: c.id, File: c.file.Shown, Prose: c.prose, Status: Skipped})
	}
	return s
}

// Run runs the cases at dir, each as a subtest, in hosts that have further plugins
// of Go.
func Run(t *testing.T, dir string, plugins ...starhost.Plugin) {
	t.Helper()
	summary, err := Test(t.Context(), Options{Paths: []string{dir}, Plugins: plugins})
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

func (s *Summary) add(r Result) {
	s.Results = append(s.Results, r)
	for _, c := range s.counts() {
		if c.status == r.Status {
			*c.n++
		}
	}
}

// A count is how many cases have a status.
type count struct {
	status Status
	n      *int
}

// counts returns all counts, in the order in which they are shown.
func (s *Summary) counts() []count {
	return []count{{Passed, &s.Passed}, {Failed, &s.Failed}, {Updated, &s.Updated}, {Pruned, &s.Pruned}, {Recorded, &s.Recorded}, {Broken, &s.Broken}, {Skipped, &s.Skipped}}
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
	for _, c := range s.counts() {
		if *c.n > 0 {
			text += fmt.Sprintf("%s%d %s", sep, *c.n, c.status)
			sep = ", "
		}
	}
	return text
}

// Text shows the cases that there is something to say about, and counts all.
func (s *Summary) Text() string {
	var b strings.Builder
	for i := range s.Results {
		if r := &s.Results[i]; r.Text != "" {
			b.WriteString(r.describe() + "\n")
		}
	}
	return b.String() + s.String() + "\n"
}

// describe shows a case that there is something to say about, with its prose above what is to
// be said.
func (r *Result) describe() string {
	text := fmt.Sprintf("%s %s (%s)\n", strings.ToUpper(string(r.Status)), r.Name, r.File)
	for line := range strings.Lines(r.Prose) {
		text += strings.TrimRight("  "+line, " \r\n") + "\n"
	}
	return text + r.Text
}
