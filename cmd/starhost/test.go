package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/loader"
)

// testFlags are the flags of test.
type testFlags struct {
	run                   string
	jobs                  uint64
	update, prune, record bool
	once                  bool
	failFast, allowEmpty  bool
	watch                 bool
	coverage              coverageFlags
}

func (a *app) testCommand() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test [PATH...]",
		Short: "Run the golden cases of plugins",
		Long: `Run the golden cases of plugins, each twice: the files NAME/golden/*.txtar of a
plugin folder NAME, golden/NAME_*.txtar beside NAME.star. PATH::CASE is one case,
PATH::CASE/ROW one row of it.

--record runs programs and requests of plugins, with real secrets, in projects that
starhost trust names. In others it runs only the effects that your own config grants,
without secrets.

It exits with 1 if a case fails or there is none, with 3 if none could start. The
formats are pretty, json, junit, and github for annotations in GitHub Actions.`,
		Example: `  starhost test plugins
  starhost test plugins/oncall.star::oncall_restart`,
		RunE: func(cmd *cobra.Command, paths []string) error { return a.test(cmd.Context(), &f, paths) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.update, "update", false, "rewrite the expected output of the cases, and show the difference")
	flags.BoolVar(&f.prune, "prune", false, "remove unused files, variables, effects and events, and cases whose plugin is gone")
	flags.BoolVar(&f.record, "record", false, "run the cases with their real effects, if you trust the project, and rewrite their effects.jsonl")
	flags.StringVar(&f.run, "run", "", "run only cases whose name matches this `REGEXP`")
	flags.Uint64VarP(&f.jobs, "jobs", "j", uint64(runtime.GOMAXPROCS(0)),
		"run `N` cases at a time (default one for each CPU)")
	flags.Lookup("jobs").DefValue = "0" // the machine's number is in no page
	flags.BoolVar(&f.once, "once", false, "run each case once: quicker, but results that change between runs go unseen")
	flags.BoolVar(&f.failFast, "fail-fast", false, "stop at the first case that fails")
	flags.BoolVar(&f.allowEmpty, "allow-empty", false, "exit with 0 if there are no cases")
	flags.BoolVar(&f.watch, "watch", false, "run again whenever a file changes, until interrupted")
	f.coverage.add(flags)
	return cmd
}

// test runs the command.
func (a *app) test(ctx context.Context, f *testFlags, paths []string) error {
	prepareRun(ctx)
	if f.jobs == 0 {
		return usagef("--jobs: got 0, want a number from 1")
	}
	o := golden.Options{
		Dir: a.dir, Paths: paths, Update: f.update, Prune: f.prune, Record: f.record,
		Once: f.once, FailFast: f.failFast, Jobs: int(f.jobs),
		Getenv: a.getenv, Trusted: a.trustedFolders(), Coverage: f.coverage.isWanted(), Cache: a.cache,
		Hooks: caseHooks,
	}
	if err := f.coverage.check(); err != nil {
		return err
	}
	if f.run != "" {
		var err error
		if o.Run, err = regexp.Compile(f.run); err != nil {
			return usagef("--run: %v", err)
		}
	}
	if f.update || f.prune || f.record || f.coverage.out != "" {
		catchSignals(ctx)
	}
	if f.watch {
		return a.watchTests(ctx, f, o)
	}
	return a.testOnce(ctx, f, o)
}

// trustedFolders returns a function that reports whether a folder is in a project that the user
// trusts. It is safe for concurrent use.
func (a *app) trustedFolders() func(folder string) bool {
	var mu sync.Mutex
	known := map[string]bool{}
	return func(folder string) bool {
		mu.Lock()
		defer mu.Unlock()
		trusted, ok := known[folder]
		if !ok {
			trusted = a.isTrusted(folder)
			known[folder] = trusted
		}
		return trusted
	}
}

