package starlark

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starhost/starhost/internal/near"
)

// readAttribute is the helper that replaces x.f. Where a script calls x.f(...) at once, the helper of the
// method replaces the call instead.
func readAttribute(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	v, err := getAttr(args[0], string(args[1].(starlark.String)))
	if err != nil {
		return nil, err
	}
	return workerOf(th).guardMethod(v)
}

// getAttr returns the field x.f as the interpreter does. If x has no such field, the error suggests a similar
// name.
func getAttr(x starlark.Value, name string) (starlark.Value, error) {
	h, ok := x.(starlark.HasAttrs)
	if !ok {
		return nil, fmt.Errorf("%s has no .%s field or method", x.Type(), name)
	}
	v, err := h.Attr(name)
	if v != nil && err == nil {
		return v, nil
	}
	msg := fmt.Sprintf("%s has no .%s field or method", x.Type(), name)
	if err != nil {
		none, ok := err.(starlark.NoSuchAttrError)
		if !ok {
			return nil, err
		}
		msg = string(none)
	}
	names := h.AttrNames()
	if found := near.Name(name, names); found != "" {
		return nil, errors.New(msg + near.Hint("."+found))
	}
	return nil, &memberError{msg, nameOf(x), name, names}
}

// A memberError reports that a value has no member of the name that a script wrote, and that no other member
// has a similar name.
type memberError struct {
	msg, object, name string
	names             []string
}

func (e *memberError) Error() string { return e.msg }

// maxListed is the most members that an error lists, because a reader does not read a longer list.
const maxListed = 24

// Help returns the Starlark way to write what the script wrote by a habit of Python's. Without such a habit,
// it lists the members of the value.
func (e *memberError) Help() string {
	if help := helpFor(e.msg, e.object+"."+e.name); help != "" || len(e.names) == 0 || len(e.names) > maxListed {
		return help
	}
	return clip(e.object+" has "+strings.Join(e.names, ", "), maxSource)
}

// nameOf returns the name of a module, or the type of any other value.
func nameOf(x starlark.Value) string {
	if m, ok := x.(*starlarkstruct.Module); ok {
		return m.Name
	}
	return x.Type()
}

// guardMethod returns the guarded method for a bound method, and any other value unchanged.
func (w *worker) guardMethod(v starlark.Value) (starlark.Value, error) {
	b, ok := v.(*starlark.Builtin)
	if !ok || b.Receiver() == nil {
		return v, nil
	}
	if err := w.pay(boundMethod, 1); err != nil {
		return nil, err
	}
	if m := methodOf(b.Receiver(), b.Name()); m != nil {
		return m.value.BindReceiver(b.Receiver()), nil
	}
	guarded := starlark.NewBuiltin(b.Name(), func(
		th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
	) (starlark.Value, error) {
		return workerOf(th).callHostMethod(b, args, kwargs)
	})
	return guarded.BindReceiver(b.Receiver()), nil
}
