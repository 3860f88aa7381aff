package builtins

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A jsonError is a value that JSON cannot say, and where it stands.
type jsonError struct {
	path []string // steps, innermost first
	msg  string
}

func (e *jsonError) Error() string {
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

func jsonErrorf(format string, args ...any) *jsonError {
	return &jsonError{msg: fmt.Sprintf(format, args...)}
}

// under puts one step in front of the error's path.
func under(step string, err error) error {
	var e *jsonError
	if errors.As(err, &e) {
		e.path = append(e.path, step)
	}
	return err
}

// keyStep spells the step to the member named key.
func keyStep(key string) string {
	if key == "" {
		return `[""]`
	}
	for i := 0; i < len(key); i++ {
		if b := key[i] | 0x20; (b < 'a' || b > 'z') && key[i] != '_' && (i == 0 || key[i] < '0' || key[i] > '9') {
			return "[" + quoteShort(key) + "]"
		}
	}
	return "." + key
}
