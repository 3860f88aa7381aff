package starlark

import (
	"cmp"
	"fmt"
	"math"
	"reflect"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// compare compares x and y as the interpreter does, and charges for each pair of values. If x contains one
// list at several places, the interpreter compares that list once for each place, so there can be far more
// pairs than values.
func (w *worker) compare(op syntax.Token, x, y starlark.Value) (bool, error) {
	return w.compareDepth(op, x, y, starlark.CompareLimit)
}

// compareScalars compares two scalars. It compares an integer with a float itself, because the interpreter
// makes fractions of integers of both, which takes 1 µs for 5e-324.
func compareScalars(op syntax.Token, x, y starlark.Value) (bool, error) {
	if i, ok := x.(starlark.Int); ok {
		if f, ok := y.(starlark.Float); ok {
			return starlark.Compare(op, starlark.MakeInt(compareWithFloat(i, float64(f))), starlark.MakeInt(0))
		}
	}
	if f, ok := x.(starlark.Float); ok {
		if i, ok := y.(starlark.Int); ok {
			return starlark.Compare(op, starlark.MakeInt(-compareWithFloat(i, float64(f))), starlark.MakeInt(0))
		}
	}
	return starlark.Compare(op, x, y)
}

// compareWithFloat compares a small integer with a float by their exact values. NaN is greater than
// all integers.
func compareWithFloat(x starlark.Int, f float64) int {
	const limit = 1 << 63
	i, _ := x.Int64()
	switch whole := math.Trunc(f); {
	case f != f || f >= limit:
		return -1
	case f < -limit:
		return 1
	case i != int64(whole):
		return cmp.Compare(i, int64(whole))
	default:
		return cmp.Compare(whole, f)
	}
}

// isScalar reports whether v is so small that comparing it with any value takes one step.
func isScalar(v starlark.Value) bool {
	switch v := v.(type) {
	case starlark.NoneType, starlark.Bool, starlark.Float:
		return true
	case starlark.Int:
		return isSmallInt(v)
	case starlark.String:
		return len(v) <= smallEqual
	}
	return false
}

func (w *worker) compareDepth(op syntax.Token, x, y starlark.Value, depth int) (bool, error) {
	if depth < 1 {
		return false, fmt.Errorf("comparison exceeded maximum recursion depth")
	}
	if isScalar(x) && isScalar(y) {
		return compareScalars(op, x, y)
	}
	if err := w.pay(valuePair, 1); err != nil {
		return false, err
	}
	switch x := x.(type) {
	case *starlark.List:
		if y, ok := y.(*starlark.List); ok {
			return w.compareSequences(op, x, y, depth)
		}
	case starlark.Tuple:
		if y, ok := y.(starlark.Tuple); ok {
			return w.compareSequences(op, x, y, depth)
		}
	case *starlark.Dict:
		if y, ok := y.(*starlark.Dict); ok && isEquality(op) {
			eq, err := w.equalDicts(x, y, depth)
			return eq == (op == syntax.EQL), err
		}
	case *starlark.Set:
		if y, ok := y.(*starlark.Set); ok {
			return w.compareSets(op, x, y)
		}
	case *starlarkstruct.Struct:
		if y, ok := y.(*starlarkstruct.Struct); ok && isEquality(op) {
			eq, err := w.equalStructs(x, y, depth)
			return eq == (op == syntax.EQL), err
		}
	}
	return w.compareByStock(op, x, y, depth)
}

func isEquality(op syntax.Token) bool { return op == syntax.EQL || op == syntax.NEQ }

// compareByStock charges for the whole comparison of two values, and then lets the interpreter compare them.
func (w *worker) compareByStock(op syntax.Token, x, y starlark.Value, depth int) (bool, error) {
	if err := w.payWhole(x, y); err != nil {
		return false, err
	}
	if err := w.payHostOperands("compare", x, y); err != nil {
		return false, err
	}
	if reflect.TypeOf(x) != reflect.TypeOf(y) {
		if c, ok := x.(starlark.Comparable); ok && isHost(x) {
			return c.CompareSameType(op, y, depth)
		}
		if c, ok := y.(starlark.Comparable); ok && isHost(y) {
			return c.CompareSameType(mirroredOps[op], x, depth)
		}
	}
	return starlark.CompareDepth(op, x, y, depth)
}

// mirroredOps maps an operator to its mirror image: x < y means y > x.
var mirroredOps = map[syntax.Token]syntax.Token{
	syntax.EQL: syntax.EQL, syntax.NEQ: syntax.NEQ,
	syntax.LT: syntax.GT, syntax.GT: syntax.LT, syntax.LE: syntax.GE, syntax.GE: syntax.LE,
}

// isHost reports whether the host defines the type of v. A value of the host may stand for a list or dict,
// and can compare itself with one.
func isHost(v starlark.Value) bool {
	_, ok := v.(interface{ StandsFor() string })
	return ok
}

func (w *worker) payWhole(x, y starlark.Value) error {
	switch x := x.(type) {
	case starlark.String:
		if y, ok := y.(starlark.String); ok {
			return w.pay(sameBytes, uint64(min(len(x), len(y))))
		}
	case starlark.Bytes:
		if y, ok := y.(starlark.Bytes); ok {
			return w.pay(sameBytes, uint64(min(len(x), len(y))))
		}
	case starlark.Int:
		if _, ok := y.(starlark.Float); ok {
			return w.pay(intRatio, words(x))
		}
		return w.pay(wordPair, words(x))
	case starlark.Float:
		if y, ok := y.(starlark.Int); ok {
			return w.pay(intRatio, words(y))
		}
	case TextValue:
		return w.pay(sameBytes, uint64(x.TextBytes()))
	case interface{ ComparedBytes() int }: // a host's value that compares long texts
		return w.pay(sameBytes, uint64(x.ComparedBytes()))
	}
	return nil
}

// A sequence is a list or a tuple.
type sequence interface {
	Len() int
	Index(i int) starlark.Value
}

func (w *worker) compareSequences(op syntax.Token, x, y sequence, depth int) (bool, error) {
	if x.Len() != y.Len() && isEquality(op) {
		return op == syntax.NEQ, nil
	}
	n := min(x.Len(), y.Len())
	for i := range n {
		if i >= min(x.Len(), y.Len()) {
			break // a comparison by a host's value shortened the list
		}
		if i&7 == 7 {
			if err := w.pay(valuePair, 8); err != nil {
				return false, err
			}
		}
		xi, yi := x.Index(i), y.Index(i)
		eq, err := w.compareDepth(syntax.EQL, xi, yi, depth-1)
		switch {
		case err != nil:
			return false, err
		case eq:
			continue
		case isEquality(op):
			return op == syntax.NEQ, nil
		}
		return w.compareDepth(op, xi, yi, depth-1)
	}
	return starlark.Compare(op, starlark.MakeInt(x.Len()), starlark.MakeInt(y.Len()))
}

func (w *worker) equalDicts(x, y *starlark.Dict, depth int) (bool, error) {
	if x.Len() != y.Len() {
		return false, nil
	}
	for k, v := range x.Entries() {
		if err := w.pay(valuePair, 2); err != nil {
			return false, err
		}
		if err := w.payKey("compare", k); err != nil {
			return false, err
		}
		other, found, err := y.Get(k)
		if err != nil || !found {
			return false, nil
		}
		if eq, err := w.compareDepth(syntax.EQL, v, other, depth-1); err != nil || !eq {
			return false, err
		}
	}
	return true, nil
}

// compareSets compares two sets by inclusion, as the interpreter does.
func (w *worker) compareSets(op syntax.Token, x, y *starlark.Set) (bool, error) {
	n, m := x.Len(), y.Len()
	switch op {
	case syntax.EQL, syntax.NEQ:
		same, err := n == m, error(nil)
		if same {
			same, err = w.includesAll(y, x)
		}
		return same == (op == syntax.EQL), err
	case syntax.LE, syntax.LT:
		if n > m || n == m && op == syntax.LT {
			return false, nil
		}
		return w.includesAll(y, x)
	}
	if n < m || n == m && op == syntax.GT {
		return false, nil
	}
	return w.includesAll(x, y)
}

// includesAll reports whether x contains all elements of y.
func (w *worker) includesAll(x, y *starlark.Set) (bool, error) {
	for k := range y.Elements() {
		if err := w.pay(valuePair, 1); err != nil {
			return false, err
		}
		if err := w.payKey("compare", k); err != nil {
			return false, err
		}
		if ok, err := x.Has(k); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func (w *worker) equalStructs(x, y *starlarkstruct.Struct, depth int) (bool, error) {
	if x.Len() != y.Len() {
		return false, nil
	}
	if eq, err := w.compareDepth(syntax.EQL, x.Constructor(), y.Constructor(), depth); err != nil || !eq {
		return false, err
	}
	for i := range x.Len() {
		if err := w.pay(valuePair, 1); err != nil {
			return false, err
		}
		name, v := x.AttrAt(i)
		other, z := y.AttrAt(i)
		if name != other {
			return false, nil
		}
		if eq, err := w.compareDepth(syntax.EQL, v, z, depth-1); err != nil || !eq {
			return false, err
		}
	}
	return true, nil
}

// paySets charges for an operation that hashes the elements of both sets again.
func (w *worker) paySets(op string, x, y starlark.Value) error {
	if err := w.payKeys(op, x); err != nil {
		return err
	}
	return w.payKeys(op, y)
}
