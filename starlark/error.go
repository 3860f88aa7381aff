package starlark

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A Pos is a place in source text. Parts that are not known are zero.
type Pos struct {
	File string
	Line int // from 1
	Col  int // from 1, in code points
}

// String returns "file:line:col", without the parts that are zero.
func (p Pos) String() string {
	s := p.File
	for _, n := range []int{p.Line, p.Col} {
		if n > 0 {
			s += ":" + strconv.Itoa(n)
		}
	}
	return strings.TrimPrefix(s, ":")
}

func posOf(p syntax.Position) Pos {
	return Pos{File: p.Filename(), Line: int(p.Line), Col: int(p.Col)}
}

// A Frame is a call or a load that was under way.
type Frame struct {
	Fn  string // "<toplevel>" for a file
	Pos Pos
}

// An Error is a failure of Starlark source, with the place it happened.
type Error struct {
	Pos    Pos      // innermost place in the source
	Msg    string   // UTF-8 without the place; one line unless the script's own text has more
	Code   string   // "E0101": the cause's Code() string where it has one, else by kind
	Source string   // text of the line at Pos, cut to 200 bytes; "" when it is not known
	Help   string   // how it is done here, for habits of other languages; mostly ""
	Trace  []Frame  // calls and loads that led to Pos, outermost first
	Also   []*Error // further errors of the same file: Pos, Msg and Code

	caret int // code points of Source before Pos
	cause error
}

// Error returns the place and the message.
func (e *Error) Error() string {
	if p := e.Pos.String(); p != "" {
		return p + ": " + e.Msg
	}
	return e.Msg
}

func (e *Error) Unwrap() error { return e.cause }

// Redact returns the error with its texts changed, at the same place, with a
// cause that callers may test for in place of its own. A [LimitError] stays: it says
// nothing of a script.
func (e *Error) Redact(redact func(string) string, cause error) error {
	clean := *e
	clean.Msg, clean.Source, clean.Help = redact(e.Msg), redact(e.Source), redact(e.Help)
	if clean.Source != e.Source {
		before := string([]rune(e.Source)[:min(e.caret, utf8.RuneCountInString(e.Source))])
		clean.caret = utf8.RuneCountInString(redact(before))
	}
	clean.Also = nil
	for _, also := range e.Also {
		clean.Also = append(clean.Also, also.Redact(redact, nil).(*Error))
	}
	clean.cause = cause
	if limit := new(LimitError); cause == nil && errors.As(e.cause, &limit) {
		clean.cause = limit
	}
	return &clean
}

// Bounds of the text of an error, whatever a script puts into it.
const (
	maxMessage = 4 << 10 // bytes of Msg
	maxSource  = 200     // bytes of Source
	maxFrames  = 20      // of Detail
	maxAlso    = 10      // of Also
)

// Detail returns the error as a terminal shows it: the message with its code, the
// source line with a caret, the frames, and help. It ends with a line break.
func (e *Error) Detail() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s [%s]\n", e.Error(), e.Code)
	if e.Source != "" {
		fmt.Fprintf(&b, "%5d | %s\n      | %s^\n", e.Pos.Line, e.Source, indentOf(e.Source, e.caret))
	}
	for _, also := range e.Also {
		fmt.Fprintf(&b, "  also %v\n", also)
	}
	writeTrace(&b, e.Trace)
	if e.Help != "" {
		fmt.Fprintf(&b, "  help: %s\n", e.Help)
	}
	fmt.Fprintf(&b, "  help: starhost docs %s\n", e.Code)
	return b.String()
}

// indentOf returns what moves a caret below the n-th code point of line.
func indentOf(line string, n int) string {
	var b strings.Builder
	for _, r := range line {
		if n--; n < 0 {
			break
		}
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
	}
	if n > 0 {
		b.WriteString(strings.Repeat(" ", n))
	}
	return b.String()
}

// writeTrace writes the frames, without those in the middle of a long trace.
func writeTrace(b *strings.Builder, trace []Frame) {
	const half = maxFrames / 2
	for i, f := range trace {
		switch {
		case len(trace) <= maxFrames || i < half || i >= len(trace)-half:
			fmt.Fprintf(b, "  in %s %s\n", f.Fn, f.Pos)
		case i == half:
			fmt.Fprintf(b, "  ... %d more ...\n", len(trace)-maxFrames)
		}
	}
}

// An InternalError is a panic that was recovered: a bug of the host, not of the
// script that met it.
type InternalError struct {
	Pos   Pos    // of the script, as far as it is known
	Value any    // that was passed to panic
	Stack []byte // of the goroutine
}

func (e *InternalError) Error() string {
	return cut(fmt.Sprintf("internal error: %v; this is a bug of the host", e.Value), maxMessage)
}

// Code returns the error code that explains internal errors.
func (e *InternalError) Code() string { return "E0111" }

// recoverPanicAt is like worker.contain where no script is running. It is deferred.
func recoverPanicAt(err *error, pos Pos) {
	if p := recover(); p != nil {
		*err = &InternalError{Pos: pos, Value: p}
	}
}

// A stopError is what the interpreter reported of a run that was stopped: it
// has the place, and the cause is why.
type stopError struct {
	reported error // may be nil: a script can end before it notices
	cause    error
}

func (e stopError) Error() string { return e.cause.Error() }

