package starlark

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// guardHost returns value with all functions in it made to pay cost.
func guardHost(name string, value starlark.Value, cost Cost) (starlark.Value, error) {
	switch v := value.(type) {
	case *starlarkstruct.Module:
		m := &starlarkstruct.Module{Name: v.Name, Members: make(starlark.StringDict, len(v.Members))}
		for _, member := range v.Members.Keys() {
			g, err := guardHost(name+"."+member, v.Members[member], cost)
			if err != nil {
				return nil, err
			}
			m.Members[member] = g
		}
		return m, nil
	case starlark.Callable:
		if cost == (Cost{}) {
			return nil, fmt.Errorf("%s: a function needs a cost, got none", name)
		}
		return hostFunc(v, cost), nil
	}
	return value, nil
}

// hostFunc makes fn pay before it works, and keeps its panics from the process.
func hostFunc(fn starlark.Callable, cost Cost) *starlark.Builtin {
	return starlark.NewBuiltin(fn.Name(), func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (_ starlark.Value, err error) {
		w := workerOf(th)
		defer w.contain(&err)
		if err := w.payHost(fn.Name(), cost, args, kwargs); err != nil {
			return nil, err
		}
		return fn.CallInternal(th, args, kwargs)
	})
}

// payHost charges a call of a host's function before it works.
func (w *worker) payHost(op string, cost Cost, args starlark.Tuple, kwargs []starlark.Tuple) error {
	return w.charge(op, cost.Steps, 0)
}
