package starlark

import (
	"errors"
	"math"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// applyBinary is the helper that replaces x op y.
func applyBinary(th *starlark.Thread, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	if format, ok := x.(starlark.String); ok && op == syntax.PERCENT {
		return workerOf(th).interpolate(format, y)
	}
	if err := workerOf(th).payBinary(op, x, y); err != nil {
		return nil, err
	}
	return starlark.Binary(op, x, y)
}

// payBinary charges for x op y by the type of x. An operation without a case here is one small
// step, or an error of the interpreter.
func (w *worker) payBinary(op syntax.Token, x, y starlark.Value) error {
	switch x := x.(type) {
	case starlark.Int:
		return w.payInteger(op, x, y)
	case starlark.Float:
		return w.payRemainder(op, x, y)
	case starlark.String:
		return w.payString(op, x, y)
	case starlark.Bytes:
		return w.payBytes(op, x, y)
	case *starlark.List, starlark.Tuple:
		return w.paySequences(op, x, y)
	case *starlark.Dict:
		if y, ok := y.(*starlark.Dict); ok && op == syntax.PIPE {
			return w.payUnion(op, x, y)
		}
	case *starlark.Set:
		if y, ok := y.(*starlark.Set); ok {
			return w.payUnion(op, x, y)
		}
	case *starlarkstruct.Struct:
		if y, ok := y.(*starlarkstruct.Struct); ok {
			return w.pay(structSum, uint64(x.Len()+y.Len()))
		}
	}
	return w.payHostOperands(op.String(), x, y)
}

func (w *worker) payInteger(op syntax.Token, x starlark.Int, y starlark.Value) error {
	switch y := y.(type) {
	case starlark.Int:
		if isSmallInt(x) && isSmallInt(y) && op != syntax.LTLT {
			return nil
		}
		return w.payIntegers(op, x, y)
	case starlark.Float:
		if err := w.pay(wordPair, words(x)); err != nil {
			return err
		}
		return w.payRemainder(op, x, y)
	}
	if op == syntax.STAR {
		return w.payRepeat(y, x)
	}
	return nil
}

// payRemainder charges for x % y of floats, which shifts y bit by bit until it exceeds x.
func (w *worker) payRemainder(op syntax.Token, x, y starlark.Value) error {
	if op != syntax.PERCENT {
		return nil
	}
	a, ok := starlark.AsFloat(x)
	b, isNumber := starlark.AsFloat(y)
	if !ok || !isNumber || a == 0 || b == 0 || math.IsInf(a, 0) || math.IsNaN(a) || math.IsInf(b, 0) || math.IsNaN(b) {
		return nil
	}
	return w.pay(floatShift, uint64(max(0, math.Ilogb(a)-math.Ilogb(b))))
}

// payIntegers charges for an operation on integers that may be long. It refuses a result of more
// than maxBits bits.
func (w *worker) payIntegers(op syntax.Token, x, y starlark.Int) error {
	bits := max(bitLen(x), bitLen(y)) + 1
	switch op {
	case syntax.STAR:
		bits = bitLen(x) + bitLen(y)
		if err := w.pay(intProduct, words(x)*words(y)); err != nil {
			return err
		}
	case syntax.SLASHSLASH, syntax.PERCENT:
		if err := w.pay(intDivision, words(x)*words(y)); err != nil {
			return err
		}
	case syntax.LTLT:
		n, ok := y.Uint64()
		if !ok || n >= 512 {
			return nil // the interpreter returns the error
		}
		bits = bitLen(x) + n
	case syntax.GTGT:
		bits = bitLen(x)
	}
	if bits > maxBits && op != syntax.GTGT {
		return w.stopAtLimit("integer size", op.String(), bits, maxBits, 0)
	}
	if bits <= 64 {
		return nil
	}
	return w.payAs(op.String(), intWords, bits/64+1)
}

func (w *worker) payString(op syntax.Token, x starlark.String, y starlark.Value) error {
	switch op {
	case syntax.PLUS:
		if y, ok := y.(starlark.String); ok {
			return w.pay(textConcat, uint64(len(x)+len(y)))
		}
	case syntax.STAR:
		if n, ok := y.(starlark.Int); ok {
			return w.payRepeat(x, n)
		}
	}
	return nil
}

func (w *worker) payBytes(op syntax.Token, x starlark.Bytes, y starlark.Value) error {
	switch y := y.(type) {
	case starlark.Bytes:
		if op == syntax.PLUS {
			return w.pay(textConcat, uint64(len(x)+len(y)))
		}
	case starlark.Int:
		if op == syntax.STAR {
			return w.payRepeat(x, y)
		}
	}
	return nil
}

func (w *worker) paySequences(op syntax.Token, x, y starlark.Value) error {
	if n, ok := y.(starlark.Int); ok && op == syntax.STAR {
		return w.payRepeat(x, n)
	}
	if n := starlark.Len(y); n >= 0 && op == syntax.PLUS {
		return w.paySequence(listConcat, uint64(starlark.Len(x)+n))
	}
	return w.payHostOperands(op.String(), y)
}

// payRepeat charges for v * n. It charges nothing for a count that the interpreter refuses.
func (w *worker) payRepeat(v starlark.Value, n starlark.Int) error {
	count, ok := n.Int64()
	if !ok || count < 1 || count >= 1<<30 {
		return nil
	}
	p := listRepeat
	switch v.(type) {
	case starlark.String, starlark.Bytes:
		p = textRepeat
	case *starlark.List, starlark.Tuple:
	default:
		return nil
	}
	size := multiplyClamped(uint64(starlark.Len(v)), uint64(count))
	if size >= 1<<30 {
		return nil
	}
	return w.pay(p, size)
}

// payUnion charges for an operator of two dicts or two sets. The operator hashes both again, and
// its result may contain all entries of both.
func (w *worker) payUnion(op syntax.Token, x, y starlark.Value) error {
	if err := w.payAs(op.String(), newTable, 1); err != nil {
		return err
	}
	n := uint64(starlark.Len(x) + starlark.Len(y))
	if err := w.payAs(op.String(), newEntry, n); err != nil {
		return err
	}
	if err := w.paySets(op.String(), x, y); err != nil {
		return err
	}
	return w.payChains(op.String(), x, y)
}

// payChains charges for the collisions of an insertion of all keys of the tables into a new table.
func (w *worker) payChains(op string, tables ...starlark.Value) error {
	total := 0
	for _, t := range tables {
		total += max(starlark.Len(t), 0)
	}
	if total < watchedLen {
		return nil
	}
	fresh := new(starlark.List) // fresh stands for the new table, which does not exist yet
	for _, t := range tables {
		err := w.forEach(op, noCharge, t, func(k starlark.Value) error {
			return w.chargeCollisions(op, fresh, k, total, 1)
		})
		if err != nil {
			return err
		}
	}
	delete(w.sketches, fresh)
	return nil
}

// applyInPlace is the helper that replaces x op= y. It changes a list or a dict in place.
func applyInPlace(th *starlark.Thread, op syntax.Token, x, y starlark.Value) (starlark.Value, error) {
	w := workerOf(th)
	switch x := x.(type) {
	case *starlark.List:
		if _, ok := y.(starlark.Iterable); ok && op == syntax.PLUS {
			return x, w.extendList(x, y)
		}
	case *starlark.Dict:
		if y, ok := y.(*starlark.Dict); ok && op == syntax.PIPE {
			return x, w.mergeInto(x, y)
		}
	}
	return applyBinary(th, op, x, y)
}

// extendList appends the elements of y to a list: x += y.
func (w *worker) extendList(x *starlark.List, y starlark.Value) error {
	if err := w.payElements(listGrowth, y); err != nil {
		return err
	}
	if _, err := stockMethod(x, "extend").CallInternal(&w.thread, starlark.Tuple{y}, nil); err != nil {
		return errors.New(strings.Replace(err.Error(), "extend: cannot extend", "cannot apply += to", 1))
	}
	return nil
}

// mergeInto inserts the entries of y into x: x |= y.
func (w *worker) mergeInto(x, y *starlark.Dict) error {
	if err := w.payAs("|=", newEntry, uint64(y.Len())); err != nil {
		return err
	}
	for _, item := range y.Items() {
		if err := w.pay(elementVisit, 1); err != nil {
			return err
		}
		if err := w.setKey("|=", x, item[0], item[1]); err != nil {
			if w.stopCause != nil {
				return err
			}
			return errors.New(strings.Replace(err.Error(), "insert into", "apply |= to", 1))
		}
	}
	return nil
}

// stockMethod returns the interpreter's own method of a value of a core type.
func stockMethod(recv starlark.Value, name string) *starlark.Builtin {
	v, _ := recv.(starlark.HasAttrs).Attr(name)
	return v.(*starlark.Builtin)
}

// negate is the helper that replaces -x.
func negate(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return applyUnary(th, syntax.MINUS, args[0])
}

// complement is the helper that replaces ~x.
func complement(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return applyUnary(th, syntax.TILDE, args[0])
}

func applyUnary(th *starlark.Thread, op syntax.Token, x starlark.Value) (starlark.Value, error) {
	if i, ok := x.(starlark.Int); ok && !isSmallInt(i) {
		if err := workerOf(th).payAs(op.String(), intWords, words(i)); err != nil {
			return nil, err
		}
	}
	return starlark.Unary(op, x)
}

// applyIn is the helper that replaces x in y.
func applyIn(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	ok, err := workerOf(th).contains(args[0], args[1])
	return starlark.Bool(ok), err
}

func applyNotIn(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	ok, err := workerOf(th).contains(args[0], args[1])
	return starlark.Bool(!ok), err
}

func (w *worker) contains(x, y starlark.Value) (bool, error) {
	switch y := y.(type) {
	case *starlark.List:
		i, err := w.indexOf("in", y, x, 0, y.Len())
		return i >= 0, err
	case starlark.Tuple:
		i, err := w.indexOf("in", y, x, 0, len(y))
		return i >= 0, err
	case *starlark.Dict, *starlark.Set:
		if err := w.payKey("in", x); err != nil {
			return false, err
		}
	case starlark.String:
		if err := w.payScan("in", len(y), x); err != nil {
			return false, err
		}
	case starlark.Bytes:
		if err := w.payScan("in", len(y), x); err != nil {
			return false, err
		}
	default:
		if y.Type() == "range" && isFarNumber(x) {
			return false, nil // the interpreter would write the number into an error, and drop the error
		}
		if err := w.payHostOperands("in", y); err != nil {
			return false, err
		}
	}
	v, err := starlark.Binary(syntax.IN, x, y)
	if err != nil {
		return false, err
	}
	return bool(v.Truth()), nil
}

// isFarNumber reports whether v is a number beyond 64 bits.
func isFarNumber(v starlark.Value) bool {
	switch v := v.(type) {
	case starlark.Int:
		return !isSmallInt(v)
	case starlark.Float:
		f := math.Abs(float64(v))
		return f >= 1<<63 && !math.IsInf(f, 0)
	}
	return false
}

// indexOf returns the index of x among the elements of y, or -1.
func (w *worker) indexOf(op string, y sequence, x starlark.Value, start, end int) (int, error) {
	for i := start; i < end; i++ {
		if i&7 == 7 {
			if err := w.payAs(op, elementVisit, 4); err != nil {
				return -1, err
			}
		}
		eq, err := w.compareDepth(syntax.EQL, y.Index(i), x, starlark.CompareLimit)
		if err != nil {
			return -1, err
		}
		if eq {
			return i, nil
		}
	}
	return -1, nil
}

// payScan charges for a search of needle in n bytes of text. The search takes linear time, except
// for needles that nearly match in many places.
func (w *worker) payScan(op string, n int, needle starlark.Value) error {
	if n <= smallText {
		return nil
	}
	m := uint64(0)
	switch needle := needle.(type) {
	case starlark.String:
		m = uint64(len(needle))
	case starlark.Bytes:
		m = uint64(len(needle))
	}
	return w.payAs(op, scannedByte, multiplyClamped(uint64(n), 1+min(m, uint64(n))/64))
}
