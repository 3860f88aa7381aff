package builtins

import (
	"math/big"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/starnames"
)

// findPlugin returns the call of plugin(...) in a file, or nil if there is none. A file has at most one,
// which must be a statement at the top level.
func findPlugin(f *syntax.File) (*syntax.CallExpr, error) {
	var calls []*syntax.CallExpr
	syntax.Walk(f, func(n syntax.Node) bool {
		if expr, ok := n.(*syntax.CallExpr); ok && isName(expr.Fn, "plugin") {
			calls = append(calls, expr)
		}
		return true
	})
	if len(calls) == 0 || starnames.Globals(f)["plugin"] {
		return nil, nil
	}
	for i, expr := range calls {
		start, _ := expr.Span()
		switch {
		case !slices.ContainsFunc(f.Stmts, func(s syntax.Stmt) bool { return callOf(s, "plugin") == expr }):
			return nil, call.Errorf("E0302", "plugin: must be a separate statement at the top level: it is read without running the file").At(start)
		case i > 0:
			first, _ := calls[0].Span()
			return nil, call.Errorf("E0302", "plugin: is already called at %s", posOf(first)).At(start)
		}
	}
	return calls[0], nil
}

// callOf returns the call that a statement is, if it calls the named function, or nil.
func callOf(stmt syntax.Stmt, name string) *syntax.CallExpr {
	if x, ok := stmt.(*syntax.ExprStmt); ok {
		if expr, ok := x.X.(*syntax.CallExpr); ok && isName(expr.Fn, name) {
			return expr
		}
	}
	return nil
}

func isName(x syntax.Expr, name string) bool {
	id, ok := x.(*syntax.Ident)
	return ok && id.Name == name
}

// literal returns the value of an expression that is a literal: a string, a number with or without a sign,
// True, False, None, or a list or dict of literals.
func literal(x syntax.Expr) (starlark.Value, error) {
	switch x := x.(type) {
	case *syntax.Literal:
		if v := literalValue(x.Value); v != nil && x.Token != syntax.BYTES {
			return v, nil
		}
	case *syntax.Ident:
		if v, ok := map[string]starlark.Value{"None": starlark.None, "True": starlark.True, "False": starlark.False}[x.Name]; ok {
			return v, nil
		}
	case *syntax.ParenExpr:
		return literal(x.X)
	case *syntax.UnaryExpr:
		lit, ok := x.X.(*syntax.Literal)
		signed := x.Op == syntax.MINUS || x.Op == syntax.PLUS
		if ok && signed && lit.Token != syntax.STRING && lit.Token != syntax.BYTES {
			return starlark.Unary(x.Op, literalValue(lit.Value))
		}
	case *syntax.ListExpr:
		return literalList(x)
	case *syntax.DictExpr:
		return literalDict(x)
	}
	start, _ := x.Span()
	return nil, call.Errorf("E0302", "plugin: want a literal (a string, a number, True, False, None, a list or a dict of these): it is read without running the file").At(start)
}

// literalValue converts a literal of the parser to a Starlark value.
func literalValue(v any) starlark.Value {
	switch v := v.(type) {
	case string:
		return starlark.String(v)
	case int64:
		return starlark.MakeInt64(v)
	case *big.Int:
		return starlark.MakeBigInt(v)
	case float64:
		return starlark.Float(v)
	}
	return nil
}

func literalList(x *syntax.ListExpr) (starlark.Value, error) {
	elems := make([]starlark.Value, len(x.List))
	for i, e := range x.List {
		v, err := literal(e)
		if err != nil {
			return nil, err
		}
		elems[i] = v
	}
	return starlark.NewList(elems), nil
}

func literalDict(x *syntax.DictExpr) (starlark.Value, error) {
	dict := starlark.NewDict(len(x.List))
	var flood call.KeyFlood
	for _, e := range x.List {
		entry := e.(*syntax.DictEntry)
		k, err := literal(entry.Key)
		if err != nil {
			return nil, err
		}
		v, err := literal(entry.Value)
		if err != nil {
			return nil, err
		}
		start, _ := entry.Span()
		if err := flood.Add(k); err != nil {
			return nil, call.Errorf("E0302", "plugin: %v", err).At(start)
		}
		if _, found, err := dict.Get(k); found || err != nil {
			return nil, call.Errorf("E0302", "plugin: key %s: stands twice or cannot be a key", k).At(start)
		}
		if err := dict.SetKey(k, v); err != nil {
			return nil, call.Errorf("E0302", "plugin: key %s: %v", k, err).At(start)
		}
	}
	return dict, nil
}

// fileDoc returns the docstring of a file, or "".
func fileDoc(f *syntax.File) string {
	if len(f.Stmts) == 0 {
		return ""
	}
	if x, ok := f.Stmts[0].(*syntax.ExprStmt); ok {
		if lit, ok := x.X.(*syntax.Literal); ok && lit.Token == syntax.STRING {
			return lit.Value.(string)
		}
	}
	return ""
}

// firstParagraph returns the text up to the first blank line, on one line.
func firstParagraph(doc string) string {
	var words []string
	for line := range strings.Lines(strings.TrimSpace(doc)) {
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		words = append(words, line)
	}
	return strings.Join(words, " ")
}