// isTrusted reports whether the user trusts the project of the nearest config in or above a folder,
// with its golden cases as they are.
func (a *app) isTrusted(folder string) bool {
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, loader.ConfigName)); err == nil {
			plan, err := loader.TrustOptions{Dir: dir, Getenv: a.getenv}.Plan()
			return err == nil &&
				(plan.State == loader.TrustedPath || plan.State == loader.Trusted && len(plan.Changes) == 0)
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// testOnce runs the cases and prints their results.
func (a *app) testOnce(ctx context.Context, f *testFlags, o golden.Options) error {
	var err error
	o.Config, a.warnings, err = a.loadConfig()
	var s golden.Summary
	if err == nil {
		s, err = golden.Test(ctx, o)
		err = testError(err)
	}
	a.addError(err)
	a.code = testCode(&s, f.allowEmpty)
	if err == nil {
		f.coverage.report(a, &s)
	}
	if err == nil && len(s.Results) == 0 && !f.allowEmpty {
		a.addError(noCases(f.run))
	}
	return a.printResult(testSummary{&s})
}

// A shortfallError reports that no case failed, and that the cases do not suffice.
type shortfallError struct{ msg, help string }

func (e *shortfallError) Error() string { return e.msg }

// Code returns "E0724".
func (e *shortfallError) Code() string { return shortfallCode }

const shortfallCode = "E0724"

// noCases reports that there is no case, or none that --run selects.
func noCases(run string) error {
	if run != "" {
		return &shortfallError{msg: "no case whose name matches --run " + errtext.Clip(run)}
	}
	return &shortfallError{msg: "no case", help: "a case is golden/NAME_CASE.txtar beside NAME.star: starhost docs golden"}
}

// couldNotTest reports whether a problem prevented the cases from running.
func (a *app) couldNotTest() bool {
	return slices.ContainsFunc(a.problems, func(p problem) bool { return p.code != shortfallCode })
}

// loadConfig reads the config.
func (a *app) loadConfig() (*loader.Config, []loader.Warning, error) {
	return loader.LoadConfig(a.configOptions())
}

// testError turns a usage error of package golden into one of the command line.
func testError(err error) error {
	var usage *golden.UsageError
	if !errors.As(err, &usage) {
		return err
	}
	var located *loader.Error
	if errors.As(err, &located) {
		return located
	}
	return usagef("%v", err)
}

// testCode returns the exit code of golden cases.
func testCode(s *golden.Summary, allowEmpty bool) int {
	switch n := len(s.Results); {
	case n == 0 && allowEmpty:
		return exitOK
	case n > 0 && s.Broken == n:
		return exitPlugin
	case s.Failed+s.Broken > 0 || n == 0:
		return exitNegative
	}
	return exitOK
}

// A testSummary is the result of test. If test finds no cases to run because of an error, only JSON
// prints a result.
type testSummary struct{ *golden.Summary }

func (s testSummary) WriteText(a *app) error {
	if !a.couldNotTest() {
		golden.WriteSummary(&a.out, s.Summary)
	}
	return nil
}

// testJSON is the JSON result of test.
type testJSON struct {
	Schema   string               `json:"schema"`
	OK       bool                 `json:"ok"`
	Cases    []golden.CaseJSON    `json:"cases"`
	Counts   golden.CountsJSON    `json:"counts"`
	Coverage *golden.CoverageJSON `json:"coverage"` // null without --coverage, unless --fail-under fails
	Warnings []warningJSON        `json:"warnings"`
	Errors   []errorJSON          `json:"errors"`
}

func (s testSummary) WriteJSON(a *app) error {
	cases, counts := golden.CasesJSON(s.Summary)
	return a.out.JSON(testJSON{
		Schema: "starhost.test/1", OK: len(a.problems) == 0 && a.code == exitOK, Cases: cases, Counts: counts,
		Coverage: golden.NewCoverageJSON(s.Coverage), Warnings: a.warningsJSON(), Errors: a.errorsJSON(),
	})
}

func (s testSummary) WriteJUnit(a *app) error {
	if a.couldNotTest() {
		return nil
	}
	return golden.WriteJUnit(&a.out, s.Summary, a.shortfalls())
}

func (s testSummary) WriteGitHub(a *app) error {
	if !a.couldNotTest() {
		golden.WriteGitHub(&a.out, s.Summary, a.shortfalls())
	}
	return nil
}

// shortfalls returns the problems of a run whose cases do not suffice.
func (a *app) shortfalls() (list []golden.Shortfall) {
	for i := range a.problems {
		list = append(list, golden.Shortfall{Message: a.problems[i].message, Text: a.problems[i].text()})
	}
	return list
}
