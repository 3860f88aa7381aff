package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// A problem is an error in the form of the report.
type problem struct {
	exit    int
	code    string // `starhost docs` explains it
	message string // without the place
	plugin  string // "" if no plugin is to blame
	pos     starhost.Pos
	limit   *limitJSON
	trace   []starlark.Frame
	help    string // lines of advice, "" for none
	detail  string // the whole text for a terminal; "" if method text builds it

	logged string // the same error in the log: the plugin and the text
	stack  []byte // for a panic
}

// where returns the problem in one line, with its place.
func (p *problem) where() string {
	if p.pos == (starhost.Pos{}) {
		return p.message
	}
	return p.pos.String() + ": " + p.message
}

// isSame reports whether two problems are one mistake at one place of a file, and not the failures
// of two handlers.
func (p *problem) isSame(q problem) bool {
	return p.pos.Line > 0 && p.pos == q.pos && p.code == q.code && p.message == q.message && p.logged == q.logged
}

// text returns the problem as lines for a terminal.
func (p *problem) text() string {
	if p.detail != "" {
		return p.detail
	}
	var b strings.Builder
	if p.pos != (starhost.Pos{}) {
		b.WriteString(texttable.Hang(p.pos.String()) + ": ")
	}
	fmt.Fprintf(&b, "%s [%s]\n", texttable.Hang(p.message), p.code)
	for line := range strings.Lines(p.help) {
		fmt.Fprintf(&b, "  help: %s\n", texttable.Hang(strings.TrimSuffix(line, "\n")))
	}
	fmt.Fprintf(&b, "  help: starhost docs %s\n", p.code)
	return b.String()
}

// A usageError is a mistake on the command line.
type usageError struct {
	msg  string
	help string // advice, "" for none

	where *starlark.Error // a mistake in a text that the command line names, instead of msg; or nil
}

func (e *usageError) Error() string {
	if e.where != nil {
		return e.where.Error()
	}
	return e.msg
}

func usagef(format string, args ...any) error { return &usageError{msg: fmt.Sprintf(format, args...)} }

// A panicError is a bug of starhost.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("internal error: %v; this is a bug of starhost (-v shows where)", e.value)
}

// describe turns an error of any kind into a problem.
func describe(err error) problem {
	p := problem{message: err.Error()}
	var handler *host.HandlerError
	if errors.As(err, &handler) {
		p.plugin, p.pos = handler.Plugin, handler.Pos
		p.message = handler.What + ": " + handler.Error()
		p.logged = handler.Plugin + " " + p.message
		p.code = "E0706"
	}
	// Each function recognizes one kind of error and fills in its fields.
	for _, describeKind := range []func(error, *problem) bool{
		asPanic, asInterrupt, asEndpoint, asWaiting, asUsage, asFile, asStarlark, asLoader, asAbort, asReference,
		asOverflow, asTooLarge, asCoded,
	} {
		if describeKind(err, &p) {
			break
		}
	}
	if p.code == "" {
		p.code = "E0701" // the flag parser's errors about arguments
	}
	if errors.Is(err, loader.ErrManaged) {
		p.exit = exitUsage // for all of its mistakes, so that a caller can rely on it
	}
	if p.exit == 0 {
		p.exit = exitOf(p.code)
	}
	if p.exit == exitBug && !isBug(err) { // the code comes from a text, as that of a journal
		p.exit = exitPlugin
	}
	return p
}

// isBug reports whether an error is one of the types that stand for a bug of starhost.
func isBug(err error) bool {
	var own *panicError
	var handler *host.PanicError
	var script *starlark.InternalError
	return errors.As(err, &own) || errors.As(err, &handler) || errors.As(err, &script)
}

func asPanic(err error, p *problem) bool {
	var own *panicError
	var handler *host.PanicError
	if errors.As(err, &own) {
		p.stack = own.stack
	} else if !errors.As(err, &handler) {
		return false
	}
	p.code = "E0111"
	return true
}

