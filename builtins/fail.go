package builtins

import (
	"strings"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
)

// A failError is the error that fail(...) raises.
type failError struct{ message string }

func (e *failError) Error() string { return "fail: " + e.message }

// Code returns the error code that explains fail.
func (e *failError) Code() string { return "E0301" }

// raiseFail implements fail.
//
// It joins its arguments as upstream does, but raises an error of a type that tools can
// distinguish. It pays for the whole text, because few values can print much. Bytes that are
// not UTF-8 become U+FFFD, because a second error would hide the plugin's message.
func raiseFail(c call.Call) (starlark.Value, error) {
	sep := " "
	if err := c.BindArgs(nil, c.Kwargs, "sep?", &sep); err != nil {
		return nil, err
	}
	parts := make([]string, len(c.Args))
	for i, arg := range c.Args {
		text, ok := starlark.AsString(arg)
		if !ok {
			text = arg.String()
		}
		if err := c.Pay(1+len(text)/64, len(text)+len(sep)); err != nil {
			return nil, err
		}
		parts[i] = text
	}
	return nil, &failError{asText(strings.Join(parts, sep))}
}

// spell returns v in the form in which a plugin writes it. It pays for each part before it prints the part,
// because few values can print much.
func spell(c call.Call, v starlark.Value) (string, error) {
	p := textPayer{Call: c}
	if err := p.value(v, 0); err != nil {
		return "", err
	}
	return v.String(), nil
}
