package main

import (
	"io"
	"sync/atomic"
	"time"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
)

// An Env is what a command has: the streams, the environment and the flags of all commands. Nothing
// changes it once the flags are parsed. A function gets a copy, which it may change for those that it
// calls.
type Env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	lookupEnv      func(string) (string, bool) // for plugins; nil means that no variable is set

	managed string // the path of the managed config; see managedConfig

	dir, config, output, format, logFormat string
	noConfig, quiet, verbose               bool
	colour                                 string // auto, always or never

	startTime   time.Time                // when the program, or an event of hook, arrived
	deadline    time.Duration            // for an answer of hook, counted from startTime
	cache       *starlark.Cache          // compiled plugins, which all rounds of the process share
	stores      *databases               // the opened and unopened databases of the run
	processes   *processes               // the hook processes of the run
	keepPicture func(id, content string) // keeps an attachment for the page; nil elsewhere
	inside      bool                     // other work of this process goes on beside the command
	lastGood    *goodSet                 // plugins for the page if those on the disk do not load; or nil
}

// fresh returns the Env with caches and databases of its own.
func (env Env) fresh() Env {
	env.cache, env.stores, env.processes = new(starlark.Cache), new(databases), new(processes)
	return env
}

// A Result is what a command made and found: a page that its value wrote, the warnings and problems,
// and the exit code. A command that fails in the middle leaves what it has.
type Result struct {
	out         page.Page        // see [Env.printResult]
	written     bool             // the file of -o has the result, or the command has none
	exact       bool             // out is for a program
	judges      bool             // out says what is wrong with plugins, for a person or CI
	code        int              // the exit code of a negative result, or of the first problem reported
	warnings    []loader.Warning // in the order of their report
	logs        []host.LogLine
	problems    []report.Problem
	undone      bool         // effects did not run without --allow-effects
	nobodyAsked *atomic.Bool // an approval was wanted, and nobody is at a terminal
	grantless   bool         // the command runs no effect, so that ignored grants change nothing
	loaded      *loader.Set  // the last set that loadWith loaded; or nil
	hook        *hookFlags   // nil for other commands; the failures of hook have their own exit codes
}

// A program is one run of starhost: the parser of flags writes its Env, and a command its Result.
type program struct {
	env Env
	res Result
}
