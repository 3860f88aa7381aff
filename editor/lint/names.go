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

// A resolver finds the bindings of a file and which of them are used.
type resolver struct{ all []*binding }

func bindings(f *build.File) []*binding {
	r := &resolver{}
	top := &scope{names: map[string]*binding{}}
	r.declare(top, f.Stmt)
	r.resolveBlock(top, f.Stmt)
	return r.all
}

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
func targets(x build.Expr) []*build.Ident {
	var list []build.Expr
	switch x := x.(type) {
	case *build.Ident:
		return []*build.Ident{x}
	case *build.ParenExpr:
		list = []build.Expr{x.X}
	case *build.TupleExpr:
		list = x.List
	case *build.ListExpr:
		list = x.List
	}
	var names []*build.Ident
	for _, e := range list {
		names = append(names, targets(e)...)
	}
	return names
}

// resolveBlock marks the bindings that the statements of a block use.
func (r *resolver) resolveBlock(s *scope, block []build.Expr) {
	for _, stmt := range block {
		switch x := stmt.(type) {
		case *build.DefStmt:
			r.resolveFunction(s, x)
		case *build.AssignExpr:
			r.markUses(s, x.RHS)
			if _, name := x.LHS.(*build.Ident); !name || x.Op != "=" {
				r.markAssignment(s, x.LHS, x.Op != "=")
			}
		case *build.ForStmt:
			r.markUses(s, x.X)
			r.markAssignment(s, x.Vars, false)
			r.resolveBlock(s, x.Body)
		case *build.IfStmt:
			r.markUses(s, x.Cond)
			r.resolveBlock(s, x.True)
			r.resolveBlock(s, x.False)
		case *build.LoadStmt:
		default:
			r.markUses(s, x)
		}
	}
}

// markAssignment marks the bindings that the left side of an assignment reads, such as the x of
// x[0] = 1. With reads it also reads plain names, as x += 1 does.
func (r *resolver) markAssignment(s *scope, x build.Expr, reads bool) {
	for _, part := range targetParts(x) {
		if _, name := part.(*build.Ident); !name || reads {
			r.markUses(s, part)
		}
	}
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

// resolveFunction marks the bindings that a function uses. The outer scope evaluates its
// defaults.
func (r *resolver) resolveFunction(s *scope, d *build.DefStmt) {
	inner := &scope{outer: s, owner: d.Name, names: map[string]*binding{}}
	for _, p := range d.Params {
		if assign, ok := p.(*build.AssignExpr); ok {
			r.markUses(s, assign.RHS)
		}
		if id, _ := build.GetParamIdent(p); id != nil {
			r.bind(inner, id.Name, parameterKind, id.NamePos)
		}
	}
	r.declare(inner, d.Body)
	r.resolveBlock(inner, d.Body)
}

// markUses marks the bindings that an expression reads.
func (r *resolver) markUses(s *scope, x build.Expr) {
	forEachRead(x, nil, true, func(id *build.Ident) {
		for at := s; at != nil; at = at.outer {
			if b := at.names[id.Name]; b != nil {
				b.used = true
				return
			}
		}
	})
}

// forEachRead calls do for each name that an expression reads, except hidden names and names
// that the expression binds itself. With later, this includes the bodies of lambdas, which run
// when the lambda is called.
func forEachRead(x build.Expr, hidden map[string]bool, later bool, do func(*build.Ident)) {
	switch x := x.(type) {
	case nil, *build.CommentBlock:
	case *build.Ident:
		if !hidden[x.Name] {
			do(x)
		}
	case *build.DotExpr:
		forEachRead(x.X, hidden, later, do)
	case *build.CallExpr:
		forEachRead(x.X, hidden, later, do)
		for _, arg := range x.List {
			if named, ok := arg.(*build.AssignExpr); ok {
				arg = named.RHS
			}
			forEachRead(arg, hidden, later, do)
		}
	case *build.LambdaExpr:
		forEachLambdaRead(x, hidden, later, do)
	case *build.Comprehension:
		forEachComprehensionRead(x, hidden, later, do)
	default:
		build.WalkOnce(x, func(e *build.Expr) { forEachRead(*e, hidden, later, do) })
	}
}

func forEachLambdaRead(x *build.LambdaExpr, hidden map[string]bool, later bool, do func(*build.Ident)) {
	inner := withNames(hidden, nil)
	for _, p := range x.Params {
		if assign, ok := p.(*build.AssignExpr); ok {
			forEachRead(assign.RHS, hidden, later, do)
		}
		if id, _ := build.GetParamIdent(p); id != nil {
			inner[id.Name] = true
		}
	}
	for _, body := range x.Body {
		if later {
			forEachRead(body, inner, later, do)
		}
	}
}

// forEachComprehensionRead does the same for a comprehension. The outer scope evaluates the
// list of the first for.
func forEachComprehensionRead(x *build.Comprehension, hidden map[string]bool, later bool, do func(*build.Ident)) {
	inner := hidden
	for _, clause := range x.Clauses {
		switch c := clause.(type) {
		case *build.ForClause:
			forEachRead(c.X, inner, later, do)
			inner = withNames(inner, targets(c.Vars))
		case *build.IfClause:
			forEachRead(c.Cond, inner, later, do)
		}
	}
	forEachRead(x.Body, inner, later, do)
}

// withNames returns a copy of names with more names.
func withNames(names map[string]bool, more []*build.Ident) map[string]bool {
	names = maps.Clone(names)
	if names == nil {
		names = map[string]bool{}
	}
	for _, id := range more {
		names[id.Name] = true
	}
	return names
}
