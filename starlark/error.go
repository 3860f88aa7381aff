package starlark

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/starnames"
	"github.com/starhost/starhost/internal/texttable"
)

// A Pos is a position in source text. Unset parts are zero.
type Pos struct {
	File string
	Line int // counts from 1
	Col  int // counts code points from 1
}

// String returns "file:line:col" without the parts that are zero.
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

// A Frame is a call or a load that was active when an error occurred.
type Frame struct {
	Fn  string // "<toplevel>" for a file
	Pos Pos
}

// An Error is a failure of Starlark source, with its position.
type Error struct {
	Pos    Pos      // innermost position in the source
	Msg    string   // UTF-8 without the position; one line unless the script's own text has more
	Code   string   // such as "E0101": from the cause's method Code() string, or else by its kind
	Source string   // text of the line at Pos, cut to 200 bytes; "" if the text is missing
	Help   string   // the Starlark way for a habit from another language; mostly ""
	Trace  []Frame  // calls and loads on the way to Pos, outermost first
	Also   []*Error // further errors of the same file: Pos, Msg and Code

	caret int // code points of Source before Pos
	cause error
}

// Error returns the position and the message.
func (e *Error) Error() string {
	if p := e.Pos.String(); p != "" {
		return p + ": " + e.Msg
	}
	return e.Msg
}

func (e *Error) Unwrap() error { return e.cause }

// Advice returns Help to callers that have only an error with a method Advice, and do not import this
// package.
func (e *Error) Advice() string { return e.Help }

// Redact returns a copy of e, at the same position, whose texts went through redact. The argument cause
// replaces the cause of e, so that callers can test for it. If cause is nil, the copy keeps a [LimitError] as
// its cause, because a LimitError contains no text of a script, and drops any other cause.
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

// These constants bound the text of an error, because a script may put any text into it.
const (
	maxMessage = 4 << 10 // bytes of Msg
	maxSource  = 200     // bytes of Source
	maxFrames  = 20      // frames that Detail shows
	maxAlso    = 10      // errors in Also
)

// Detail returns the error as a terminal shows it: the message with its code, the source line with
// a caret, the frames, and help. It ends with a newline.
func (e *Error) Detail() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s [%s]\n", texttable.Hang(e.Error()), e.Code)
	if e.Source != "" {
		fmt.Fprintf(&b, "%5d | %s\n      | %s^\n", e.Pos.Line, e.Source, indentOf(e.Source, e.caret))
	}
	for _, also := range e.Also {
		fmt.Fprintf(&b, "  also %s\n", texttable.Hang(also.Error()))
	}
	writeTrace(&b, e.Trace)
	if e.Help != "" {
		fmt.Fprintf(&b, "  help: %s\n", texttable.Hang(e.Help))
	}
	fmt.Fprintf(&b, "  help: starhost docs %s\n", e.Code)
	return b.String()
}

// indentOf returns the white space that moves a caret below code point n of line.
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

// writeTrace writes the frames. It omits the middle of a long trace.
func writeTrace(b *strings.Builder, trace []Frame) {
	const half = maxFrames / 2
	for i, f := range trace {
		switch {
		case len(trace) <= maxFrames || i < half || i >= len(trace)-half:
			fmt.Fprintf(b, "  in %s %s\n", texttable.Hang(f.Fn), texttable.Hang(f.Pos.String()))
		case i == half:
			fmt.Fprintf(b, "  ... %d more ...\n", len(trace)-maxFrames)
		}
	}
}

// An InternalError is a recovered panic, which is a bug of the host, not of the script.
type InternalError struct {
	Pos   Pos    // position in the script, or zero
	Value any    // the argument of panic
	Stack []byte // stack of the goroutine
}

func (e *InternalError) Error() string {
	return clip(fmt.Sprintf("internal error: %v; this is a bug of the host", e.Value), maxMessage)
}

// Code returns the error code that explains internal errors.
func (e *InternalError) Code() string { return "E0111" }

// recoverPanicAt turns a panic into an InternalError, if no script is running. It must be deferred.
func recoverPanicAt(err *error, pos Pos) {
	if p := recover(); p != nil {
		*err = &InternalError{Pos: pos, Value: p}
	}
}

// A stopError joins two errors of a stopped run: the interpreter's report, which has the position, and the
// cause of the stop.
type stopError struct {
	report error // nil if the script ended before it noticed the stop
	cause  error
}

func (e stopError) Error() string { return e.cause.Error() }

// Locate turns any failure of an evaluation into an [*Error]: errors of the scanner, the parser, the
// resolver, the interpreter and builtins, limits, and recovered panics. If the cause has a method Code()
// string, Help() string, Place() syntax.Position or SourceLine() string, the [*Error] takes its code, help,
// position or line from that method. src returns the text of a file, or "", and may be nil. Locate(nil, src) is nil.
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
		err = stop.report
		e.takeFrames(err)
		e.Msg = stop.cause.Error()
	} else {
		e.takeFrames(err)
	}
	e.takeCause()
	if e.Code == "" {
		e.Code = codeOf(e.cause, e.Msg)
	}
	e.Msg = clip(strings.ToValidUTF8(e.Msg, "\ufffd"), maxMessage)
	e.moveToLineEnd(src)
	e.fillSource(src)
	if e.Help == "" {
		line := e.Source
		if strings.HasPrefix(e.Msg, "invalid call of") { // the name of what the script calls stands before the caret
			line = string([]rune(line)[:min(e.caret, utf8.RuneCountInString(line))])
		}
		e.Help = helpFor(e.Msg, line)
	}
	return e
}

