package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/watch"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
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

func (p *program) testCommand() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:         "test [PATH...]",
		Annotations: formats("pretty json junit github"),
		Short:       "Run the golden cases of plugins",
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
		RunE: func(cmd *cobra.Command, paths []string) error {
			return runTest(cmd.Context(), p.env, &p.res, &f, paths)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.update, "update", false, "rewrite the expected output of the cases, and show the difference")
	flags.BoolVar(&f.prune, "prune", false, "remove unused files, variables, effects and events, and cases whose plugin is gone")
	flags.BoolVar(&f.record, "record", false, "run the cases with their real effects, if you trust the project, and rewrite their effects.jsonl")
	flags.StringVar(&f.run, "run", "", "run only cases whose name matches this `REGEXP`")
	flags.Uint64VarP(&f.jobs, "jobs", "j", uint64(runtime.GOMAXPROCS(0)),
		"run `N` cases at a time (default one for each CPU)")
	flags.Lookup("jobs").DefValue = "0" // the number of processors of this machine belongs in no page
	flags.BoolVar(&f.once, "once", false, "run each case once: quicker, but results that change between runs go unseen")
	flags.BoolVar(&f.failFast, "fail-fast", false, "stop at the first case that fails")
	flags.BoolVar(&f.allowEmpty, "allow-empty", false, "exit with 0 if there are no cases")
	flags.BoolVar(&f.watch, "watch", false, "run again whenever a file changes, until interrupted")
	f.coverage.add(flags)
	return cmd
}

// runTest runs the command.
func runTest(ctx context.Context, env Env, res *Result, f *testFlags, paths []string) error {
	prepareRun(ctx)
	if f.jobs == 0 {
		return usagef("--jobs: got 0, want a number from 1")
	}
	o := golden.Options{
		Dir: env.dir, Paths: paths, Update: f.update, Prune: f.prune, Record: f.record,
		Once: f.once, FailFast: f.failFast, Jobs: int(f.jobs),
		Getenv: env.getenv, Trusted: loader.TrustedFolders(env.getenv), Coverage: f.coverage.isWanted(), Cache: env.cache,
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
		return watchTests(ctx, env, res, f, o)
	}
	return testOnce(ctx, env, res, f, o)
}

// testOnce runs the cases and prints their results.
func testOnce(ctx context.Context, env Env, res *Result, f *testFlags, o golden.Options) error {
	var err error
	o.Config, res.warnings, err = env.readConfig(true)
	var s golden.Summary
	if err == nil {
		s, err = golden.Test(ctx, o)
		err = testError(err)
	}
	res.addError(err)
	res.code = testCode(&s, f.allowEmpty)
	if err == nil {
		f.coverage.report(env, res, &s)
	}
	if err == nil && len(s.Results) == 0 && !f.allowEmpty {
		res.addError(noCases(f.run))
	}
	return env.printResult(res, testSummary{&s})
}

// A shortfallError says why the cases do not suffice, although none failed.
type shortfallError struct{ msg, help string }

func (e *shortfallError) Error() string { return e.msg }

// Help returns advice, or "" for none.
func (e *shortfallError) Help() string { return e.help }

// Code returns "E0724".
func (e *shortfallError) Code() string { return shortfallCode }

const shortfallCode = "E0724"

// noCases returns the error that there is no case, or no case that --run selects.
func noCases(run string) error {
	if run != "" {
		return &shortfallError{msg: "no case whose name matches --run " + errtext.Clip(run)}
	}
	return &shortfallError{msg: "no case", help: "a case is golden/NAME_CASE.txtar beside NAME.star: starhost docs golden"}
}

// couldNotTest reports whether a problem prevented cases from running.
func (res *Result) couldNotTest() bool {
	return slices.ContainsFunc(res.problems, func(p report.Problem) bool { return p.Code != shortfallCode })
}

// testError turns a usage error of package golden into a usage error of the command line.
func testError(err error) error {
	if _, ok := errors.AsType[*golden.UsageError](err); !ok {
		return err
	}
	if located, ok := errors.AsType[*loader.Error](err); ok {
		return located
	}
	return usagef("%v", err)
}

// testCode returns the exit code for the results of golden cases.
func testCode(s *golden.Summary, allowEmpty bool) int {
	switch n := len(s.Results); {
	case n == 0 && allowEmpty:
		return report.ExitOK
	case n > 0 && s.Broken == n:
		return report.ExitPlugin
	case s.Failed+s.Broken > 0 || n == 0:
		return report.ExitNegative
	}
	return report.ExitOK
}

