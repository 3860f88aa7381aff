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
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// Options select the cases to run. The zero value runs the cases of the plugins in the current
// folder.
type Options struct {
	// Paths name plugins, folders of plugins, folders of cases, or cases. PATH::NAME names one case, and
	// PATH::NAME/ROW one row of a case. No Paths means the plugins that Config names.
	Paths []string
	// Dir is the folder that Paths are relative to; "" means ".".
	Dir string
	// Config names the plugins if there are no Paths. Test uses no other setting of it. Nil means the
	// built-in config.
	Config *loader.Config
	// Run selects the cases and rows whose name, such as "scripts/oncall::slow" or
	// "scripts/oncall::teams/checkout", matches; nil selects all.
	Run *regexp.Regexp
	// Update rewrites the want of cases whose output differs. Prune removes unused files and variables from
	// cases that pass otherwise, and removes cases without a plugin. Record first runs the cases with real
	// effects, and rewrites their effects.jsonl. All three are errors if the environment variable CI is set.
	Update, Prune, Record bool
	// Once runs each case once. A run is then quicker, but does not notice nondeterminism. Once cannot go
	// with Update, Prune and Record, because they rewrite a case only if two runs agree, nor with Coverage,
	// which needs two runs.
	Once bool
	// FailFast stops at the first case that fails, in the order of the results. All later cases are Skipped.
	FailFast bool
	// Jobs is the number of cases that run at the same time. Zero or less means one for each CPU. The number
	// changes no results.
	Jobs int
	// Coverage counts the lines of plugins that the cases run, in a third run of each case. It changes no
	// results.
	Coverage bool
	// Cache stores the compiled programs of plugins and cases beyond this run; nil means a new
	// cache.
	Cache *starlark.Cache
	// Plugins are Go plugins of the program that calls Test. The host of each case loads them after the
	// case's own plugins.
	Plugins []starhost.Plugin
	// Hooks returns the function for the step hook of one case. The function sends an agent's event to the
	// plugins of a host and returns the answer. If Hooks is nil, the program has no adapters of agents, and
	// the step fails.
	Hooks func(*host.Host) func(ctx context.Context, agent, event string) (out, stderr string, code int, err error)
	// Trusted reports whether the user trusts the files of a folder. Record runs real effects for
	// cases in other folders only if the grants of Config allow them, and without secrets, because
	// a case and its plugins could otherwise run any program. Nil trusts all folders.
	Trusted func(folder string) bool
	// Getenv returns the values of environment variables: of CI, and of secrets for Record. Nil means an
	// empty environment.
	Getenv func(string) string
}

// A Status says how a case ended.
type Status string

// The statuses of a case.
const (
	Passed   Status = "passed"
	Failed   Status = "failed"
	Updated  Status = "updated"     // Update rewrote the case's want
	Pruned   Status = "pruned"      // Prune removed unused parts of the case, or the whole case
	Recorded Status = "recorded"    // Record rewrote the case's effects.jsonl
	Broken   Status = "not started" // the system could not read the case's file
	Skipped  Status = "not run"     // FailFast stopped the run before this case
)

// MarshalText returns the status in the form of JSON, without spaces.
func (s Status) MarshalText() ([]byte, error) {
	return []byte(strings.ReplaceAll(string(s), " ", "_")), nil
}

// A Result is the result of one case, or of one row of it.
type Result struct {
	// Name names the case in the form of a path: "scripts/oncall::slow". For a row, the row's name follows:
	// "scripts/oncall::teams/checkout".
	Name string `json:"name"`
	// File is the path of the case's file, for messages.
	File string `json:"file"`
	// Line is the line of File that Text is about; for a row it is the row's line. It is 0 for a case that
	// did not fail.
	Line int `json:"line"`
	// Prose is the case's description of the expected behaviour.
	Prose string `json:"prose"`
	// Input is the line of the row in rows.jsonl, cut to 200 bytes; "" for a case without rows.
	Input  string `json:"input"`
	Status Status `json:"status"`
	// Reason says in one line why the case failed; "" if it did not.
	Reason string `json:"reason"`
	// Text says in full why the case failed, or shows the difference that Update accepted; "" if the case
	// just passed. It ends with a line break.
	Text string `json:"text"`
}

