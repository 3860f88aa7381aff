package lint

import (
	"maps"

	"github.com/bazelbuild/buildtools/build"
)

// A kind says how a file defines a name.
type kind string

const (
	variableKind  kind = "variable"
	functionKind  kind = "function"
	parameterKind kind = "parameter"
	loadedKind    kind = "load"
)

// A binding is a name that a file defines. Names of comprehensions and parameters of lambdas
// are not bindings, because they end with their expression.
type binding struct {
	name   string
	kind   kind
	at     build.Position // the first definition
	owner  string         // the function that contains it, "" at the top level
	global bool
	used   bool
}

// A scope is the file, or a function with its parameters.
type scope struct {
	outer *scope
	owner string
	names map[string]*binding
}

// A resolver finds the bindings of a file.
type resolver struct{ all []*binding }

func bindings(f *build.File) []*binding { return surveyOf(f).names.all }

// bind adds a name to a scope, unless the scope has it.
func (r *resolver) bind(s *scope, name string, k kind, at build.Position) {
	if s.names[name] == nil {
		s.names[name] = &binding{name: name, kind: k, at: at, owner: s.owner, global: s.outer == nil}
		r.all = append(r.all, s.names[name])
	}
}

// declare adds the names that the statements of a block define.
func (r *resolver) declare(s *scope, block []build.Expr) {
	for _, stmt := range block {
		switch x := stmt.(type) {
		case *build.AssignExpr:
			r.targets(s, x.LHS)
		case *build.DefStmt:
			r.bind(s, x.Name, functionKind, x.StartPos)
		case *build.ForStmt:
			r.targets(s, x.Vars)
			r.declare(s, x.Body)
		case *build.IfStmt:
			r.declare(s, x.True)
			r.declare(s, x.False)
		case *build.LoadStmt:
			for _, id := range x.To {
				r.bind(s, id.Name, loadedKind, id.NamePos)
			}
		}
	}
}

func (r *resolver) targets(s *scope, x build.Expr) {
	for _, id := range targets(x) {
		r.bind(s, id.Name, variableKind, id.NamePos)
	}
}

// targets returns the names that an assignment to x binds.
func targets(x build.Expr) (names []*build.Ident) {
	for _, part := range targetParts(x) {
		if id, ok := part.(*build.Ident); ok {
			names = append(names, id)
		}
	}
	return names
}

// targetParts returns the single targets of an assignment: names, elements and fields.
func targetParts(x build.Expr) []build.Expr {
	var list []build.Expr
	switch x := x.(type) {
	case *build.ParenExpr:
		list = []build.Expr{x.X}
	case *build.TupleExpr:
		list = x.List
	case *build.ListExpr:
		list = x.List
	default:
		return []build.Expr{x}
	}
	var all []build.Expr
	for _, e := range list {
		all = append(all, targetParts(e)...)
	}
	return all
}

// forEachRead calls do for each name that an expression reads, except hidden names and names
// that the expression binds itself. It omits the bodies of lambdas, which run when the lambda is called.
func forEachRead(x build.Expr, hidden map[string]bool, do func(*build.Ident)) {
	switch x := x.(type) {
	case nil, *build.CommentBlock:
	case *build.Ident:
		if !hidden[x.Name] {
			do(x)
		}
	case *build.DotExpr:
		forEachRead(x.X, hidden, do)
	case *build.CallExpr:
		forEachRead(x.X, hidden, do)
		for _, arg := range x.List {
			if named, ok := arg.(*build.AssignExpr); ok {
				arg = named.RHS
			}
			forEachRead(arg, hidden, do)
		}
	case *build.LambdaExpr:
		for _, p := range x.Params {
			if assign, ok := p.(*build.AssignExpr); ok {
				forEachRead(assign.RHS, hidden, do)
			}
		}
	case *build.Comprehension:
		forEachComprehensionRead(x, hidden, do)
	default:
		build.WalkOnce(x, func(e *build.Expr) { forEachRead(*e, hidden, do) })
	}
}

// forEachComprehensionRead does the same for a comprehension. The outer scope evaluates the
// list of the first for.
func forEachComprehensionRead(x *build.Comprehension, hidden map[string]bool, do func(*build.Ident)) {
	inner := hidden
	for _, clause := range x.Clauses {
		switch c := clause.(type) {
		case *build.ForClause:
			forEachRead(c.X, inner, do)
			inner = withNames(inner, targets(c.Vars))
		case *build.IfClause:
			forEachRead(c.Cond, inner, do)
		}
	}
	forEachRead(x.Body, inner, do)
}

// withNames returns a copy of names with more names.
func withNames(names map[string]bool, more []*build.Ident) map[string]bool {
	all := map[string]bool{}
	maps.Copy(all, names)
	assignAll(all, more)
	return all
}