// Locate turns any failure of evaluation into an [*Error]: those of the scanner,
// the parser, the resolver and the interpreter, limits, recovered panics, and
// errors of builtins. These may have methods Code() string, Help() string and
// Place() syntax.Position, which win. src returns the text of a file, or "";
// it may be nil. Locate(nil, src) is nil.
func Locate(err error, src func(file string) string) *Error {
	if err == nil {
		return nil
	}
	if e, ok := err.(*Error); ok {
		return e.fillSource(src)
	}
	e := &Error{cause: err}
	var stop stopError
	if errors.As(err, &stop) {
		e.cause = stop.cause
		err = stop.reported
		e.takeFrames(err)
		e.Msg = stop.cause.Error()
	} else {
		e.takeFrames(err)
	}
	e.takeCause()
	if e.Code == "" {
		e.Code = codeOf(e.cause, e.Msg)
	}
	e.Msg = cut(strings.ToValidUTF8(e.Msg, "\ufffd"), maxMessage)
	e.fillSource(src)
	if e.Help == "" {
		e.Help = helpFor(e.Msg, e.Source)
	}
	return e
}

// takeFrames takes the message and the frames from the innermost part of err that
// has them. A located error inside, of a loaded file or another plugin, keeps
// its place.
func (e *Error) takeFrames(err error) {
	if err != nil {
		e.Msg = err.Error()
	}
	for ; err != nil; err = errors.Unwrap(err) {
		switch x := err.(type) {
		case *starlark.EvalError:
			e.Msg = x.Msg
			e.Trace = scriptFrames(x.CallStack)
		case *Error:
			e.adopt(x)
			return
		}
	}
	if n := len(e.Trace); n > 0 {
		e.Pos = e.Trace[n-1].Pos
	}
}

// adopt makes e a report of inner, led to by the frames of e.
func (e *Error) adopt(inner *Error) {
	trace := append(e.Trace, inner.Trace...)
	cause := e.cause
	*e = *inner
	e.Trace, e.cause = trace, cause
}

// scriptFrames returns the frames of Starlark code, outermost first. Those of
// builtins have no line, and helpers are no part of the script.
func scriptFrames(stack starlark.CallStack) []Frame {
	var list []Frame
	for _, f := range stack {
		if f.Pos.Line > 0 && !strings.HasPrefix(f.Name, "$") {
			list = append(list, Frame{Fn: f.Name, Pos: posOf(f.Pos)})
		}
	}
	return list
}

// takeCause takes what the kind of the cause knows.
func (e *Error) takeCause() {
	var (
		syntaxErr syntax.Error
		list      resolve.ErrorList
		one       resolve.Error
		limit     *LimitError
		panicked  *InternalError
		placed    interface{ Place() syntax.Position }
		helper    interface{ Help() string }
	)
	switch {
	case errors.As(e.cause, &syntaxErr):
		e.Pos, e.Msg = posOf(syntaxErr.Pos), syntaxErr.Msg
	case errors.As(e.cause, &list):
		e.Pos, e.Msg = posOf(list[0].Pos), list[0].Msg
		e.Also = furtherErrors(list)
	case errors.As(e.cause, &one):
		e.Pos, e.Msg = posOf(one.Pos), one.Msg
	case errors.As(e.cause, &limit):
		e.cause = e.placeLimit(limit)
	case errors.As(e.cause, &panicked):
		e.Pos = cmp.Or(panicked.Pos, e.Pos)
	case errors.As(e.cause, &placed):
		if p := placed.Place(); p.Line > 0 {
			e.Pos = posOf(p)
		}
	}
	if errors.As(e.cause, &helper) {
		e.Help = helper.Help()
	}
}

// placeLimit returns the cause with the place of the error in it. A limit's
// error may stop the callers of a run too, which have places of their own.
func (e *Error) placeLimit(limit *LimitError) error {
	e.Pos = cmp.Or(e.Pos, limit.Pos)
	placed := *limit
	placed.Pos = e.Pos
	if n := len(e.Trace); n > 0 {
		placed.Func = e.Trace[n-1].Fn
	}
	return &placed
}

// furtherErrors returns the errors behind the first.
func furtherErrors(list resolve.ErrorList) []*Error {
	var rest []*Error
	for i, e := range list[1:] {
		if i == maxAlso {
			return append(rest, &Error{Msg: fmt.Sprintf("%d more", len(list)-1-i), Code: codeOfName(list[0].Msg)})
		}
		rest = append(rest, &Error{Pos: posOf(e.Pos), Msg: cut(e.Msg, maxSource), Code: codeOfName(e.Msg)})
	}
	return rest
}

// fillSource fills in the source line at the error's place.
func (e *Error) fillSource(src func(string) string) *Error {
	if e.Source != "" || src == nil || e.Pos.Line < 1 {
		return e
	}
	line := src(e.Pos.File)
	for range e.Pos.Line - 1 {
		_, rest, ok := strings.Cut(line, "\n")
		if !ok {
			return e
		}
		line = rest
	}
	line, _, _ = strings.Cut(line, "\n")
	e.Source, e.caret = clipAround(line, max(e.Pos.Col-1, 0))
	return e
}

// clipAround cuts a long line to maxSource bytes around its n-th code point, and
// returns where that is then.
func clipAround(line string, n int) (string, int) {
	if len(line) <= maxSource {
		return line, n
	}
	at := 0 // byte offset of the n-th code point
	for range n {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	start := max(0, min(at-maxSource/2, len(line)-maxSource))
	for start > 0 && start < len(line) && !utf8.RuneStart(line[start]) {
		start++
	}
	return cutBytes(line[start:], maxSource), utf8.RuneCountInString(line[start:max(at, start)])
}

// cutBytes returns the first n bytes of s, less what would split a code point.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// cut bounds the text of an error, and says how long it was.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%s... (%d bytes)", cutBytes(s, n), len(s))
}

// quoteShort returns s as it stands in an error.
func quoteShort(s string) string { return strconv.Quote(cut(s, maxIdentifier)) }

// isIdentifier reports whether a script can spell s as a name.
func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
