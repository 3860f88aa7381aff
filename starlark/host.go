package starlark

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// guardHostValue returns a copy of value in which every function charges cost.
func guardHostValue(name string, value starlark.Value, cost Cost) (starlark.Value, error) {
	switch v := value.(type) {
	case *starlarkstruct.Module:
		m := &starlarkstruct.Module{Name: v.Name, Members: make(starlark.StringDict, len(v.Members))}
		for _, member := range v.Members.Keys() {
			g, err := guardHostValue(name+"."+member, v.Members[member], cost)
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
		return guardHostFunc(v, cost), nil
	}
	return value, nil
}

// guardHostFunc returns a function that charges cost, calls fn and recovers its panics.
func guardHostFunc(fn starlark.Callable, cost Cost) *starlark.Builtin {
	return starlark.NewBuiltin(fn.Name(), func(
		th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
	) (_ starlark.Value, err error) {
		w := workerOf(th)
		defer w.recoverPanic(&err)
		if err := w.payHost(fn.Name(), cost, args, kwargs); err != nil {
			return nil, err
		}
		v, err := fn.CallInternal(th, args, kwargs)
		if err != nil {
			return nil, err
		}
		return v, w.payHostValue(fn.Name(), v)
	})
}

// payHost charges for a call of a host's function, before the function works.
func (w *worker) payHost(op string, cost Cost, args starlark.Tuple, kwargs []starlark.Tuple) error {
	if cost.BytesPerArgByte == 0 {
		return w.charge(op, cost.Steps, 0)
	}
	n, err := w.argsTextSize(op, args, kwargs)
	if err != nil {
		return err
	}
	return w.charge(op, addClamped(cost.Steps, textBytes.steps(n)), multiplyClamped(n, cost.BytesPerArgByte))
}

// argsTextSize returns an upper bound of the length of the text of all arguments.
func (w *worker) argsTextSize(op string, args starlark.Tuple, kwargs []starlark.Tuple) (uint64, error) {
	size := uint64(0)
	add := func(v starlark.Value) error {
		n, err := w.hostArgSize(op, v)
		size = addClamped(size, n)
		return err
	}
	for _, v := range args {
		if err := add(v); err != nil {
			return 0, err
		}
	}
	for _, kv := range kwargs {
		if err := add(kv[1]); err != nil {
			return 0, err
		}
	}
	return size, nil
}

// hostArgSize returns an upper bound of the length of v as the host writes it.
func (w *worker) hostArgSize(op string, v starlark.Value) (uint64, error) {
	if isAtom(v) {
		return w.argSize(op, false, v)
	}
	return w.walk(textWalk{w: w, op: op, expand: true}, v)
}

// payHostValue charges for the parts of a value that the host's code returned or reads. It charges for a part
// as often as the part occurs.
func (w *worker) payHostValue(op string, v starlark.Value) error {
	if isAtom(v) {
		return nil
	}
	if texts, ok := v.(TextValue); ok { // charges as the walk does, without its setup
		if err := w.payAs(op, quotedByteScan, uint64(texts.TextBytes())); err != nil {
			return err
		}
		return w.payAs(op, textNode, 1)
	}
	_, err := w.walk(textWalk{w: w, op: op, byteSize: 1}, v)
	return err
}

// payHostOperands charges for all values if one of them stands for a list or dict, because the
// host's operators may read all of them.
func (w *worker) payHostOperands(op string, values ...starlark.Value) error {
	if !slices.ContainsFunc(values, isHost) {
		return nil
	}
	for _, v := range values {
		if err := w.payHostValue(op, v); err != nil {
			return err
		}
	}
	return nil
}

// callHostMethod calls a method of a host's value. A method declares no cost, so callHostMethod charges by
// the length of the receiver, and for the result.
func (w *worker) callHostMethod(
	b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
) (_ starlark.Value, err error) {
	defer w.recoverPanic(&err)
	n := uint64(max(starlark.Len(b.Receiver()), 0))
	if err := w.charge(b.Name(), hostSteps+n/4, 0); err != nil {
		return nil, err
	}
	v, err := starlark.Call(&w.thread, b, args, kwargs)
	if err != nil {
		return nil, err
	}
	return v, w.payHostValue(b.Name(), v)
}

// payNestedCall charges for a call from one plugin to another.
func (w *worker) payNestedCall(op string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	n, err := w.argsTextSize(op, args, kwargs)
	if err != nil {
		return err
	}
	return w.charge(op, addClamped(nestedSteps, textBytes.steps(n)), n)
}

// payResult charges for the result of a handler, which the host will convert. It charges for a part as often
// as the part occurs, and reads no strings.
func (w *worker) payResult(v starlark.Value) error {
	n, err := w.resultSize("result", v)
	if err != nil {
		return err
	}
	return w.charge("result", textBytes.steps(n), n)
}

// resultSize returns an upper bound of the length of v as the host writes it.
func (w *worker) resultSize(op string, v starlark.Value) (uint64, error) {
	if isAtom(v) {
		return w.argSize(op, false, v)
	}
	return w.walk(textWalk{w: w, op: op, byteSize: maxQuoted, expand: true}, v)
}

// checkEnv refuses functions in the environment of a file, because nobody declared their cost. The host must
// give functions to Define.
func checkEnv(file string, env starlark.StringDict) error {
	for _, name := range env.Keys() {
		switch env[name].(type) {
		case starlark.Callable, *starlarkstruct.Module:
			return &Error{Pos: Pos{File: file}, Msg: name + ": a function of the host has no cost; define it with one", Code: "E0111"}
		}
	}
	return nil
}