// takeFrames sets the message and the frames of e from the innermost error in err that has them. If err
// contains an *Error of a loaded file or of another plugin, e takes the position of that error.
func (e *Error) takeFrames(err error) {
	if err != nil {
		e.Msg = err.Error()
	}
	for ; err != nil; err = errors.Unwrap(err) {
		switch x := err.(type) {
		case *starlark.EvalError:
			e.Msg = x.Msg
			e.Trace = scriptFrames(withoutRefused(x.CallStack, x.Msg))
		case *Error:
			e.adopt(x)
			return
		}
	}
	if n := len(e.Trace); n > 0 {
		e.Pos = e.Trace[n-1].Pos
	}
}

// adopt makes e a copy of inner. The frames of e come before those of inner.
func (e *Error) adopt(inner *Error) {
	trace := append(e.Trace, inner.Trace...)
	cause := e.cause
	*e = *inner
	e.Trace, e.cause = trace, cause
}

// refusals are the words by which the interpreter reports that a script's function cannot take a call: its
// arguments do not fit, or the call is recursive.
var refusals = []string{" missing ", " got ", " accepts ", " called recursively"}

// withoutRefused removes the called function from a stack if the function could not take the call. The
// mistake is in the call, and the interpreter would report the first statement of the function.
func withoutRefused(stack starlark.CallStack, msg string) starlark.CallStack {
	last := len(stack) - 1
	if last < 1 {
		return stack
	}
	what, ok := strings.CutPrefix(msg, "function "+stack[last].Name)
	if ok && slices.ContainsFunc(refusals, func(r string) bool { return strings.HasPrefix(what, r) }) {
		return stack[:last]
	}
	return stack
}

// scriptFrames returns the frames of Starlark code, outermost first. It omits builtins, which have
// no line, and helpers, which are no part of the script.
func scriptFrames(stack starlark.CallStack) []Frame {
	var list []Frame
	for _, f := range stack {
		if starnames.InScript(f.Pos) && !strings.HasPrefix(f.Name, "$") {
			list = append(list, Frame{Fn: f.Name, Pos: posOf(f.Pos)})
		}
	}
	return list
}

// takeCause sets the position, the message and the help that the type of the cause provides.
func (e *Error) takeCause() {
	var (
		syntaxErr syntax.Error
		list      resolve.ErrorList
		one       resolve.Error
		limit     *LimitError
		panicked  *InternalError
		placed    interface{ Place() syntax.Position }
		helper    interface{ Help() string }
		quoted    interface{ SourceLine() string }
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
	if errors.As(e.cause, &quoted) && quoted.SourceLine() != "" {
		e.Source, e.caret = clipAround(quoted.SourceLine(), max(e.Pos.Col-1, 0))
	}
	if errors.As(e.cause, &helper) {
		e.Help = helper.Help()
	}
}

// placeLimit returns a copy of limit with the position of e. The copy is necessary, because the
// same error may stop the callers of the run, which have other positions.
func (e *Error) placeLimit(limit *LimitError) error {
	e.Pos = cmp.Or(e.Pos, limit.Pos)
	placed := *limit
	placed.Pos = e.Pos
	if n := len(e.Trace); n > 0 {
		placed.Func = e.Trace[n-1].Fn
	}
	return &placed
}

// furtherErrors returns the errors after the first.
func furtherErrors(list resolve.ErrorList) []*Error {
	var rest []*Error
	for i, e := range list[1:] {
		if i == maxAlso {
			return append(rest, &Error{Msg: fmt.Sprintf("%d more", len(list)-1-i), Code: codeOfName(list[0].Msg)})
		}
		rest = append(rest, &Error{Pos: posOf(e.Pos), Msg: clip(e.Msg, maxSource), Code: codeOfName(e.Msg)})
	}
	return rest
}

// moveToLineEnd moves an error about the end of a line to that end. The parser has read the line
// break and reports the beginning of the next line.
func (e *Error) moveToLineEnd(src func(string) string) {
	if src == nil || e.Pos.Col != 1 || e.Pos.Line < 2 || !strings.HasPrefix(e.Msg, "got newline, ") {
		return
	}
	lines := strings.SplitN(src(e.Pos.File), "\n", e.Pos.Line)
	if len(lines) < e.Pos.Line {
		return
	}
	line := strings.TrimRight(lines[e.Pos.Line-2], " \t\r")
	e.Pos.Line, e.Pos.Col = e.Pos.Line-1, utf8.RuneCountInString(line)+1
}

// fillSource sets the source line at the position of the error.
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

// clipAround cuts a long line to maxSource bytes around code point n, and returns the new number of
// that code point.
func clipAround(line string, n int) (string, int) {
	if len(line) <= maxSource {
		return line, n
	}
	at := 0 // byte offset of code point n
	for range n {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	start := max(0, min(at-maxSource/2, len(line)-maxSource))
	for start > 0 && start < len(line) && !utf8.RuneStart(line[start]) {
		start++
	}
	return clipBytes(line[start:], maxSource), utf8.RuneCountInString(line[start:max(at, start)])
}

// clipBytes returns the first n bytes of s, without an incomplete code point at the end.
func clipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:errtext.RuneStart(s, n)]
}

// clip returns the first n bytes of s. If s is longer, its length follows.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%s... (%d bytes)", clipBytes(s, n), len(s))
}

// quoteShort quotes s for an error, and cuts it to the length of an identifier.
func quoteShort(s string) string { return strconv.Quote(clip(s, maxIdentifier)) }

// isIdentifier reports whether a script can use s as a name.
func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= utf8.RuneSelf
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
