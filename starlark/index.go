package starlark

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// readIndex is the helper that replaces x[y].
func readIndex(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return getIndex(th, args[0], args[1])
}

func getIndex(th *starlark.Thread, x, y starlark.Value) (starlark.Value, error) {
	switch x := x.(type) {
	case starlark.Mapping:
		if _, ok := y.(starlark.Int); !ok {
			if err := workerOf(th).payKey("[]", y); err != nil {
				return nil, err
			}
		}
		v, found, err := x.Get(y)
		if err == nil && !found {
			err = missingKey(workerOf(th), x, y)
		}
		return v, err
	case starlark.Indexable:
		i, err := elementIndex(x, y)
		if err != nil {
			return nil, err
		}
		return x.Index(i), nil
	}
	return nil, fmt.Errorf("unhandled index operation %s[%s]", x.Type(), y.Type())
}

// missingKey returns the error for a key that is not in a mapping. It quotes a bounded part of the
// key.
func missingKey(w *worker, x, key starlark.Value) error {
	n, err := w.textSize("[]", key)
	if err != nil {
		return err
	}
	if n > maxErrorText {
		return fmt.Errorf("key (a %s of up to %d bytes) not in %s", key.Type(), n, x.Type())
	}
	return fmt.Errorf("key %v not in %s", key, x.Type())
}

// elementIndex returns the index of the element x[y]. A negative y counts from the end.
func elementIndex(x starlark.Indexable, y starlark.Value) (int, error) {
	n := x.Len()
	i, err := starlark.AsInt32(y)
	if err != nil {
		return 0, fmt.Errorf("%s index: %s", x.Type(), clip(err.Error(), maxErrorText))
	}
	return checkIndex(x, i, n)
}

func checkIndex(x starlark.Value, i, n int) (int, error) {
	from := i
	if i < 0 {
		i += n
	}
	if i >= 0 && i < n {
		return i, nil
	}
	if n == 0 {
		return 0, fmt.Errorf("index %d out of range: empty %s", from, x.Type())
	}
	return 0, fmt.Errorf("%s index %d out of range [%d:%d]", x.Type(), from, -n, n-1)
}

// assignIndex is the helper that replaces x[k] = v. Its arguments are v, x, k, because the interpreter
// evaluates them in that order.
func assignIndex(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return starlark.None, setIndex(th, args[1], args[2], args[0])
}

func setIndex(th *starlark.Thread, x, y, z starlark.Value) error {
	switch x := x.(type) {
	case *starlark.Dict:
		if _, ok := y.(starlark.Int); ok && x.Len() < watchedLen {
			return x.SetKey(y, z)
		}
		return workerOf(th).setKey("[]=", x, y, z)
	case starlark.HasSetKey:
		return x.SetKey(y, z)
	case starlark.HasSetIndex:
		n := x.Len()
		i, err := starlark.AsInt32(y)
		if err != nil {
			return errors.New(clip(err.Error(), maxErrorText))
		}
		if i, err = checkIndex(x, i, n); err != nil {
			return err
		}
		return x.SetIndex(i, z)
	}
	return fmt.Errorf("%s value does not support item assignment", x.Type())
}

// readSlice is the helper that replaces x[lo:hi:step].
func readSlice(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, ok := args[0].(starlark.Sliceable)
	if !ok {
		return nil, fmt.Errorf("invalid slice operand %s", args[0].Type())
	}
	step, err := sliceStep(args[3])
	if err != nil {
		return nil, err
	}
	start, end, err := sliceBounds(args[1], args[2], x.Len(), step)
	if err != nil {
		return nil, err
	}
	if err := workerOf(th).paySlice(x, start, end, step); err != nil {
		return nil, err
	}
	switch x := x.(type) {
	case *starlark.List:
		return starlark.NewList(copyElements(x, start, end, step)), nil
	case starlark.Tuple:
		return starlark.Tuple(copyElements(x, start, end, step)), nil
	}
	return x.Slice(start, end, step), nil
}

// copyElements returns the elements of a slice, in an array of exactly their number.
func copyElements(x sequence, start, end, step int) []starlark.Value {
	n := (max(end-start, start-end) + max(step, -step) - 1) / max(step, -step)
	out := make([]starlark.Value, n)
	for i := range out {
		out[i] = x.Index(start + i*step)
	}
	return out
}

func sliceStep(v starlark.Value) (int, error) {
	if v == starlark.None {
		return 1, nil
	}
	step, err := starlark.AsInt32(v)
	if err != nil {
		return 0, fmt.Errorf("invalid slice step: %s", clip(err.Error(), maxErrorText))
	}
	if step == 0 {
		return 0, errors.New("zero is not a valid slice step")
	}
	return step, nil
}

