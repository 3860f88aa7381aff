package builtins

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/builtins/call"
)

// assertEq implements assert_eq.
func assertEq(c call.Call) (starlark.Value, error) {
	var got, want starlark.Value
	if err := c.Bind("got", &got, "want", &want); err != nil {
		return nil, err
	}
	same, err := equalAsPlain(got, want, starlark.CompareLimit)
	if err != nil {
		return nil, c.Fail("E0318", "%v", err)
	}
	if same {
		return starlark.None, nil
	}
	return nil, assertionError(c, got, "want", want)
}

// assertionError returns the error of a failed assertion about two values.
func assertionError(c call.Call, got starlark.Value, want string, wanted starlark.Value) error {
	a, err := spell(c, got)
	if err != nil {
		return err
	}
	b, err := spell(c, wanted)
	if err != nil {
		return err
	}
	return c.Fail("E0318", "got %s, %s %s", a, want, b)
}

// assertContains implements assert_contains.
func assertContains(c call.Call) (starlark.Value, error) {
	var text, part starlark.Value
	if err := c.Bind("text", &text, "part", &part); err != nil {
		return nil, err
	}
	found, err := starlark.Binary(syntax.IN, part, text)
	if err != nil {
		return nil, c.Fail("E0318", "%v", err)
	}
	if found == starlark.True {
		return starlark.None, nil
	}
	return nil, assertionError(c, text, "want it to contain", part)
}

// assertFails implements assert_fails.
func assertFails(c call.Call) (starlark.Value, error) {
	var (
		fn   starlark.Callable
		text string
	)
	if err := c.Bind("fn", &fn, "text", &text); err != nil {
		return nil, err
	}
	v, err := starlark.Call(c.Thread, fn, nil, nil)
	if err == nil {
		return nil, c.Fail("E0318", "%s gave %s, want a failure", fn.Name(), v.Type())
	}
	msg := err.Error()
	if eval, ok := errors.AsType[*starlark.EvalError](err); ok {
		msg = eval.Msg
	}
	if !strings.Contains(msg, text) {
		return nil, c.Fail("E0318", "got the failure %s, want one with %s", fmt.Sprintf("%q", msg), fmt.Sprintf("%q", text))
	}
	return starlark.String(msg), nil
}
