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
	"syscall"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/console"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
)

// execute runs the command that args name, and returns the command's name. If the command panics, execute
// returns that as an error.
func (p *program) execute(ctx context.Context, args []string) (name string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{value: v, stack: debug.Stack()}
		}
	}()
	root := p.rootCommand(args)
	root.SetArgs(args)
	root.SetContext(ctx)
	cmd, err := root.ExecuteC()
	if err == nil && p.chosen != nil {
		err = p.chosen(cmd, cmd.Flags().Args())
	}
	for cmd.HasParent() && cmd.Parent() != root {
		cmd = cmd.Parent()
	}
	return cmd.Name(), err
}

// addError adds an error to the report. If the error joins several, it adds each of them. It adds the same
// error only once, even if several plugins load the file with the mistake.
func (res *Result) addError(err error) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			res.addError(e)
		}
	} else if err != nil {
		if aborted, ok := errors.AsType[*host.AbortError](err); ok && aborted.Lost != nil && len(res.problems) > 0 {
			return // loading has reported the guard already
		}
		p := describe(err)
		res.moveHere(&p, err)
		if !slices.ContainsFunc(res.problems, p.IsSame) {
			res.problems = append(res.problems, p)
		}
	}
}

// end writes the result, then the diagnostics, and returns the exit code. If there are problems, the first
// one decides the code.
func (env Env) end(res *Result) int {
	// From here on, writing to a closed pipe is an error. Programs that plugins start would inherit this, but
	// none starts any more.
	signal.Ignore(syscall.SIGPIPE)
	if err := env.writeResult(res); err != nil {
		res.addError(err)
	}
	env.report(res)
	return res.code
}

// report writes the diagnostics so far, and forgets all of them but the exit code.
func (env Env) report(res *Result) {
	if !env.quiet {
		for _, w := range res.relevantWarnings() {
			fmt.Fprintf(env.stderr, "warning: %s\n", texttable.Hang(w.String()))
		}
		env.writeLogs(res)
	}
	for i := range res.problems {
		p := &res.problems[i]
		page.WriteColoured(env.stderr, page.Red, p.Text(), env.wantsColour(env.stderr))
		if p.Stack != nil && env.verbose {
			env.stderr.Write(p.Stack)
		}
	}
	if len(res.problems) > 0 {
		res.code = res.problems[0].Exit
	}
	if !env.quiet && env.format != "json" {
		if res.undone {
			fmt.Fprintln(env.stderr, "help: effects that outlive the run did not run: --allow-effects runs them")
		}
		if res.nobodyAsked != nil && res.nobodyAsked.Load() {
			fmt.Fprintln(env.stderr, "help: nobody is at a terminal to approve: --approve auto says yes")
		}
	}
	res.undone, res.nobodyAsked = false, nil
	res.warnings, res.logs, res.problems = nil, nil, nil
}

// relevantWarnings returns the warnings, without those that mean nothing for this command.
func (res *Result) relevantWarnings() []loader.Warning {
	return slices.DeleteFunc(slices.Clone(res.warnings), func(w loader.Warning) bool {
		return res.grantless && w.Notice == "grant"
	})
}

// writeResult writes the result to standard output, or to the file of -o.
func (env Env) writeResult(res *Result) error {
	if res.written {
		return nil
	}
	if env.output == "" {
		if res.out.Len() == 0 {
			return nil // even an empty write can block or fail
		}
		return errtext.File("standard output", env.showResult(res))
	}
	if res.failed() {
		return nil // the file stays as it was
	}
	return errtext.File(env.output, disk.Replace(env.path(env.output), env.resultBytes(res), 0o666))
}

// failed reports whether the result is not what the user asked for, because there is none, or because a
// problem prevented a part of it. The report of a command that judges plugins is complete, whatever it found.
// So is a negative result.
func (res *Result) failed() bool {
	if len(res.problems) == 0 {
		return false
	}
	return res.out.Len() == 0 || !res.judges && res.problems[0].Exit != report.ExitNegative
}

// path returns the path that the system needs for a file that an argument names.
func (env Env) path(name string) string { return loader.NewPath(env.dir, name).Real }

// readText returns the text of the file that an argument names. The name "-" stands for
// standard input.
func (env Env) readText(name string) (string, error) {
	in := env.stdin
	if name != "-" {
		f, err := disk.Open(env.path(name))
		if err != nil {
			return "", errtext.File(name, err)
		}
		defer f.Close()
		in = f
	}
	data, err := disk.ReadAll(in)
	if errors.Is(err, disk.ErrSize) {
		return "", usagef("%s: %v", name, err)
	}
	return string(data), errtext.File(name, err)
}

