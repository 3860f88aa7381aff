package starlark

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starhost/starhost/internal/jsontext"
)

// A function is a row of the table of functions: the code and the price of a function of the
// universe.
type function struct {
	// pay charges for a call before the interpreter's own function works.
	pay payFunc
	// run works instead of the interpreter's function, and charges for it.
	run  guardedFunc
	note string // the price in words
}

type (
	// A guardedFunc does the work of a function and charges for it. The name is for errors.
	guardedFunc = func(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)
	// A payFunc charges for a call that the interpreter's own function executes.
	payFunc = func(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) error
)

// universe is the guarded universe. Predeclared names hide the names of the interpreter, so that no
// script reaches an unguarded function.
var universe = sync.OnceValue(func() starlark.StringDict {
	m := make(starlark.StringDict, len(functions))
	for name, f := range functions {
		stock, ok := starlark.Universe[name].(*starlark.Builtin)
		if !ok || f.pay == nil && f.run == nil {
			m[name] = starlark.Universe[name]
			continue
		}
		run := f.run
		if run == nil {
			run = payThenCall(f.pay, stock)
		}
		m[name] = newGuardedBuiltin(name, run)
	}
	return m
})

// payThenCall returns a function that calls pay, and then the interpreter's own function.
func payThenCall(pay payFunc, stock *starlark.Builtin) guardedFunc {
	return func(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := pay(w, name, args, kwargs); err != nil {
			return nil, err
		}
		return stock.CallInternal(&w.thread, args, kwargs)
	}
}

// newGuardedBuiltin returns a builtin that calls run with the worker of its thread.
func newGuardedBuiltin(name string, run guardedFunc) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(
		th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
	) (starlark.Value, error) {
		return run(workerOf(th), name, args, kwargs)
	})
}

// operand returns an argument by its position or its name, or nil.
func operand(args starlark.Tuple, kwargs []starlark.Tuple, i int, name string) starlark.Value {
	if i < len(args) {
		return args[i]
	}
	for _, kv := range kwargs {
		if kv[0] == starlark.String(name) {
			return kv[1]
		}
	}
	return nil
}

func payInt(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	if x, ok := operand(args, nil, 0, "").(starlark.Int); ok && !isSmallInt(x) {
		return w.payAs(name, intWords, words(x))
	}
	return nil
}

// payCopy charges for a new list or tuple with the elements of the argument.
func payCopy(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	p := elementCopy.withOp(name)
	if x := operand(args, nil, 0, ""); x != nil {
		return w.payElements(p, x)
	}
	return w.pay(p, 0)
}

func payEnumerate(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	x := operand(args, nil, 0, "")
	if x == nil {
		return nil
	}
	if start, ok := operand(args, nil, 1, "").(starlark.Int); ok {
		if n, ok := start.Int64(); ok && n > math.MaxInt64-maxSequence {
			return fmt.Errorf("%s: start %d is too large to count from", name, n)
		}
	}
	return w.payElements(enumeratedItem, x)
}

// makeRange implements range. It refuses ranges whose length or stride would overflow in the
// interpreter.
func makeRange(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var first, second int
	step := 1
	if err := starlark.UnpackPositionalArgs(name, args, kwargs, 1, &first, &second, &step); err != nil {
		return nil, err
	}
	start, stop := first, second
	if len(args) == 1 {
		start, stop = 0, first
	}
	if span := uint64(max(start, stop)) - uint64(min(start, stop)); span > math.MaxInt64 || step == math.MinInt {
		return nil, fmt.Errorf("%s: got %d to %d by %d, want a range of less than 1<<63", name, start, stop, step)
	}
	return starlark.Universe[name].(*starlark.Builtin).CallInternal(&w.thread, args, kwargs)
}

func payZip(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	rows, known := uint64(maxSequence)+1, len(args) > 0
	for _, a := range args {
		if n := starlark.Len(a); n >= 0 {
			rows = min(rows, uint64(n))
		} else {
			known = false
		}
	}
	if known {
		return w.paySequence(zipRow, multiplyClamped(rows, 1+uint64(len(args))/2))
	}
	// zip ends with its shortest argument. An argument without a length may be that one, so payElements
	// counts its elements.
	for _, a := range args {
		if n := starlark.Len(a); n < 0 {
			p := *zipItem
			p.bytes = zipRow.bytes + multiplyClamped(p.bytes, uint64(len(args)))
			return w.payElements(&p, a)
		}
	}
	return nil
}

