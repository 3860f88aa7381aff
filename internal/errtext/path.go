package errtext

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A PathError is a value that JSON cannot say, and where it stands.
type PathError struct {
	path []string // steps, innermost first
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

func PathErrorf(format string, args ...any) *PathError {
	return &PathError{msg: fmt.Sprintf(format, args...)}
}

// Under puts one step in front of the error's path.
func Under(step string, err error) error {
	var e *PathError
	if errors.As(err, &e) {
		e.path = append(e.path, step)
	}
	return err
}

// KeyStep spells the step to the member named key.
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
