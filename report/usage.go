package report

import (
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/starlark"
)

// A UsageError is a mistake of the caller, as on the command line, with the code E0701.
type UsageError struct {
	Msg  string
	Help string // advice, "" for none

	Where *starlark.Error // a mistake in a text that the caller names, instead of Msg; or nil
}

func (e *UsageError) Error() string {
	if e.Where != nil {
		return e.Where.Error()
	}
	return e.Msg
}

// Usagef returns a [UsageError] with a formatted text.
func Usagef(format string, args ...any) error {
	return &UsageError{Msg: errtext.Format(format, args...)}
}
