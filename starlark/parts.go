package starlark

import (
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// What follows is about sums of texts that nobody but a function of the host sees, as
// in fragment(head + body). Such a sum is paid for as any other, but it is not made:
// the function gets its parts, and may find that it has the text already.

// A PartsTaker is a function of the host that takes a text in parts: the value that
// its first parameter, of that name, gets may have a method Parts() []string, and is
// then the text of these.
type PartsTaker interface {
	starlark.Callable
	PartsParam() string
}

// minParts is the least length in bytes of a text in parts: a shorter one is made.
const minParts = 1 << 10

// A textInParts is a string that was not made.
type textInParts struct {
	parts []string
	size  int
}

func (t *textInParts) Parts() []string       { return t.parts }
func (t *textInParts) made() starlark.String { return starlark.String(strings.Join(t.parts, "")) }
func (t *textInParts) String() string        { return t.made().String() }
func (t *textInParts) Type() string          { return "string" }
func (t *textInParts) Freeze()               {}
func (t *textInParts) Truth() starlark.Bool  { return true }
func (t *textInParts) Hash() (uint32, error) { return t.made().Hash() }

// sumInParts is the sum of its arguments, in parts if it is a long text. The first may be
// a text in parts, which nobody else has, so that it grows: many terms cost no more each.
func sumInParts(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	t, rest := new(textInParts), args
	if first, ok := args[0].(*textInParts); ok {
		t, rest = first, args[1:]
	}
	for _, a := range rest {
		text, ok := a.(starlark.String)
		if !ok {
			return binary(th, syntax.PLUS, madeOf(args[0]), args[1])
		}
		t.parts, t.size = append(t.parts, string(text)), t.size+len(text)
	}
	if err := workerOf(th).pay(concatText, uint64(t.size)); err != nil {
		return nil, err
	}
	if t.size < minParts {
		return t.made(), nil
	}
	return t, nil
}

// madeOf returns v, made if it is a text in parts.
func madeOf(v starlark.Value) starlark.Value {
	if t, ok := v.(*textInParts); ok {
		return t.made()
	}
	return v
}

// partsParam returns the parameter of a function that takes a text in parts, or "".
func (r *rewriter) partsParam(fn syntax.Expr) string {
	id, ok := fn.(*syntax.Ident)
	if !ok || r.inParts == nil || r.bound[id.Name] {
		return ""
	}
	return r.inParts(id.Name)
}

// sumInParts is expr for what may be a text in parts.
func (r *rewriter) sumInParts(e syntax.Expr) syntax.Expr {
	sum, ok := e.(*syntax.BinaryExpr)
	if !ok || sum.Op != syntax.PLUS || r.native(sum) {
		return r.expr(e)
	}
	r.nodes++
	if terms := r.terms(sum); terms != nil {
		return r.help(sum.OpPos, "$parts", r.exprs(terms)...)
	}
	return r.help(sum.OpPos, "$parts", r.sumInParts(sum.X), r.expr(sum.Y))
}