// addLog adds a line that a handler logged. Loaders log at the same time, but the host calls
// addLog for one line after another.
func (res *Result) addLog(line host.LogLine) { res.logs = append(res.logs, line) }

// writeLogs writes the lines that handlers logged. It omits lines that the report of errors repeats, and
// debug lines without -v.
func (env Env) writeLogs(res *Result) {
	inReport := map[string]bool{}
	for _, p := range res.problems {
		inReport[p.Logged] = true
	}
	for _, line := range res.logs {
		if inReport[line.Plugin+" "+line.Text] || line.Level == "debug" && !env.verbose {
			continue
		}
		env.writeLog(res, line)
	}
}

func (env Env) writeLog(res *Result, line host.LogLine) {
	if env.logFormat == "json" {
		_ = jsontext.Write(env.stderr, struct {
			Level   string          `json:"level"`
			Plugin  string          `json:"plugin"`
			Message string          `json:"msg"`
			Pos     string          `json:"pos"`
			Fields  json.RawMessage `json:"fields,omitempty"`
		}{line.Level, line.Plugin, line.Text, res.fromHere(line.Pos).String(), line.Fields})
		return
	}
	fields := ""
	if len(line.Fields) > 0 {
		fields = " " + string(line.Fields)
	}
	text := line.Text
	if !env.verbose {
		text = errtext.CutTo(text, maxLogged, fmt.Sprintf("... (%d B, -v shows all)", len(text)))
	}
	text = fmt.Sprintf("%s: %s: %s%s (%s)", line.Level, line.Plugin, text, fields, res.fromHere(line.Pos))
	fmt.Fprintln(env.stderr, texttable.Hang(text))
}

// maxLogged is the most bytes of a log line on standard error without -v.
const maxLogged = 2000

// failureJSON is the JSON result of a command that could not begin.
type failureJSON struct {
	Schema string             `json:"schema"`
	OK     bool               `json:"ok"`
	Errors []report.ErrorJSON `json:"errors"`
}

// printFailure prints the problems of a command that could not begin.
func (res *Result) printFailure(command string) error {
	return res.out.JSON(failureJSON{Schema: "starhost." + cmp.Or(command, "starhost") + "/1", Errors: res.errorsJSON()})
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

func (res *Result) view() report.View { return report.View{Set: res.loaded} }

func (res *Result) fromHere(p starhost.Pos) starhost.Pos { return res.view().Place(p) }

// moveHere changes the places in a plugin's error to paths from the current folder. Errors of the loader have
// such paths already.
func (res *Result) moveHere(p *report.Problem, err error) {
	e, isScript := errors.AsType[*starlark.Error](err)
	isScript = isScript && p.Detail != "" // a script that was interrupted has no place
	_, failed := errors.AsType[*host.HandlerError](err)
	_, aborted := errors.AsType[*host.AbortError](err)
	if res.loaded == nil || !isScript && !failed && !aborted {
		return
	}
	p.Pos = res.fromHere(p.Pos)
	if isScript {
		moved := res.loaded.MoveHere(e)
		p.Trace, p.Detail = moved.Trace, moved.Detail()
	}
}

// exactFormats are the formats that programs read. A file or a pipe gets their bytes without escapes.
var exactFormats = []string{"json", "text", "openai", "responses", "anthropic", "junit", "pyi"}

// isExact reports whether a program will read the result.
func (env Env) isExact(res *Result) bool {
	return res.exact || slices.Contains(exactFormats, env.format)
}

// resultBytes returns the bytes of the result for a file or a pipe.
func (env Env) resultBytes(res *Result) []byte {
	if env.isExact(res) {
		return res.out.Bytes()
	}
	return []byte(texttable.Escape(res.out.String()))
}

// showResult writes the result to standard output.
func (env Env) showResult(res *Result) error {
	if !console.IsTerminal(env.stdout) && (env.colour != "always" || env.isExact(res)) {
		_, err := env.stdout.Write(env.resultBytes(res))
		return err
	}
	return res.out.Show(env.stdout, env.wantsColour(env.stdout))
}

// wantsColour reports whether w is a terminal and the environment allows colours.
func (env Env) wantsColour(w io.Writer) bool {
	w = page.Behind(w)
	switch env.colour {
	case "always":
		return true
	case "never":
		return false
	}
	return console.IsTerminal(w) && env.getenv("NO_COLOR") == "" && env.getenv("TERM") != "dumb"
}

// terminal returns the terminal that the program runs in, or nil if its streams are no terminal.
func (env Env) terminal(stdin io.Reader, history string) *console.Terminal {
	if env.output != "" {
		return nil
	}
	return console.Open(stdin, env.stdout, env.getenv, history)
}
