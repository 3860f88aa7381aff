package starlark

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file is about sums of texts. The rewriter turns a sum such as "a " + ",".join(b) + " c" into
// one call of $sum instead of one call for each +, if it can prove that all terms are strings. Only
// a limit can make such a sum fail, so no script can observe the order of the additions.

// maxTerms is the largest number of terms of one call.
const maxTerms = 64

// textMethods are the methods of strings that return a string.
var textMethods = []string{
	"capitalize", "format", "join", "lower", "lstrip", "removeprefix", "removesuffix", "replace", "rstrip", "strip", "title", "upper",
}

// isText reports whether e yields a string whenever its evaluation does not fail. isText looks at most levels
// deep into e, and reports false for what is deeper.
func (r *rewriter) isText(e syntax.Expr, levels int) bool {
	if levels == 0 {
		return false
	}
	switch e := unparen(e).(type) {
	case *syntax.Literal:
		return e.Token == syntax.STRING
	case *syntax.BinaryExpr:
		return e.Op == syntax.PERCENT && r.isText(e.X, levels-1) ||
			e.Op == syntax.PLUS && r.isText(e.X, levels-1) && r.isText(e.Y, levels-1)
	case *syntax.CallExpr:
		switch fn := e.Fn.(type) {
		case *syntax.Ident:
			return (fn.Name == "str" || fn.Name == "repr") && !r.isShadowed(fn.Name)
		case *syntax.DotExpr:
			return slices.Contains(textMethods, fn.Name.Name) && r.isText(fn.X, levels-1)
		}
	}
	return false
}

// textTerms returns the terms of a sum of texts in their order. It returns nil if e is no such sum,
// if it has only two terms, or if all terms are literals, which the compiler adds.
func (r *rewriter) textTerms(e *syntax.BinaryExpr) []syntax.Expr {
	var list []syntax.Expr
	var x syntax.Expr = e
	for len(list) < maxTerms-1 {
		sum, ok := x.(*syntax.BinaryExpr)
		if !ok || sum.Op != syntax.PLUS {
			break
		}
		if !r.isText(sum.Y, maxLevels) {
			return nil
		}
		list = append(list, sum.Y)
		x = sum.X
	}
	list = append(list, x)
	if len(list) < 3 || !r.isText(x, maxTerms+maxLevels) || !slices.ContainsFunc(list, isNotLiteral) {
		return nil
	}
	slices.Reverse(list)
	return list
}

func isNotLiteral(e syntax.Expr) bool {
	_, ok := unparen(e).(*syntax.Literal)
	return !ok
}

// concatTexts is the helper $sum, which replaces a sum of strings. It joins its arguments, which are all
// strings.
func concatTexts(th *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	size := 0
	for _, a := range args {
		size += len(a.(starlark.String))
	}
	if err := workerOf(th).pay(textConcat, uint64(size)); err != nil {
		return nil, err
	}
	var b strings.Builder
	b.Grow(size)
	for _, a := range args {
		b.WriteString(string(a.(starlark.String)))
	}
	return starlark.String(b.String()), nil
}
