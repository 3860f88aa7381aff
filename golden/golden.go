package golden

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// Options select the cases to run. The zero value runs the cases of the plugins in the current
// folder.
type Options struct {
	// Paths name plugins, folders of plugins, folders of cases, or cases; PATH::NAME names one
	// case, and PATH::NAME/ROW one row of it. None means the plugins that Config names.
	Paths []string
	// Dir is the folder that Paths are relative to; "" means ".".
	Dir string
	// Config names the plugins if there are no Paths; its other settings are not used. Nil
	// means the built-in config.
	Config *loader.Config
	// Run selects the cases and rows whose name, such as "scripts/oncall::slow" or
	// "scripts/oncall::teams/checkout", matches; nil selects all.
	Run *regexp.Regexp
	// Update rewrites the want of cases whose output differs. Prune removes unused files and
	// variables from cases that pass otherwise, and cases without a plugin. Record first runs
	// the cases with real effects, and rewrites their effects.jsonl. All are errors if the
	// environment variable CI is set.
	Update, Prune, Record bool
	// Once runs each case once. This is quicker, and does not notice nondeterminism. It
	// excludes Update, Prune and Record, which rewrite a case only if two runs agree, and
	// Coverage, which accompanies two runs.
	Once bool
	// FailFast stops at the first case that fails, in the order of the results: later cases are
	// Skipped.
	FailFast bool
	// Jobs is the number of cases that run at the same time; zero or less means one for each
	// CPU. It does not change results.
	Jobs int
	// Coverage counts the lines of plugins that the cases run, in a further run of each case.
	// It does not change results.
	Coverage bool
	// Cache stores the compiled programs of plugins and cases beyond this run; nil means a new
	// cache.
	Cache *starlark.Cache
	// Plugins are Go plugins of the calling program. Each case's host gets them after the
	// case's own plugins.
	Plugins []starhost.Plugin
	// Hooks returns the function for the step hook, which sends an agent's event to a host's
	// plugins and returns the answer. Each case gets its own. Nil means that the program has no
	// adapters of agents.
	Hooks func(*host.Host) func(ctx context.Context, agent, event string) (out, stderr string, code int, err error)
	// Trusted reports whether the user trusts the files of a folder. Record runs real effects for
	// cases in other folders only if the grants of Config allow them, and without secrets, because
	// a case and its plugins could otherwise run any program. Nil trusts all folders.
	Trusted func(folder string) bool
	// Getenv returns environment variables: CI, and secrets for Record. Nil means an empty
	// environment.
	Getenv func(string) string
}

// A Status is the end of a case.
type Status string

// The statuses of a case.
const (
	Passed   Status = "passed"
	Failed   Status = "failed"
	Updated  Status = "updated"     // its want was rewritten
	Pruned   Status = "pruned"      // its unused parts were removed, or the whole case
	Recorded Status = "recorded"    // its effects.jsonl was rewritten
	Broken   Status = "not started" // its file could not be read
	Skipped  Status = "not run"     // FailFast stopped before it
)

// A Result is the result of one case, or of one row of it.
type Result struct {
	// Name names the case in the form of a PATH: "scripts/oncall::slow". A row's name follows:
	// "scripts/oncall::teams/checkout".
	Name string
	// File is the case's path for messages.
	File string
	// Line is the line of File that Text is about, the row's line for a row; 0 for a case that did
	// not fail.
	Line int
	// Prose is the case's description of the expected behaviour.
	Prose string
	// Input is the line of a row in rows.jsonl, at most 200 bytes of it; "" without rows.
	Input  string
	Status Status
	// Reason is the reason for a failure in one line; "" if the case did not fail.
	Reason string
	// Text is the full reason for a failure, or the accepted difference; "" if the case just
	// passed. It ends with a line break.
	Text string
}

// Details returns the Text of a case, and for a failed row its Input in front.
func (r *Result) Details() string {
	if r.Input != "" && r.Status == Failed {
		return "  row: " + r.Input + "\n" + r.Text
	}
	return r.Text
}

