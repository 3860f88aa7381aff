package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// An app is one run of the program: its streams, the flags that all commands
// have, and what it has to say at its end.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string

	dir, config, output, format, logFormat string
	noConfig, noCache, quiet, verbose      bool

	write     func(*app, any) error // adds a result to out in the chosen format
	cache     *starlark.Cache       // of this run; see programs
	startTime time.Time             // when the program, and so an event of hook, arrived
	deadline  time.Duration         // of an answer of hook, from then on
	hook      *hookFlags            // of a hook, whose failures have exit codes of their own
	out       bytes.Buffer          // the command's result
	code      int                   // to exit with: of a negative result, or of the first problem reported
	warnings  []loader.Warning      // in the order of their report
	logs      []starhost.LogLine
	problems  []problem
}

// execute runs the command that args ask for, and returns its name. A panic is an
// error like others.
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

// addError takes an error, or each of those that it joins, for the report.
func (a *app) addError(err error) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			a.addError(e)
		}
	} else if err != nil {
		a.problems = append(a.problems, describe(err))
	}
}

// end writes the result, then the diagnostics, and returns the exit code: that
// of the first problem.
func (a *app) end() int {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error, and no program that plugins run inherits it now
	if err := a.writeResult(); err != nil {
		a.addError(err)
	}
	a.report()
	return a.code
}

// report writes the diagnostics so far, and forgets them but for the exit code.
func (a *app) report() {
	if !a.quiet {
		for _, w := range a.warnings {
			fmt.Fprintf(a.stderr, "warning: %s\n", w)
		}
		a.writeLogs()
	}
	for i := range a.problems {
		p := &a.problems[i]
		io.WriteString(a.stderr, a.colour(a.stderr, red, p.text()))
		if p.stack != nil && a.verbose {
			a.stderr.Write(p.stack)
		}
	}
	if len(a.problems) > 0 {
		a.code = a.problems[0].exit
	}
	a.warnings, a.logs, a.problems = nil, nil, nil
}

// writeResult writes what the command printed to where it belongs.
func (a *app) writeResult() error {
	if a.output == "" {
		if a.out.Len() == 0 {
			return nil // a write of nothing can block, and can fail
		}
		_, err := a.stdout.Write(a.out.Bytes())
		return wrapFileError("standard output", err)
	}
	if a.out.Len() == 0 && len(a.problems) > 0 {
		return nil // nothing came out: leave the file as it was
	}
	return wrapFileError(a.output, effects.ReplaceFile(a.path(a.output), a.out.Bytes(), 0o666))
}

// path returns where a file is that an argument names.
func (a *app) path(name string) string { return loader.NewPath(a.dir, name).Real }

// maxInput is the most bytes of a file or stream that an argument names: a prompt,
// arguments, a request.
const maxInput = 16 << 20

// readText returns the text of the file that an argument names, "-" for standard
// input.
func (a *app) readText(name string) (string, error) {
	in := a.stdin
	if name != "-" {
		f, err := os.Open(a.path(name))
		if err != nil {
			return "", wrapFileError(name, err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err != nil {
		return "", wrapFileError(name, err)
	}
	if len(data) > maxInput {
		return "", usagef("%s: got more than %d bytes, want less", name, maxInput)
	}
	return string(data), nil
}

// addLog takes a line of a handler. Loaders log at the same time, but the host
// passes lines on one after another.
func (a *app) addLog(line starhost.LogLine) { a.logs = append(a.logs, line) }

// writeLogs writes what handlers logged, without what the report of errors will
// say again, and without debug lines unless they are asked for.
func (a *app) writeLogs() {
	told := map[string]bool{}
	for _, p := range a.problems {
		told[p.logged] = true
	}
	for _, line := range a.logs {
		if told[line.Plugin+" "+line.Text] || line.Level == "debug" && !a.verbose {
			continue
		}
		a.writeLog(line)
	}
}

func (a *app) writeLog(line starhost.LogLine) {
	if a.logFormat == "json" {
		_ = encodeJSON(a.stderr, struct {
			Level   string          `json:"level"`
			Plugin  string          `json:"plugin"`
			Message string          `json:"msg"`
			Pos     string          `json:"pos"`
			Fields  json.RawMessage `json:"fields,omitempty"`
		}{line.Level, line.Plugin, line.Text, line.Pos.String(), line.Fields})
		return
	}
	fields := ""
	if len(line.Fields) > 0 {
		fields = " " + string(line.Fields)
	}
	text := line.Text
	if len(text) > maxLogged && !a.verbose {
		text = fmt.Sprintf("%s... (%d B, -v shows all)", strings.ToValidUTF8(text[:maxLogged], ""), len(text))
	}
	fmt.Fprintf(a.stderr, "%s: %s: %s%s (%s)\n", line.Level, line.Plugin, text, fields, line.Pos)
}

// maxLogged is the most bytes of one log line that a terminal is shown.
const maxLogged = 2000

// encodeJSON writes v as JSON on one line, without the escapes that only HTML needs.
func encodeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printJSON adds v to the result.
func (a *app) printJSON(v any) error { return encodeJSON(jsonIndenter{&a.out}, v) }

// An indenter takes JSON values, each in one piece as encoders write them, and adds them to a
// text line by line. An encoder that indents takes three times the memory.
type jsonIndenter struct{ to *bytes.Buffer }

func (w jsonIndenter) Write(value []byte) (int, error) {
	return len(value), json.Indent(w.to, value, "", "  ")
}

// failureJSON is what a command prints as JSON if it could not begin.
type failureJSON struct {
	Schema string      `json:"schema"`
	OK     bool        `json:"ok"`
	Errors []errorJSON `json:"errors"`
}

// printFailure prints the problems of a command that did not begin.
func (a *app) printFailure(command string) error {
	return a.printJSON(failureJSON{Schema: "starhost." + cmp.Or(command, "starhost") + "/1", Errors: a.errorsJSON()})
}

// asksJSON reports whether a command line asks for JSON, also one whose flags are
// wrong.
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

// Colours, as terminals name them.
const (
	red  = "31"
	bold = "1"
)

// colour returns text with its first line in a colour, if w is a terminal that
// wants any.
func (a *app) colour(w io.Writer, colour, text string) string {
	if !a.wantsColour(w) {
		return text
	}
	line, rest, more := strings.Cut(text, "\n")
	line = "\x1b[" + colour + "m" + line + "\x1b[0m"
	if more {
		line += "\n"
	}
	return line + rest
}

// wantsColour tells whether w is a terminal, and colours are wanted.
func (a *app) wantsColour(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || a.getenv("NO_COLOR") != "" || a.getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
