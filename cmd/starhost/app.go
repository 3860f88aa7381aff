package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// An app is one run of the program: its streams, the flags that all commands have, and the
// result and diagnostics so far.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	lookupEnv      func(string) (string, bool) // for plugins; nil means that no variable is set

	managed string // the path of the managed config; see managedConfig

	dir, config, output, format, logFormat string
	noConfig, quiet, verbose               bool
	colour                                 string // auto, always or never

	cache       *starlark.Cache          // compiled plugins; see programCache
	startTime   time.Time                // when the program, or an event of hook, arrived
	deadline    time.Duration            // for an answer of hook, counted from startTime
	stores      *databases               // the opened and unopened databases of the run
	processes   *processes               // the hook processes of the run
	keepPicture func(id, content string) // keeps an attachment for the page; nil elsewhere
	inside      bool                     // other work of this process goes on beside the command
	lastGood    *goodSet                 // plugins for the page if those on the disk do not load; or nil
	loaded      *loader.Set              // the last set that loadWith loaded; or nil
	hook        *hookFlags               // nil for other commands; the failures of hook have their own exit codes
	out         page.Page                // the command's result
	written     bool                     // the file of -o has the result
	exact       bool                     // out is for a program
	code        int                      // the exit code of a negative result, or of the first problem reported
	warnings    []loader.Warning         // in the order of their report
	logs        []host.LogLine
	problems    []problem
	undone      bool         // effects did not run without --allow-effects
	nobodyAsked *atomic.Bool // an approval was wanted, and nobody is at a terminal
	grantless   bool         // the command runs no effect, so that ignored grants change nothing
}

// execute runs the command that args ask for, and returns its name. It returns a panic as an
// error.
func (a *app) execute(ctx context.Context, args []string) (name string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p, stack: debug.Stack()}
		}
	}()
	root := a.rootCommand(args)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	for cmd.HasParent() && cmd.Parent() != root {
		cmd = cmd.Parent()
	}
	return cmd.Name(), err
}

// addError adds an error to the report, or each error that it joins. It adds an error once, even if
// several plugins load the file with the mistake.
func (a *app) addError(err error) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			a.addError(e)
		}
	} else if err != nil {
		if aborted, ok := errors.AsType[*host.AbortError](err); ok && aborted.Lost != nil && len(a.problems) > 0 {
			return // loading has reported the guard
		}
		p := describe(err)
		a.moveHere(&p, err)
		if !slices.ContainsFunc(a.problems, p.isSame) {
			a.problems = append(a.problems, p)
		}
	}
}

// end writes the result, then the diagnostics, and returns the exit code, which is the code of
// the first problem.
func (a *app) end() int {
	// From now on a closed pipe is an error. Programs that plugins run would inherit this, but
	// none starts any more.
	signal.Ignore(syscall.SIGPIPE)
	if err := a.writeResult(); err != nil {
		a.addError(err)
	}
	a.report()
	return a.code
}

// report writes the diagnostics so far and forgets them, except the exit code.
func (a *app) report() {
	if !a.quiet {
		for _, w := range a.relevantWarnings() {
			fmt.Fprintf(a.stderr, "warning: %s\n", texttable.Hang(w.String()))
		}
		a.writeLogs()
	}
	for i := range a.problems {
		p := &a.problems[i]
		page.WriteColoured(a.stderr, page.Red, p.text(), a.wantsColour(a.stderr))
		if p.stack != nil && a.verbose {
			a.stderr.Write(p.stack)
		}
	}
	if len(a.problems) > 0 {
		a.code = a.problems[0].exit
	}
	if !a.quiet && a.format != "json" {
		if a.undone {
			fmt.Fprintln(a.stderr, "help: effects that outlive the run did not run: --allow-effects runs them")
		}
		if a.nobodyAsked != nil && a.nobodyAsked.Load() {
			fmt.Fprintln(a.stderr, "help: nobody is at a terminal to approve: --approve auto says yes")
		}
	}
	a.undone, a.nobodyAsked = false, nil
	a.warnings, a.logs, a.problems = nil, nil, nil
}