// fail records a failure. An empty reason means the first line of the text, and an empty text
// means the reason.
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
	// Passed and the other fields are the number of Results with this Status.
	Passed, Failed, Updated, Pruned, Recorded, Broken, Skipped int
	// Coverage is nil unless it was requested. Cases that failed count too.
	Coverage Coverage
}

// A UsageError reports options that make no sense.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Test runs cases, twice each unless o.Once is set, and compares their output with their want.
// A failing case is no error. The error is a *UsageError, the error of ctx, or the reason why
// no case could start.
func Test(ctx context.Context, o Options) (Summary, error) {
	if err := cmp.Or(o.checkCI(), o.checkOnce()); err != nil {
		return Summary{}, err
	}
	o.Dir = cmp.Or(o.Dir, ".")
	if o.Config == nil {
		o.Config, _, _ = loader.ParseConfig(loader.ConfigName, o.Dir, nil) // an empty config has no error
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
	cases, plugins := newCases(found), newPluginCache(o.Cache)
	o.forAll(cases, func(c *testCase) { c.read() })
	if cases, err = selectRows(cases, o.Run); err != nil {
		return Summary{}, err
	}
	o.forAll(cases, func(c *testCase) { c.prepare(plugins, temp) })
	cases = expandRows(cases)
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

// A flag is an option with its name on the command line.
type flag struct {
	name string
	set  bool
}

// rewriteFlags returns the options that rewrite cases.
func (o *Options) rewriteFlags() []flag {
	return []flag{{"--update", o.Update}, {"--prune", o.Prune}, {"--record", o.Record}}
}

// checkCI refuses to rewrite cases in CI, where no person checks the difference.
func (o *Options) checkCI() error {
	for _, f := range o.rewriteFlags() {
		if f.set && o.Getenv != nil && o.Getenv("CI") != "" {
			return &UsageError{fmt.Errorf("%s: got it with CI set, want it where a person looks at the difference", f.name)}
		}
	}
	return nil
}

// checkOnce refuses Once together with options that need two runs.
func (o *Options) checkOnce() error {
	for _, f := range append(o.rewriteFlags(), flag{"--coverage", o.Coverage}) {
		if f.set && o.Once {
			return &UsageError{fmt.Errorf("--once: got it with %s, want both runs for that", f.name)}
		}
	}
	return nil
}

// judgeAll judges the cases that ran, up to the first failure if FailFast is set, and edits
// their files.
func judgeAll(cases []*testCase, ran int, o *Options) Summary {
	s := Summary{Results: make([]Result, 0, len(cases))}
	judged := 0
	for _, rows := range splitFiles(cases[:ran]) {
		if o.FailFast && s.Failed+s.Broken > 0 {
			break
		}
		results, n := judgeFile(rows, o)
		for _, r := range results {
			s.add(r)
		}
		judged += n
	}
	for _, c := range cases[judged:] {
		s.add(Result{Name: c.id, File: c.file.Shown, Prose: c.prose, Status: Skipped})
	}
	return s
}

// Run runs the cases at dir, each as a subtest. Their hosts have further Go plugins.
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

// A count is the number of cases with a status.
type count struct {
	status Status
	n      *int
}

// counts returns all counts, in the order of the summary's text.
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

// Text describes the cases that have a Text, and counts all.
func (s *Summary) Text() string {
	var b strings.Builder
	for i := range s.Results {
		if r := &s.Results[i]; r.Text != "" {
			b.WriteString(r.describe() + "\n")
		}
	}
	return b.String() + s.String() + "\n"
}

// describe returns the case's heading, its prose and its Text.
func (r *Result) describe() string { return texttable.Escape(r.text()) }

func (r *Result) text() string {
	at := r.File
	if r.Status == Failed {
		at += ":" + strconv.Itoa(r.Line)
	}
	text := texttable.EscapeLine(fmt.Sprintf("%s %s (%s)", strings.ToUpper(string(r.Status)), r.Name, at)) + "\n"
	for line := range strings.Lines(r.Prose) {
		text += strings.TrimRight("  "+line, " \r\n") + "\n"
	}
	return text + r.Details()
}
