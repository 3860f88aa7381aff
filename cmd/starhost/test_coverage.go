package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
)

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

// check refuses a limit over 100 percent.
func (f *coverageFlags) check() error {
	if f.failUnder > 100 {
		return usagef("--fail-under: got %d, want percent: at most 100", f.failUnder)
	}
	return nil
}

// isWanted reports whether a flag asks for coverage.
func (f *coverageFlags) isWanted() bool { return f.show || f.out != "" || f.failUnder > 0 }

// report writes the coverage file, and fails the run if the coverage is below --fail-under.
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

// writeChanged writes a file unless it has the same text, because --watch may watch it.
func writeChanged(name, text string) error {
	if old, err := disk.Read(name); err == nil && string(old) == text {
		return nil
	}
	return disk.Replace(name, []byte(text), 0o666)
}
