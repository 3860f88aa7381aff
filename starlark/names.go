package starlark

import (
	"fmt"
	"maps"
	"slices"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// maxHints bounds how many undefined names of a file get a suggestion: each is
// compared with every name in scope.
const maxHints = 8

// undefinedNames returns the errors of a resolved tree whose unknown names the
// resolver was told to take for predeclared ones. The resolver's own errors
// would compare any number of unknown names with any number of known ones.
func undefinedNames(f *syntax.File, known func(name string) bool, candidates []string) error {
	var errs resolve.ErrorList
	syntax.Walk(f, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		if !ok || known(id.Name) {
			return true
		}
		if b, ok := id.Binding.(*resolve.Binding); !ok || b.Scope != resolve.Predeclared {
			return true
		}
		msg := "undefined: " + id.Name
		if len(errs) < maxHints {
			msg += didYouMean(nearest(id.Name, candidates))
		}
		errs = append(errs, resolve.Error{Pos: id.NamePos, Msg: msg})
		return true
	})
	return errs
}

// didYouMean returns the suggestion for a message, or "" without one.
func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", name)
}

// scopeNames returns all names that a file can use or binds itself, sorted.
func (s *Sandbox) scopeNames(f *syntax.File, extra starlark.StringDict) []string {
	names := boundNames(f)
	for _, env := range []starlark.StringDict{s.env, extra, universe()} {
		for name := range env {
			names[name] = true
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { return !isIdentifier(name) })
	return slices.Sorted(maps.Keys(names))
}

// boundNames returns every name that the file binds anywhere.
func boundNames(f *syntax.File) map[string]bool {
	names := map[string]bool{}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			bindTarget(names, n.LHS)
		case *syntax.ForStmt:
			bindTarget(names, n.Vars)
		case *syntax.ForClause:
			bindTarget(names, n.Vars)
		case *syntax.DefStmt:
			names[n.Name.Name] = true
			bindParams(names, n.Params)
		case *syntax.LambdaExpr:
			bindParams(names, n.Params)
		case *syntax.LoadStmt:
			for _, id := range n.To {
				names[id.Name] = true
			}
		}
		return true
	})
	return names
}

func bindParams(names map[string]bool, params []syntax.Expr) {
	for _, p := range params {
		switch p := p.(type) {
		case *syntax.BinaryExpr: // name=default
			bindTarget(names, p.X)
		case *syntax.UnaryExpr: // *name, **name, *
			if p.X != nil {
				bindTarget(names, p.X)
			}
		default:
			bindTarget(names, p)
		}
	}
}

// bindTarget adds the names that an assignment to e binds.
func bindTarget(names map[string]bool, e syntax.Expr) {
	switch e := e.(type) {
	case *syntax.Ident:
		names[e.Name] = true
	case *syntax.ParenExpr:
		bindTarget(names, e.X)
	case *syntax.TupleExpr:
		for _, x := range e.List {
			bindTarget(names, x)
		}
	case *syntax.ListExpr:
		for _, x := range e.List {
			bindTarget(names, x)
		}
	}
}
