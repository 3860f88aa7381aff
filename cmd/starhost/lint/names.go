package lint

import (
	"maps"

	"github.com/bazelbuild/buildtools/build"
)

// A kind says how a name got its meaning.
type kind string

const (
	variable  kind = "variable"
	function  kind = "function"
	parameter kind = "parameter"
	loaded    kind = "load"
)

// A binding is a name that a file gives a meaning. Names of comprehensions and
// parameters of lambdas are none: they end on their own line.
type binding struct {
	name   string
	kind   kind
	at     build.Position // of the first place that binds it
	owner  string         // the function around it, "" at the top level
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
	r.block(top, f.Stmt)
	return r.all
}

// bind adds a name to a scope, unless it is there.
func (r *resolver) bind(s *scope, name string, k kind, at build.Position) {
	if s.names[name] == nil {
		s.names[name] = &binding{name: name, kind: k, at: at, owner: s.owner, global: s.outer == nil}
		r.all = append(r.all, s.names[name])
	}
}

// declare adds the names that the statements of a block bind in their scope.
func (r *resolver) declare(s *scope, block []build.Expr) {
	for _, stmt := range block {
		switch x := stmt.(type) {
		case *build.AssignExpr:
			r.targets(s, x.LHS)
		case *build.DefStmt:
			r.bind(s, x.Name, function, x.StartPos)
		case *build.ForStmt:
			r.targets(s, x.Vars)
			r.declare(s, x.Body)
		case *build.IfStmt:
			r.declare(s, x.True)
			r.declare(s, x.False)
		case *build.LoadStmt:
			for _, id := range x.To {
				r.bind(s, id.Name, loaded, id.NamePos)
			}
		}
	}
}

func (r *resolver) targets(s *scope, x build.Expr) {
	for _, id := range targets(x) {
		r.bind(s, id.Name, variable, id.NamePos)
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

// block notes what the statements of a block use.
func (r *resolver) block(s *scope, block []build.Expr) {
	for _, stmt := range block {
		switch x := stmt.(type) {
		case *build.DefStmt:
			r.def(s, x)
		case *build.AssignExpr:
			r.uses(s, x.RHS)
			if _, name := x.LHS.(*build.Ident); !name || x.Op != "=" {
				r.assigned(s, x.LHS, x.Op != "=")
			}
		case *build.ForStmt:
			r.uses(s, x.X)
			r.assigned(s, x.Vars, false)
			r.block(s, x.Body)
		case *build.IfStmt:
			r.uses(s, x.Cond)
			r.block(s, x.True)
			r.block(s, x.False)
		case *build.LoadStmt:
		default:
			r.uses(s, x)
		}
	}
}

// assigned notes what the left side of an assignment uses: not the names that it
// binds, unless it reads them first.
func (r *resolver) assigned(s *scope, x build.Expr, reads bool) {
	for _, part := range parts(x) {
		if _, name := part.(*build.Ident); !name || reads {
			r.uses(s, part)
		}
	}
}

// parts returns the single targets of an assignment: names, elements, fields.
func parts(x build.Expr) []build.Expr {
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
		all = append(all, parts(e)...)
	}
	return all
}

// def notes what a function uses. Its defaults belong to the scope outside.
func (r *resolver) def(s *scope, d *build.DefStmt) {
	inner := &scope{outer: s, owner: d.Name, names: map[string]*binding{}}
	for _, p := range d.Params {
		if assign, ok := p.(*build.AssignExpr); ok {
			r.uses(s, assign.RHS)
		}
		if id, _ := build.GetParamIdent(p); id != nil {
			r.bind(inner, id.Name, parameter, id.NamePos)
		}
	}
	r.declare(inner, d.Body)
	r.block(inner, d.Body)
}

// uses notes the names that an expression reads.
func (r *resolver) uses(s *scope, x build.Expr) {
	reads(x, nil, true, func(id *build.Ident) {
		for at := s; at != nil; at = at.outer {
			if b := at.names[id.Name]; b != nil {
				b.used = true
				return
			}
		}
	})
}

// reads calls do for each name that an expression reads, but for those that are
// hidden and those that it binds itself. What a lambda's body reads counts only
// with later: it is read when the lambda is called.
func reads(x build.Expr, hidden map[string]bool, later bool, do func(*build.Ident)) {
	switch x := x.(type) {
	case nil, *build.CommentBlock:
	case *build.Ident:
		if !hidden[x.Name] {
			do(x)
		}
	case *build.DotExpr:
		reads(x.X, hidden, later, do)
	case *build.CallExpr:
		reads(x.X, hidden, later, do)
		for _, arg := range x.List {
			if named, ok := arg.(*build.AssignExpr); ok {
				arg = named.RHS
			}
			reads(arg, hidden, later, do)
		}
	case *build.LambdaExpr:
		readsOfLambda(x, hidden, later, do)
	case *build.Comprehension:
		readsOfComprehension(x, hidden, later, do)
	default:
		build.WalkOnce(x, func(e *build.Expr) { reads(*e, hidden, later, do) })
	}
}

func readsOfLambda(x *build.LambdaExpr, hidden map[string]bool, later bool, do func(*build.Ident)) {
	inner := with(hidden, nil)
	for _, p := range x.Params {
		if assign, ok := p.(*build.AssignExpr); ok {
			reads(assign.RHS, hidden, later, do)
		}
		if id, _ := build.GetParamIdent(p); id != nil {
			inner[id.Name] = true
		}
	}
	for _, body := range x.Body {
		if later {
			reads(body, inner, later, do)
		}
	}
}

// readsOfComprehension: what the first for runs over is read outside of it.
func readsOfComprehension(x *build.Comprehension, hidden map[string]bool, later bool, do func(*build.Ident)) {
	inner := hidden
	for _, clause := range x.Clauses {
		switch c := clause.(type) {
		case *build.ForClause:
			reads(c.X, inner, later, do)
			inner = with(inner, targets(c.Vars))
		case *build.IfClause:
			reads(c.Cond, inner, later, do)
		}
	}
	reads(x.Body, inner, later, do)
}

// with returns a copy of names with more of them.
func with(names map[string]bool, more []*build.Ident) map[string]bool {
	names = maps.Clone(names)
	if names == nil {
		names = map[string]bool{}
	}
	for _, id := range more {
		names[id.Name] = true
	}
	return names
}