// sliceBounds returns the bounds that the interpreter computes for a slice: a negative bound counts from the
// end, and the result is between 0 and n.
func sliceBounds(lo, hi starlark.Value, n, step int) (start, end int, err error) {
	least, most := 0, n
	start, end = 0, n
	if step < 0 {
		least, most = -1, n-1
		start, end = n-1, -1
	}
	if start, err = sliceIndex(lo, n, start); err != nil {
		return 0, 0, fmt.Errorf("invalid start index: %s", err)
	}
	if end, err = sliceIndex(hi, n, end); err != nil {
		return 0, 0, fmt.Errorf("invalid end index: %s", err)
	}
	start, end = min(max(start, least), most), min(max(end, least), most)
	if step > 0 {
		return start, max(start, end), nil
	}
	return max(start, end), end, nil
}

func sliceIndex(v starlark.Value, n, none int) (int, error) {
	if v == starlark.None {
		return none, nil
	}
	i, err := starlark.AsInt32(v)
	if err != nil {
		return 0, errors.New(clip(err.Error(), maxErrorText))
	}
	if i < 0 {
		i += n
	}
	return i, nil
}

// paySlice charges for a slice. Its bounds are already between 0 and the length of x.
func (w *worker) paySlice(x starlark.Sliceable, start, end, step int) error {
	width := uint64(max(step, -step))
	count := (uint64(max(end-start, start-end)) + width - 1) / width
	switch x.(type) {
	case starlark.String, starlark.Bytes:
		if step == 1 {
			return w.pay(sliceText, 0) // the slice shares the bytes of x
		}
		return w.pay(sliceText, count)
	case *starlark.List, starlark.Tuple:
		return w.pay(sliceList, count)
	}
	if x.Type() == "range" {
		return checkStride(w, x, step)
	}
	return w.pay(sliceList, count)
}

// checkStride refuses a slice of a range if its stride would overflow in the interpreter, which
// panics if the stride becomes zero.
func checkStride(w *worker, x starlark.Sliceable, step int) error {
	const most = 1 << 53
	stride := uint64(1)
	if n := x.Len(); n > 1 {
		a, _ := x.Index(0).(starlark.Int).Int64()
		b, _ := x.Index(1).(starlark.Int).Int64()
		stride = uint64(max(b-a, a-b))
	} else if step != 1 {
		return checkShortStride(w, x, step)
	}
	if need := multiplyClamped(stride, uint64(max(step, -step))); need >= most {
		return w.stopAtLimit("integer size", "range slice", 64, 53, 0)
	}
	return nil
}

// checkShortStride checks the stride of a slice of a range that has at most one element. It reads the stride
// from the text of the range, because no two elements show it.
func checkShortStride(w *worker, x starlark.Sliceable, step int) error {
	var a, b, stride int64
	if n, _ := fmt.Sscanf(x.String(), "range(%d, %d, %d)", &a, &b, &stride); n < 3 {
		stride = 1
	}
	if multiplyClamped(uint64(max(stride, -stride)), uint64(max(step, -step))) >= 1<<53 {
		return w.stopAtLimit("integer size", "range slice", 64, 53, 0)
	}
	return nil
}

// An augmentTarget is the evaluated target x[y] or x.f of an augmented assignment, with its current
// value.
type augmentTarget struct {
	helper
	x, y  starlark.Value // y is nil if the target is a field
	field string
	value starlark.Value
}

// readElementTarget is the helper that replaces the first half of x[y] op= z: it evaluates x[y].
func readElementTarget(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	v, err := getIndex(th, args[0], args[1])
	if err != nil {
		return nil, err
	}
	return &augmentTarget{x: args[0], y: args[1], value: v}, nil
}

// readFieldTarget is the helper that replaces the first half of x.f op= z: it evaluates x.f.
func readFieldTarget(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	field := string(args[1].(starlark.String))
	v, err := getAttr(args[0], field)
	if err != nil {
		return nil, err
	}
	return &augmentTarget{x: args[0], field: field, value: v}, nil
}

// assignAugmented is the helper that replaces the second half of an augmented assignment: augment("+=",
// target, z) computes the new value and assigns it.
func assignAugmented(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	p := args[1].(*augmentTarget)
	z, err := applyInPlace(th, augmentedOps[string(args[0].(starlark.String))], p.value, args[2])
	if err != nil {
		return nil, err
	}
	if p.y != nil {
		return starlark.None, setIndex(th, p.x, p.y, z)
	}
	if s, ok := p.x.(starlark.HasSetField); ok {
		return starlark.None, s.SetField(p.field, z)
	}
	return nil, fmt.Errorf("can't assign to .%s field of %s", p.field, p.x.Type())
}

// augmentedOps maps an augmented assignment to its operator.
var augmentedOps = map[string]syntax.Token{
	"+=": syntax.PLUS, "-=": syntax.MINUS, "*=": syntax.STAR, "/=": syntax.SLASH,
	"//=": syntax.SLASHSLASH, "%=": syntax.PERCENT, "&=": syntax.AMP, "|=": syntax.PIPE,
	"^=": syntax.CIRCUMFLEX, "<<=": syntax.LTLT, ">>=": syntax.GTGT,
}
