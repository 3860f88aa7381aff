package main

import (
	"cmp"
	"io"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/programs"
	"github.com/starhost/starhost/starlark"
)

// An Env is what a command gets: the streams, the environment and the flags that all commands have. After the
// flags are parsed, nobody changes it. A function gets a copy, and may change it for the functions that it
// calls.
type Env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	lookupEnv      func(string) (string, bool) // returns variables for plugins; nil means that none is set

	managed string // the path of the managed config; see managedConfig

	dir, config, output, format, logFormat string
	noConfig, quiet, verbose               bool
	colour                                 string // the value of --colour: auto, always or never

	startTime   time.Time                // when the program began, or when an event of hook arrived
	deadline    time.Duration            // the time that hook has for an answer, from startTime on
	cache       *starlark.Cache          // compiled plugins, for all rounds of the process
	stores      *databases               // the databases of the run, open or not
	processes   *programs.Processes      // the hook processes of the run
	keepPicture func(id, content string) // stores an attachment for the page; nil elsewhere
	inside      bool                     // true if the process does other work beside the command
	lastGood    *goodSet                 // plugins that the page shows if those on the disk do not load; or nil
}

// fresh returns a copy of the Env with its own caches and databases.
func (env Env) fresh() Env {
	env.cache, env.stores, env.processes = new(starlark.Cache), new(databases), new(programs.Processes)
	return env
}

// A Result is what a command made and found: a page with the result, the warnings and problems, and the exit
// code. If a command fails in the middle, the Result has what there is so far.
type Result struct {
	out         page.Page        // the result; see Env.printResult
	written     bool             // nothing is left to write: -o has the result, or there is none
	exact       bool             // true if a program will read out
	judges      bool             // true if out says what is wrong with plugins, for a person or CI
	code        int              // the exit code of a negative result, or of the first problem that was reported
	warnings    []loader.Warning // in the order in which they were reported
	logs        []host.LogLine
	problems    []report.Problem
	undone      bool         // true if effects did not run without --allow-effects
	nobodyAsked *atomic.Bool // true if somebody had to approve and nobody is at a terminal
	grantless   bool         // true if the command runs no effect, so that grants change nothing
	loaded      *loader.Set  // the set that was loaded last; or nil
	hook        *hookFlags   // the flags of hook, whose failures have exit codes of their own; nil for other commands
}

// A program is one run of starhost. The parser of flags writes to its Env, and a command writes to its
// Result.
type program struct {
	env    Env
	res    Result
	args   []string                                      // the command line
	chosen func(cmd *cobra.Command, args []string) error // runs the command that the parser found; nil for help
}

const (
	colourVariable = "STARHOST_COLOR"
	logVariable    = "STARHOST_LOG"
)

// readEnvironment sets colours and the level of logs from the environment, unless flags set them.
func (p *program) readEnvironment(cmd *cobra.Command) error {
	var level string
	for _, v := range []struct {
		name   string
		values []string
		to     *string
	}{
		{colourVariable, []string{"auto", "always", "never"}, &p.env.colour},
		{logVariable, []string{"info", "quiet", "debug"}, &level},
	} {
		value := cmp.Or(p.env.getenv(v.name), v.values[0])
		if err := checkChoice(v.name, value, v.values, v.to); err != nil {
			return err
		}
	}
	if !cmd.Flags().Changed("quiet") && !cmd.Flags().Changed("verbose") {
		p.env.quiet, p.env.verbose = level == "quiet", level == "debug"
	}
	return nil
}
