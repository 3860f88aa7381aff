package loader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// A Place is the position of a setting or a file. The zero value stands for a built-in default or
// an argument.
type Place struct {
	// File is the path for messages: relative to the current folder or below "~". For a setting of
	// the environment it is the variable, such as "STARHOST_MODEL".
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

// in returns the place with file as its file. If file is "", it returns p unchanged.
func (p Place) in(file string) Place {
	p.File = cmp.Or(file, p.File)
	return p
}

// An Error is a mistake in the config or among the plugin files, at its place.
type Error struct {
	Place Place
	// Msg is one line without the place.
	Msg string
	// Plugin is the name of the required plugin that is not loaded (E0609); "" for other errors.
	Plugin string

	code string
	// fileFromHere is the path of the file from the user's folder, if Place names the file in the form of
	// positions. It is "" if Place has that path already.
	fileFromHere string
	err          error
	managed      bool // the error is about a path of the managed config
	hidesPlugin  bool // because of the error, a plugin is missing that may be a guard: see lostGuards
}

// Error returns the place and the message.
func (e *Error) Error() string {
	if e.Place == (Place{}) {
		return e.Msg
	}
	return e.Place.String() + ": " + e.Msg
}

// PlaceFromHere returns the place with the path of its file from the user's folder.
func (e *Error) PlaceFromHere() Place { return e.Place.in(e.fileFromHere) }

// Code returns the code that [Codes] explains, such as "E0602".
func (e *Error) Code() string { return e.code }

// Unwrap returns a cause that a caller may test for, such as fs.ErrNotExist if a plugin reads a
// missing file.
func (e *Error) Unwrap() error { return e.err }

func errorAt(p Place, code, format string, args ...any) *Error {
	return &Error{Place: p, Msg: fmt.Sprintf(format, args...), code: code}
}

// A Warning reports a setting or path that has no effect, with its place.
type Warning struct {
	Place Place
	Msg   string
	// Notice is set for a warning about this machine, which no change of the files removes. It is "unset" if
	// a variable of requires_env is missing, "grant" for a grant of a project that nobody trusts, and
	// "untrusted" for the other settings of such a project. It is "" for all other warnings.
	Notice string

	fileFromHere string // the same as Error.fileFromHere
}

// PlaceFromHere returns the place with the path of its file from the user's folder.
func (w Warning) PlaceFromHere() Place { return w.Place.in(w.fileFromHere) }

// String returns the place and the message.
func (w Warning) String() string { return (&Error{Place: w.PlaceFromHere(), Msg: w.Msg}).Error() }

// joinErrors joins the errors of one file in the order of their places. It returns nil if there
// are none.
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

// reason returns the cause of a failure without the path, because callers show the path in the form in which
// the user wrote it.
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
	return strings.TrimPrefix(err.Error(), "EvalSymlinks: ") // no error value stands for too many links
}