// Details returns Text. For a row that failed, Input comes before it.
func (r *Result) Details() string {
	if r.Input != "" && r.Status == Failed {
		return "  row: " + r.Input + "\n" + r.Text
	}
	return r.Text
}

// fail makes r a failure. If reason is empty, it becomes the first line of text. If text is empty, it becomes
// reason.
func (r *Result) fail(line int, reason, text string) {
	r.Status, r.Line = Failed, line
	r.Text = cmp.Or(text, reason+"\n")
	first, _, _ := strings.Cut(text, "\n")
	r.Reason = cmp.Or(reason, first)
}

// A Summary is the result of [Test].
type Summary struct {
	// Results has one Result for each case or row, in the order of paths and names.
	Results []Result
	Counts
	// Coverage is nil unless Options.Coverage is set. The lines that failed cases ran count too.
	Coverage Coverage
}

// Counts are the numbers of the Results with each status.
type Counts struct {
	Passed   int `json:"passed"`
	Failed   int `json:"failed"`
	Updated  int `json:"updated"`
	Pruned   int `json:"pruned"`
	Recorded int `json:"recorded"`
	Broken   int `json:"not_started"`
	Skipped  int `json:"not_run"`
}

// A UsageError reports options that exclude each other or name nothing.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

// Test runs each case twice, or once if o.Once is set, and compares the output with the case's want. A case
// that fails is no error. The error is a *UsageError, the error of ctx, or the reason why no case could
// start.
func Test(ctx context.Context, o Options) (Summary, error) {
	if err := cmp.Or(o.checkCI(), o.checkOnce()); err != nil {
		return Summary{}, err
	}
	o.Dir = cmp.Or(o.Dir, ".")
	if o.Config == nil {
		o.Config, _, _ = loader.ParseConfig(loader.ConfigName, o.Dir, nil) // no error, because the config is empty
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

// A flag is an option together with the name of its flag on the command line.
type flag struct {
	name string
	set  bool
}

// rewriteFlags returns the options that rewrite cases, with their values.
func (o *Options) rewriteFlags() []flag {
	return []flag{{"--update", o.Update}, {"--prune", o.Prune}, {"--record", o.Record}}
}

// checkCI refuses to rewrite cases in CI, where no person checks the difference.
func (o *Options) checkCI() error {
	for _, f := range o.rewriteFlags() {
		if f.set && o.Getenv != nil && o.Getenv("CI") != "" {
			return &UsageError{errtext.Errorf("%s: got it with CI set, want it where a person looks at the difference", f.name)}
		}
	}
	return nil
}

// checkOnce refuses Once together with options that need two runs.
func (o *Options) checkOnce() error {
	for _, f := range append(o.rewriteFlags(), flag{"--coverage", o.Coverage}) {
		if f.set && o.Once {
			return &UsageError{errtext.Errorf("--once: got it with %s, want both runs for that", f.name)}
		}
	}
	return nil
}

// judgeAll judges the cases that ran, and edits their files. If FailFast is set, it stops at the first
// failure.
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

// Run runs the cases at dir, each as a subtest of t. The host of each case also loads the given Go plugins.
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

// Text describes each case that has a Text, and then counts all cases.
func (s *Summary) Text() string {
	var b strings.Builder
	for i := range s.Results {
		if r := &s.Results[i]; r.Text != "" {
			b.WriteString(r.describe() + "\n")
		}
	}
	return b.String() + s.String() + "\n"
}

// describe returns the heading, the prose and the Text of a case.
func (r *Result) describe() string { return texttable.Escape(r.text()) }

func (r *Result) text() string {
	at := r.File
	if r.Status == Failed {
		at += ":" + strconv.Itoa(r.Line)
	}
	text := texttable.EscapeLine(fmt.Sprintf("%s %s (%s)", strings.ToUpper(string(r.Status)), r.Name, at)) + "\n"
	for line := range strings.Lines(errtext.CutTo(r.Prose, 2000, " …")) {
		text += strings.TrimRight("  "+line, " \r\n") + "\n"
	}
	return text + r.Details()
}
