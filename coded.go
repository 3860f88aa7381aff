package starhost

import "github.com/starhost/starhost/internal/errtext"

// The codes of errors of this package that are neither mistakes of a plugin nor of a caller.
const (
	codeSteps      = "E0401"
	codeMemory     = "E0402"
	codeTime       = "E0403"
	codePermission = "E0501"
)

// A codedError is an error with its code, for adapters that explain codes.
type codedError struct{ code, text string }

func (e *codedError) Error() string { return e.text }
func (e *codedError) Code() string  { return e.code }

func codedErrorf(code, format string, args ...any) error {
	return &codedError{code, errtext.Format(format, args...)}
}
