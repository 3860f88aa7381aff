// Package codes makes errors with a code of docs/errors.md, for code that is not the package that
// explains them.
package codes

import "github.com/starhost/starhost/internal/errtext"

// The codes of errors that are neither mistakes of a plugin nor of a caller.
const (
	Steps      = "E0401"
	Memory     = "E0402"
	Time       = "E0403"
	Permission = "E0501"
)

// An Error is an error with its code.
type Error struct{ code, text string }

func (e *Error) Error() string { return e.text }

// Code returns the code.
func (e *Error) Code() string { return e.code }

// Errorf returns an error with a formatted text: see [errtext.Format].
func Errorf(code, format string, args ...any) error {
	return &Error{code, errtext.Format(format, args...)}
}