func asInterrupt(err error, p *problem) bool {
	if !errors.Is(err, context.Canceled) {
		return false
	}
	p.code, p.message = "E0709", "interrupted"
	return true
}

func asUsage(err error, p *problem) bool {
	var e *usageError
	if !errors.As(err, &e) {
		return false
	}
	p.code, p.help = "E0701", e.help
	if e.where != nil {
		p.pos, p.message, p.detail = starhost.Pos(e.where.Pos), e.where.Msg, e.where.Detail()
	}
	return true
}

func asFile(err error, p *problem) bool {
	var e *errtext.FileError
	var path *fs.PathError
	if !errors.As(err, &e) && !errors.As(err, &path) {
		return false
	}
	p.code = "E0708"
	return true
}

func asStarlark(err error, p *problem) bool {
	var e *starlark.Error
	if !errors.As(err, &e) {
		return false
	}
	p.code, p.message, p.help, p.trace, p.detail = e.Code, e.Msg, e.Help, e.Trace, e.Detail()
	p.pos = starhost.Pos(e.Pos)
	if p.exit = exitOf(e.Code); p.exit == exitUsage || e.Code == "E0607" {
		p.exit = exitPlugin // the command line did not name the file: a plugin loads it
	}
	var limit *starlark.LimitError
	if errors.As(err, &limit) {
		p.limit = &limitJSON{limit.Limit, limit.Op, limit.Need, limit.Max, limit.Used}
	}
	return true
}

// nextWithoutPlugins says what to type in a folder without plugins.
const nextWithoutPlugins = `starhost new plugin NAME begins a plugin here; starhost new guard begins a guard without code
starhost demo shows sample plugins at work
starhost eval PATH loads plugins from another place`

func asLoader(err error, p *problem) bool {
	var e *loader.Error
	if !errors.As(err, &e) {
		return false
	}
	p.code, p.message, p.pos = e.Code(), e.Msg, starhost.Pos(e.Place)
	if errors.Is(err, loader.ErrNoPlugins) {
		p.help = nextWithoutPlugins
	}
	return true
}

func asAbort(err error, p *problem) bool {
	var e *host.AbortError
	if !errors.As(err, &e) {
		return false
	}
	p.code, p.plugin, p.pos = "E0707", e.Plugin, e.Pos
	p.message = fmt.Sprintf("turn aborted by %s: %s", e.Plugin, e.Reason)
	return true
}

func asReference(err error, p *problem) bool {
	var e *host.UnknownRefError
	if !errors.As(err, &e) {
		return false
	}
	p.code, p.plugin, p.pos = "E0702", "", starhost.Pos{}
	p.message = e.Error()
	if e.Near == "" && slices.Contains(formatNames("eval"), e.Ref) {
		p.help = "did you mean -F " + e.Ref + "? -f is --fragment"
	}
	return true
}

func asOverflow(err error, p *problem) bool {
	var e *fragments.OverflowError
	if !errors.As(err, &e) {
		return false
	}
	p.code = "E0703"
	p.limit = &limitJSON{Name: e.Limit, Op: "merge", Need: uint64(e.Need), Max: uint64(e.Max)}
	p.help = "[prompt] " + e.Limit + " raises it"
	return true
}

func asTooLarge(err error, p *problem) bool {
	var e *fragments.SizeError
	if !errors.As(err, &e) {
		return false
	}
	p.code = "E0712"
	p.limit = &limitJSON{Name: "max_fragment", Op: "fragment", Need: uint64(e.Need), Max: uint64(e.Max)}
	p.help = "[prompt] max_fragment raises it"
	return true
}

// asCoded takes the code of errors that have a Code method.
func asCoded(err error, p *problem) bool {
	var e interface{ Code() string }
	if !errors.As(err, &e) {
		return false
	}
	p.code = cmp.Or(e.Code(), p.code)
	var short *shortfallError
	if errors.As(err, &short) {
		p.help = short.help
	}
	return true
}
