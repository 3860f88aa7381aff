package starlark

import (
	"errors"
	"fmt"

	"github.com/starhost/starhost/internal/near"
	"go.starlark.net/starlark"
)

// readAttribute evaluates x.f, unless the script calls x.f at once.
func readAttribute(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	v, err := getAttr(args[0], string(args[1].(starlark.String)))
	if err != nil {
		return nil, err
	}
	return workerOf(th).guardMethod(v)
}

// getAttr is x.f of the interpreter, with a suggestion if x has no such field.
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
	if found := near.Name(name, h.AttrNames()); found != "" {
		msg += near.Hint("." + found)
	}
	return nil, errors.New(msg)
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
