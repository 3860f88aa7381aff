package call

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// An Error reports that a plugin broke the rules of a builtin. The evaluator adds the place of
// the failed call, unless the error has a better place.
type Error struct {
	code string // a code that the table of codes explains
	msg  string
	help string
	pos  syntax.Position // the zero Position stands for the place of the call
	line string          // the source at pos, if the evaluator does not know the file
}

func (e *Error) Error() string { return e.msg }

// Code returns the error code, such as "E0307". The table of codes explains it.
func (e *Error) Code() string { return e.code }

// Place returns the place of the mistake in the source. The zero Position stands for the place
// of the failed call.
func (e *Error) Place() syntax.Position { return e.pos }

// Help returns one line that suggests a remedy, or "".
func (e *Error) Help() string { return e.help }

// maxMessage is the most bytes of a message, because names and texts of a plugin can be long.
const maxMessage = 16 << 10

// Errorf returns an error with a code, which the table of codes explains.
func Errorf(code, format string, args ...any) *Error {
	return &Error{code: code, msg: errtext.CutTo(fmt.Sprintf(format, args...), maxMessage, "…")}
}

// At sets the place of e and returns e.
func (e *Error) At(pos syntax.Position) *Error {
	e.pos = pos
	return e
}

// In sets the line of the source at the place of e, for a file that is no script, and returns e.
func (e *Error) In(line string) *Error {
	e.line = line
	return e
}

// SourceLine returns the line that In set, or "".
func (e *Error) SourceLine() string { return e.line }

// Way sets the help of e, which says how to write it instead, and returns e.
func (e *Error) Way(help string) *Error {
	e.help = help
	return e
}

// BindArgs stores arguments in variables, as starlark.UnpackArgs does. args and kwargs may be a part of the
// call's arguments. pairs are names, each with a pointer to its variable. A name that ends in "?" is
// optional; if it ends in "??", None counts as absent, too. The errors have a code.
func (c Call) BindArgs(args starlark.Tuple, kwargs []starlark.Tuple, pairs ...any) error {
	err := starlark.UnpackArgs(c.Name, args, kwargs, pairs...)
	if err == nil {
		return nil
	}
	if unknown := unknownArg(c.Name, kwargs, pairs); unknown != nil {
		return unknown
	}
	return &Error{code: "E0201", msg: errtext.CutTo(err.Error(), maxMessage, "…")}
}

// unknownArg returns an error for the first keyword argument whose name is not in pairs, or nil if there is
// none. Upstream's own error looks for a similar name among half of the names only.
func unknownArg(name string, kwargs []starlark.Tuple, pairs []any) *Error {
	names := make([]string, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		names = append(names, strings.TrimRight(pairs[i].(string), "?"))
	}
	for _, kv := range kwargs {
		got := string(kv[0].(starlark.String))
		if slices.Contains(names, got) {
			continue
		}
		hint := near.DidYouMean(got, names)
		if hint == "" {
			hint = ", it takes " + cmp.Or(strings.Join(names, ", "), "none")
		}
		return Errorf("E0203", "%s: unexpected keyword argument %s%s", name, errtext.Quote(got), hint)
	}
	return nil
}

// Bind stores the call's arguments in variables; see [Call.BindArgs].
func (c Call) Bind(pairs ...any) error { return c.BindArgs(c.Args, c.Kwargs, pairs...) }

// Fail returns an error with a code. Its text begins with the name of the called function.
func (c Call) Fail(code, format string, args ...any) *Error {
	return Errorf(code, "%s: %s", c.Name, fmt.Sprintf(format, args...))
}