// relevantWarnings returns the warnings without those that mean nothing for this command.
func (a *app) relevantWarnings() []loader.Warning {
	return slices.DeleteFunc(slices.Clone(a.warnings), func(w loader.Warning) bool {
		return a.grantless && w.Notice == "grant"
	})
}

// writeResult writes the result to standard output, or to the file of -o.
func (a *app) writeResult() error {
	if a.written {
		return nil
	}
	if a.output == "" {
		if a.out.Len() == 0 {
			return nil // even an empty write can block or fail
		}
		return wrapFileError("standard output", a.showResult())
	}
	if a.out.Len() == 0 && len(a.problems) > 0 {
		return nil // the command failed: leave the file as it was
	}
	return wrapFileError(a.output, disk.Replace(a.path(a.output), a.resultBytes(), 0o666))
}

// path returns the path of a file that an argument names, as the system needs it.
func (a *app) path(name string) string { return loader.NewPath(a.dir, name).Real }

// readText returns the text of the file that an argument names. The name "-" stands for
// standard input.
func (a *app) readText(name string) (string, error) {
	in := a.stdin
	if name != "-" {
		f, err := disk.Open(a.path(name))
		if err != nil {
			return "", wrapFileError(name, err)
		}
		defer f.Close()
		in = f
	}
	data, err := disk.ReadAll(in)
	if errors.Is(err, disk.ErrSize) {
		return "", usagef("%s: %v", name, err)
	}
	return string(data), wrapFileError(name, err)
}

// addLog adds a line that a handler logged. Loaders log at the same time, but the host calls
// addLog for one line after another.
func (a *app) addLog(line host.LogLine) { a.logs = append(a.logs, line) }

// writeLogs writes the lines that handlers logged, except lines that the report of errors
// repeats, and except debug lines without -v.
func (a *app) writeLogs() {
	inReport := map[string]bool{}
	for _, p := range a.problems {
		inReport[p.logged] = true
	}
	for _, line := range a.logs {
		if inReport[line.Plugin+" "+line.Text] || line.Level == "debug" && !a.verbose {
			continue
		}
		a.writeLog(line)
	}
}

func (a *app) writeLog(line host.LogLine) {
	if a.logFormat == "json" {
		_ = jsontext.Write(a.stderr, struct {
			Level   string          `json:"level"`
			Plugin  string          `json:"plugin"`
			Message string          `json:"msg"`
			Pos     string          `json:"pos"`
			Fields  json.RawMessage `json:"fields,omitempty"`
		}{line.Level, line.Plugin, line.Text, a.fromHere(line.Pos).String(), line.Fields})
		return
	}
	fields := ""
	if len(line.Fields) > 0 {
		fields = " " + string(line.Fields)
	}
	text := line.Text
	if !a.verbose {
		text = errtext.CutTo(text, maxLogged, fmt.Sprintf("... (%d B, -v shows all)", len(text)))
	}
	text = fmt.Sprintf("%s: %s: %s%s (%s)", line.Level, line.Plugin, text, fields, a.fromHere(line.Pos))
	fmt.Fprintln(a.stderr, texttable.Hang(text))
}

// maxLogged is the limit in bytes for a log line on standard error without -v.
const maxLogged = 2000

// failureJSON is the JSON result of a command that could not begin.
type failureJSON struct {
	Schema string      `json:"schema"`
	OK     bool        `json:"ok"`
	Errors []errorJSON `json:"errors"`
}

// printFailure prints the problems of a command that could not begin.
func (a *app) printFailure(command string) error {
	return a.out.JSON(failureJSON{Schema: "starhost." + cmp.Or(command, "starhost") + "/1", Errors: a.errorsJSON()})
}

// asksJSON reports whether a command line asks for JSON, even if its flags are wrong.
func asksJSON(args []string) bool {
	for i, arg := range args {
		if arg == "-Fjson" || arg == "--format=json" {
			return true
		}
		if arg == "json" && i > 0 && (args[i-1] == "-F" || args[i-1] == "--format") {
			return true
		}
	}
	return false
}
