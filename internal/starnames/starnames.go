// Package starnames finds the names that a Starlark file binds: variables, functions, parameters
// and names that load() brings in.
package starnames

import (
	"strings"

	"go.starlark.net/syntax"
)

// Bound returns the names that the file binds in any scope.
func Bound(f *syntax.File) map[string]bool {
	names := map[string]bool{}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt:
			names[n.Name.Name] = true
			AddParams(names, n.Params)
		case *syntax.LambdaExpr:
			AddParams(names, n.Params)
		case *syntax.ForClause:
			AddTarget(names, n.Vars)
		default:
			addStatement(names, n)
		}
		return true
	})
	return names
}

// Globals returns the names that the file binds at the top level.
func Globals(f *syntax.File) map[string]bool {
	names := map[string]bool{}
	for _, stmt := range f.Stmts {
		AddScope(names, stmt)
	}
	return names
}

// AddScope adds the names that a statement and the statements inside it bind in the scope of the
// statement. Names that nested functions and comprehensions bind have scopes of these.
func AddScope(names map[string]bool, stmt syntax.Stmt) {
	syntax.Walk(stmt, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt:
			names[n.Name.Name] = true
			return false
		case syntax.Stmt:
			addStatement(names, n)
			return true
		}
		return false
	})
}

// addStatement adds the names that n binds in its scope, if n is a statement other than a def.
func addStatement(names map[string]bool, n syntax.Node) {
	switch n := n.(type) {
	case *syntax.AssignStmt:
		AddTarget(names, n.LHS)
	case *syntax.ForStmt:
		AddTarget(names, n.Vars)
	case *syntax.LoadStmt:
		for _, id := range n.To {
			names[id.Name] = true
		}
	}
}

// AddTarget adds the names that an assignment to x binds. Assignments to elements and fields bind
// none.
func AddTarget(names map[string]bool, x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.Ident:
		names[x.Name] = true
	case *syntax.ParenExpr:
		AddTarget(names, x.X)
	case *syntax.TupleExpr:
		for _, e := range x.List {
			AddTarget(names, e)
		}
	case *syntax.ListExpr:
		for _, e := range x.List {
			AddTarget(names, e)
		}
	}
}

// AddParams adds the names of a function's parameters.
func AddParams(names map[string]bool, params []syntax.Expr) {
	for _, p := range params {
		switch p := p.(type) {
		case *syntax.BinaryExpr: // name=default
			AddTarget(names, p.X)
		case *syntax.UnaryExpr: // *name, **name, *
			AddTarget(names, p.X) // nil for *, which binds no name
		default:
			AddTarget(names, p)
		}
	}
}

// InScript reports whether a position is in a file of the script. Builtins have no line, and files of
// the host have names that begin with "$".
func InScript(p syntax.Position) bool { return p.Line > 0 && !strings.HasPrefix(p.Filename(), "$") }