// A testSummary is the result of test. If an error prevents test from finding cases, only JSON prints a
// result.
type testSummary struct{ *golden.Summary }

func (s testSummary) WriteText(res *Result) {
	if !res.couldNotTest() {
		golden.WriteSummary(&res.out, s.Summary)
	}
}

func (s testSummary) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.test/1"), members{
		"cases": append([]golden.Result{}, s.Results...), "counts": s.Counts,
		"coverage": golden.NewCoverageJSON(s.Coverage), // null without --coverage, unless --fail-under fails
	}, res.tail())
}

func (s testSummary) WriteJUnit(res *Result) error {
	if res.couldNotTest() {
		return nil
	}
	return golden.WriteJUnit(&res.out, s.Summary, res.shortfalls())
}

func (s testSummary) WriteGitHub(res *Result) {
	if !res.couldNotTest() {
		golden.WriteGitHub(&res.out, s.Summary, res.shortfalls())
	}
}

// shortfalls returns the reasons why the cases of a run do not suffice.
func (res *Result) shortfalls() []golden.Shortfall {
	return jsontext.List(res.problems, func(p *report.Problem) golden.Shortfall {
		return golden.Shortfall{Message: p.Message, Text: p.Text()}
	})
}

// watchTests runs the cases, and runs them again whenever a case, a plugin or the config changes, until ctx
// ends. The end of ctx is no error.
func watchTests(ctx context.Context, env Env, res *Result, f *testFlags, o golden.Options) error {
	w, err := watch.New()
	if err != nil {
		return err
	}
	defer w.Close()
	return env.rounds(ctx, res, w, func(round *Result) error {
		in := testInputs(env, o.Paths)
		if err := w.Inputs(in.Files, in.Folders); err != nil {
			return err
		}
		round.addError(testOnce(ctx, env, round, f, o))
		if ctx.Err() == nil {
			env.end(round)
		}
		return nil
	})
}

// testInputs returns the files that the results depend on: the config, and the plugins and cases at the
// arguments or, without arguments, at the config's paths.
func testInputs(env Env, args []string) loader.Inputs {
	in := loader.Inputs{Files: []string{env.path(loader.ConfigName), env.path(env.config)}}
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "::")
		golden.AddInputs(&in, env.path(name))
	}
	config, _, err := env.readConfig(true)
	if err != nil {
		return in // the run will report the error
	}
	if len(args) == 0 {
		paths, _ := config.Paths(env.dir, nil) // the run will report the error
		for _, p := range paths {
			golden.AddInputs(&in, p.Real)
		}
	}
	for _, library := range config.Libraries {
		in.Folders = append(in.Folders, library.Real)
	}
	return in
}

// coverageFlags are the flags of test about coverage.
type coverageFlags struct {
	show      bool
	out       string
	failUnder uint64
}

func (f *coverageFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.show, "coverage", false, "show which lines and branches of plugins the cases reach")
	flags.StringVar(&f.out, "coverage-out", "", "write the coverage to a `FILE` as lcov's tracefiles have it")
	flags.Uint64Var(&f.failUnder, "fail-under", 0, "exit with 1 if the cases reach less than `N` percent of the lines")
}

// check returns an error for a limit over 100 percent.
func (f *coverageFlags) check() error {
	if f.failUnder > 100 {
		return usagef("--fail-under: got %d, want percent: at most 100", f.failUnder)
	}
	return nil
}

// isWanted reports whether a flag asks for coverage.
func (f *coverageFlags) isWanted() bool { return f.show || f.out != "" || f.failUnder > 0 }

// report writes the coverage file. If the coverage is below --fail-under, it makes the run fail.
func (f *coverageFlags) report(env Env, res *Result, s *golden.Summary) {
	if f.out != "" {
		res.addError(errtext.File(f.out, writeChanged(env.path(f.out), s.Coverage.LCOV())))
	}
	below := s.Coverage.IsBelow(float64(f.failUnder))
	if below {
		res.addError(&shortfallError{msg: fmt.Sprintf("covered %s of the lines, want %d %% (--fail-under)", golden.Percent(s.Coverage.CountLines()), f.failUnder)})
	}
	if !f.show && !below {
		s.Coverage = nil
	}
}

// writeChanged writes a file, unless the file has the same text already, because --watch may watch it.
func writeChanged(name, text string) error {
	if old, err := disk.Read(name); err == nil && string(old) == text {
		return nil
	}
	return disk.Replace(name, []byte(text), 0o666)
}
