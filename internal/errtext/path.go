package errtext

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A PathError reports a value that cannot be converted, and the path to it inside another
// value.
type PathError struct {
	path []string // the innermost step is first
	msg  string
}

func (e *PathError) Error() string {
	if len(e.path) == 0 {
		return e.msg
	}
	const most = 8
	path := slices.Clone(e.path[max(0, len(e.path)-most):])
	slices.Reverse(path)
	if len(e.path) > most {
		path = append(path, "…")
	}
	return "at " + strings.Join(path, "") + ": " + e.msg
}

// PathErrorf returns an error without a path yet, for a value that a path leads to.
func PathErrorf(format string, args ...any) *PathError {
	return &PathError{msg: fmt.Sprintf(format, args...)}
}

// Under adds a step to the front of the error's path.
func Under(step string, err error) error {
	if e, ok := errors.AsType[*PathError](err); ok {
		e.path = append(e.path, step)
	}
	return err
}

// KeyStep returns the step to the member named key, such as `.a` or `["b c"]`.
func KeyStep(key string) string {
	if key == "" {
		return `[""]`
	}
	for i := 0; i < len(key); i++ {
		if b := key[i] | 0x20; (b < 'a' || b > 'z') && key[i] != '_' && (i == 0 || key[i] < '0' || key[i] > '9') {
			return "[" + Quote(key) + "]"
		}
	}
	return "." + key
}