func payBytesFunc(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	switch x := operand(args, nil, 0, "").(type) {
	case nil, starlark.Bytes:
		return nil
	case starlark.String:
		return w.pay(bytesOfText, uint64(len(x)))
	default:
		return w.payElements(bytesOfList, x)
	}
}

// payText charges for the text of the arguments. Strings have no quotes in it.
func payText(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	size := uint64(0)
	for _, a := range args {
		n, err := w.argSize(name, false, a)
		if err != nil {
			return err
		}
		if s, ok := a.(starlark.Bytes); ok {
			n = 3 * uint64(len(s)) // each invalid byte becomes U+FFFD
		}
		size = addClamped(size, n)
	}
	if sep, ok := operand(nil, kwargs, 0, "sep").(starlark.String); ok {
		size = addClamped(size, multiplyClamped(uint64(len(sep)), uint64(len(args))))
	}
	if _, whole := operand(args, nil, 0, "").(starlark.String); whole && name == "str" {
		return nil // str returns the string itself
	}
	return w.payAs(name, textBytes, size)
}

func payRepr(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	x := operand(args, nil, 0, "")
	if x == nil {
		return nil
	}
	n, err := w.textSize(name, x)
	if err != nil {
		return err
	}
	return w.payAs(name, textBytes, n)
}

// payFloat charges for parsing a number, or for converting a long integer.
func payFloat(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	switch x := operand(args, nil, 0, "").(type) {
	case starlark.String:
		if err := w.charge(name, uint64(jsontext.LongFloatSteps(string(x))), 0); err != nil {
			return err
		}
		return w.pay(floatOfText, uint64(min(len(x), maxErrorText)+len(x)))
	case starlark.Int:
		return w.payAs(name, wordPair, words(x))
	}
	return nil
}

// payParseInt charges for parsing an integer, which takes more than linear time.
func payParseInt(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	switch x := operand(args, kwargs, 0, "x").(type) {
	case starlark.String:
		if len(x) <= 64 {
			return nil
		}
		if bits := multiplyClamped(uint64(len(x)), 6); bits > 6*maxBits/4 {
			return w.stopAtLimit("integer size", name, multiplyClamped(uint64(len(x)), 4), maxBits, 0)
		}
		return w.pay(intOfText, uint64(len(x)))
	case starlark.Float:
		return w.pay(intOfFloat, 1)
	}
	return nil
}

func payHash(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	if n := starlark.Len(operand(args, nil, 0, "")); n > 0 {
		return w.pay(hashText, uint64(n))
	}
	return nil
}

// payOrd charges for the error of ord for a long string, because the interpreter counts the string's code
// points for it.
func payOrd(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	if s, ok := operand(args, nil, 0, "").(starlark.String); ok && len(s) > smallText {
		return w.pay(ordError, uint64(len(s)))
	}
	return nil
}

func payDir(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	n := uint64(64)
	if s, ok := operand(args, nil, 0, "").(*starlarkstruct.Struct); ok {
		n = uint64(s.Len())
	}
	return w.pay(dirName, n)
}

// payAttrName charges for an attribute lookup. It also charges for the error of a missing
// attribute, which compares all names.
func payAttrName(w *worker, name string, args starlark.Tuple, _ []starlark.Tuple) error {
	if s, ok := operand(args, nil, 0, "").(*starlarkstruct.Struct); ok && s.Len() > 16 {
		if err := w.payAs(name, structField, uint64(s.Len())); err != nil {
			return err
		}
	}
	if s, ok := operand(args, nil, 1, "").(starlark.String); ok {
		return w.payAs(name, nameBytes, uint64(len(s)))
	}
	return nil
}

// getAttrFunc implements getattr. Methods of core types that it returns are guarded.
func getAttrFunc(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := payAttrName(w, name, args, kwargs); err != nil {
		return nil, err
	}
	v, err := starlark.Universe["getattr"].(*starlark.Builtin).CallInternal(&w.thread, args, kwargs)
	if err != nil {
		return nil, errors.New(clip(err.Error(), maxErrorText))
	}
	return w.guardMethod(v)
}

// typeOf implements type(x). A host's value may name the type that it stands for.
func typeOf(w *worker, name string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) == 1 && len(kwargs) == 0 {
		if s, ok := args[0].(interface{ StandsFor() string }); ok {
			return starlark.String(s.StandsFor()), nil
		}
	}
	return starlark.Universe["type"].(*starlark.Builtin).CallInternal(&w.thread, args, kwargs)
}
