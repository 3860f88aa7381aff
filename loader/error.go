package loader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// A Place says where a setting was made or a file is found. The zero value says
// that nobody wrote it: a built-in default, or an argument.
type Place struct {
	// File is as shown to a person: relative to the current folder, below "~", or
	// what stands for a file, as "STARHOST_MODEL".
	File string
	// Line counts from 1; 0 means the whole file.
	Line int
	// Col counts bytes from 1; 0 means the whole line.
	Col int
}

// String returns "file:line:col" without the parts that are 0.
func (p Place) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// An Error is a mistake in the config or among the plugin files, at its place.
type Error struct {
	Place Place
	// Msg is one line without the place.
	Msg string

	code        string
	err         error
	hidesPlugin bool // a guard may be what is missing: see [Set.LostGuards]
}

// Error returns the place and the message.
func (e *Error) Error() string {
	if e.Place == (Place{}) {
		return e.Msg
	}
	return e.Place.String() + ": " + e.Msg
}

// Code returns the code that [Codes] explains, as "E0602".
func (e *Error) Code() string { return e.code }

// Unwrap returns the cause where a caller may test for it: fs.ErrNotExist of a
// file that a plugin reads.
func (e *Error) Unwrap() error { return e.err }

func errorAt(p Place, code, format string, args ...any) *Error {
	return &Error{Place: p, Msg: fmt.Sprintf(format, args...), code: code}
}

// A Warning is something that was ignored or has no effect, at its place.
type Warning struct {
	Place Place
	Msg   string
}

// String returns the place and the message.
func (w Warning) String() string { return (&Error{Place: w.Place, Msg: w.Msg}).Error() }

// joinErrors returns the errors in the order of their places in one file, as one
// error, nil if there are none.
func joinErrors(list []*Error) error {
	slices.SortStableFunc(list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Place.Line, b.Place.Line), cmp.Compare(a.Place.Col, b.Place.Col))
	})
	errs := make([]error, len(list))
	for i, e := range list {
		errs[i] = e
	}
	return errors.Join(errs...)
}

// reason returns what went wrong without the path, which the caller shows in the
// words of whoever named it.
func reason(err error) string {
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or folder"
	case errors.As(err, &path) && strings.Contains(path.Err.Error(), "escapes"):
		return "the link leaves the folder, which is refused: want a copy of the file inside"
	case errors.As(err, &path):
		return path.Err.Error()
	}
	return strings.TrimPrefix(err.Error(), "EvalSymlinks: ") // which has no error of its own for too many
}
