package starlark

import (
	"fmt"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A helper does the work of an operation that the rewriter replaced. Its name starts with "$", so
// that no script can spell it. The helper of a method has the method's name, because errors show
// it.
type helper struct {
	name string
	run  func(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)
}

func (h *helper) Name() string          { return h.name }
func (h *helper) String() string        { return fmt.Sprintf("<built-in function %s>", h.name) }
func (h *helper) Type() string          { return "builtin_function_or_method" }
func (h *helper) Freeze()               {}
func (h *helper) Truth() starlark.Bool  { return true }
func (h *helper) Hash() (uint32, error) { return starlark.String(h.name).Hash() }

func (h *helper) CallInternal(
	th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, error) {
	return h.run(th, args, kwargs)
}

// helpers has all helpers by the names that rewritten source uses. Each operator, each other
// guarded syntax, and each method name of a core type has one.
var helpers = sync.OnceValue(func() starlark.StringDict {
	m := make(starlark.StringDict, 128)
	for name, do := range syntaxHelpers {
		m[name] = &helper{name, do}
	}
	for _, op := range guardedOps {
		m["$"+op.String()] = &helper{"$" + op.String(), binaryHelper(op)}
		m["$i"+op.String()+"="] = &helper{"$i" + op.String() + "=", inPlaceHelper(op)}
	}
	for _, op := range comparisonOps {
		m["$"+op.String()] = &helper{"$" + op.String(), compareHelper(op)}
	}
	for name, do := range methodHelpers() {
		m["$."+name] = &helper{name, do}
	}
	m["$none"] = starlark.None
	return m
})

// guardedOps are the binary operators that can do more work than their instruction pays for.
var guardedOps = []syntax.Token{
	syntax.PLUS, syntax.MINUS, syntax.STAR, syntax.SLASHSLASH, syntax.PERCENT,
	syntax.AMP, syntax.PIPE, syntax.CIRCUMFLEX, syntax.LTLT, syntax.GTGT,
}

var comparisonOps = []syntax.Token{syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE}

// An operation is the code of a helper.
type operation = func(th *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

// syntaxHelpers has the helpers of syntax other than binary operators.
var syntaxHelpers = map[string]operation{
	"$neg":      negate,
	"$~":        complement,
	"$in":       applyIn,
	"$not in":   applyNotIn,
	"$index":    readIndex,
	"$setindex": assignIndex,
	"$slice":    readSlice,
	"$attr":     readAttribute,
	"$ref":      readElementTarget,
	"$fref":     readFieldTarget,
	"$aug":      assignAugmented,
	"$sum":      concatTexts,
	"$key":      payKeyOfDisplay,
	"$entry":    payFirstKey,
	"$dict":     newEmptyDict,
	"$dictcomp": dictOfPairs,
	"$enter":    payFrame,
	"$star":     payStarArgs,
	"$kwstar":   payKeywordArgs,
}

func binaryHelper(op syntax.Token) operation {
	return func(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return applyBinary(th, op, args[0], args[1])
	}
}

func inPlaceHelper(op syntax.Token) operation {
	return func(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return applyInPlace(th, op, args[0], args[1])
	}
}

func compareHelper(op syntax.Token) operation {
	return func(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		ok, err := workerOf(th).compare(op, args[0], args[1])
		return starlark.Bool(ok), err
	}
}

// payFrame is the helper enter(steps, bytes). It charges for the frame of a large function, and for
// the dict of its **kwargs.
func payFrame(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	steps, _ := args[0].(starlark.Int).Uint64()
	bytes, _ := args[1].(starlark.Int).Uint64()
	return starlark.None, workerOf(th).charge("call", steps, bytes)
}

// payStarArgs charges for the elements of *args in a call.
func payStarArgs(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return args[0], workerOf(th).payElements(starArg, args[0])
}

// payKeywordArgs charges for the entries of **kwargs in a call.
func payKeywordArgs(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	n := starlark.Len(args[0])
	if n <= 0 {
		return args[0], nil
	}
	// The interpreter compares each name with the parameters of the called function, one after the other.
	w := workerOf(th)
	if err := w.charge(keywordArg.op, multiplyClamped(uint64(n), maxParams/16), 0); err != nil {
		return nil, err
	}
	if err := w.pay(keywordArg, uint64(n)); err != nil {
		return nil, err
	}
	return args[0], w.forEach(keywordArg.op, elementVisit, args[0], func(k starlark.Value) error {
		if n := starlark.Len(k); n > maxErrorText { // the error of a function without such a parameter quotes the name
			if err := w.charge(keywordArg.op, 0, multiplyClamped(uint64(n), 4)); err != nil {
				return err
			}
		}
		return w.payKey(keywordArg.op, k)
	})
}
