package lint

import (
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// A survey collects facts about the names and functions of a file, and then its findings.
type survey struct {
	*file
	words     Vocabulary
	loaded    func(label string) *build.File
	names     resolver
	facts     map[*binding]*facts
	top       *function // the statements outside of functions
	functions []*function
	sites     []site
}

// facts describe a name.
type facts struct {
	binds     int          // statements that give it a value
	values    []build.Expr // the values of x = VALUE
	function  *function    // the def of the name
	label     string       // the file of a load, which has it as loadedAs
	loadedAs  string
	reads     int
	returned  int // reads that are return NAME
	madeHooks int // reads that are register_hook(..., NAME())
}

// A function is a def or a lambda. Its statements do not include those of functions inside of it.
type function struct {
	*build.Function
	name     string // "" for a lambda
	scope    *scope
	outer    *function
	binding  *binding // the name of a def
	inner    []*function
	handler  bool // a register_ function gets it by its name, or as a lambda
	returned bool // a lambda that its outer function returns
	early    bool // it may run while the file loads
	reads    []*binding
	calls    []site // calls of names
}

// A site is an expression or a statement with its surroundings.
type site struct {
	x     build.Expr
	scope *scope
	in    *function
}

// find returns the binding of a name in a scope, or nil.
func (s *scope) find(name string) *binding {
	for ; s != nil; s = s.outer {
		if b := s.names[name]; b != nil {
			return b
		}
	}
	return nil
}

// surveyOf surveys a file.
func surveyOf(f *build.File) *survey {
	top := &function{early: true, scope: &scope{names: map[string]*binding{}}}
	s := &survey{file: &file{File: f}, facts: map[*binding]*facts{}, top: top}
	s.names.declare(top.scope, f.Stmt)
	s.block(top.scope, top, f.Stmt)
	return s
}

// of returns the facts of a name.
func (s *survey) of(b *binding) *facts {
	if s.facts[b] == nil {
		s.facts[b] = &facts{}
	}
	return s.facts[b]
}

// assign records that a statement gives values to the targets of x. It surveys those that are no names. If
// the statement is no plain one, as x += 1, it reads the names.
func (s *survey) assign(at *scope, in *function, x build.Expr, plain bool) {
	for _, part := range targetParts(x) {
		id, name := part.(*build.Ident)
		if !name {
			s.expr(at, in, part)
			continue
		}
		if b := at.find(id.Name); b != nil {
			s.of(b).binds++
			b.used = b.used || !plain
		}
	}
}

// block surveys statements.
func (s *survey) block(at *scope, in *function, stmts []build.Expr) {
	for _, stmt := range stmts {
		switch x := stmt.(type) {
		case *build.AssignExpr:
			s.assignment(at, in, x)
		case *build.DefStmt:
			s.def(at, in, x)
		case *build.ForStmt:
			s.expr(at, in, x.X)
			s.assign(at, in, x.Vars, true)
			s.sites = append(s.sites, site{x, at, in})
			s.block(at, in, x.Body)
		case *build.IfStmt:
			s.expr(at, in, x.Cond)
			s.block(at, in, x.True)
			s.block(at, in, x.False)
		case *build.LoadStmt:
			for i, id := range x.To {
				known := s.of(at.find(id.Name))
				known.binds++
				known.label, known.loadedAs = x.Module.Value, x.From[i].Name
			}
		case *build.ReturnStmt:
			s.result(at, in, x.Result)
		default:
			s.expr(at, in, x)
		}
	}
}

func (s *survey) assignment(at *scope, in *function, x *build.AssignExpr) {
	s.expr(at, in, x.RHS)
	s.assign(at, in, x.LHS, x.Op == "=")
	if id, ok := x.LHS.(*build.Ident); ok && x.Op == "=" {
		if b := at.find(id.Name); b != nil {
			s.of(b).values = append(s.of(b).values, x.RHS)
		}
	}
	s.sites = append(s.sites, site{x, at, in})
}

func (s *survey) def(at *scope, in *function, x *build.DefStmt) {
	b := at.find(x.Name)
	fn := s.function(at, in, x.Name, &x.Function)
	fn.binding = b
	known := s.of(b)
	known.binds++
	known.function = fn
}

// result surveys the value of a return.
func (s *survey) result(at *scope, in *function, x build.Expr) {
	if lambda, ok := x.(*build.LambdaExpr); ok {
		s.function(at, in, "", &lambda.Function).returned = true
		return
	}
	s.expr(at, in, x)
	if id, ok := x.(*build.Ident); ok {
		if b := at.find(id.Name); b != nil {
			s.of(b).returned++
		}
	}
}

// function surveys a function, whose name is "" for a lambda. The outer scope evaluates its defaults.
func (s *survey) function(at *scope, in *function, name string, x *build.Function) *function {
	fn := &function{Function: x, name: name, outer: in, scope: &scope{outer: at, owner: name, names: map[string]*binding{}}}
	names := &s.names
	if name == "" {
		names = &resolver{}
	}
	in.inner = append(in.inner, fn)
	s.functions = append(s.functions, fn)
	for _, p := range x.Params {
		if assign, ok := p.(*build.AssignExpr); ok {
			s.expr(at, in, assign.RHS)
		}
		if id, _ := build.GetParamIdent(p); id != nil {
			names.bind(fn.scope, id.Name, parameterKind, id.NamePos)
		}
	}
	names.declare(fn.scope, x.Body)
	s.block(fn.scope, fn, x.Body)
	return fn
}

// expr surveys an expression.
func (s *survey) expr(at *scope, in *function, x build.Expr) {
	switch x := x.(type) {
	case nil, *build.CommentBlock:
		return
	case *build.Ident:
		if b := at.find(x.Name); b != nil {
			b.used = true
			s.of(b).reads++
			in.reads = append(in.reads, b)
		}
		return
	case *build.LambdaExpr:
		s.function(at, in, "", &x.Function)
		return
	case *build.Comprehension:
		s.comprehension(at, in, x)
		return
	case *build.DotExpr:
		s.expr(at, in, x.X)
	case *build.CallExpr:
		s.call(at, in, x)
	default:
		build.WalkOnce(x, func(e *build.Expr) { s.expr(at, in, *e) })
	}
	s.sites = append(s.sites, site{x, at, in})
}

func (s *survey) comprehension(at *scope, in *function, x *build.Comprehension) {
	for _, clause := range x.Clauses {
		switch c := clause.(type) {
		case *build.ForClause:
			s.expr(at, in, c.X)
			at = &scope{outer: at, owner: at.owner, names: map[string]*binding{}}
			for _, id := range targets(c.Vars) {
				new(resolver).bind(at, id.Name, parameterKind, id.NamePos)
			}
		case *build.IfClause:
			s.expr(at, in, c.Cond)
		}
	}
	s.expr(at, in, x.Body)
}

// call surveys a call. A register_ function calls its handlers later, so that naming one there
// does not run it while the file loads.
func (s *survey) call(at *scope, in *function, x *build.CallExpr) {
	s.expr(at, in, x.X)
	if _, ok := x.X.(*build.Ident); ok {
		in.calls = append(in.calls, site{x, at, in})
	}
	registers := s.registers(at, x)
	for _, arg := range x.List {
		_, arg = keyword(arg)
		switch y := arg.(type) {
		case *build.Ident:
			if b := at.find(y.Name); registers && b != nil && s.functionOf(b) != nil {
				s.functionOf(b).handler, b.used = true, true
				continue
			}
		case *build.LambdaExpr:
			s.function(at, in, "", &y.Function).handler = registers
			continue
		case *build.CallExpr:
			if id, ok := y.X.(*build.Ident); ok && registers && at.find(id.Name) != nil {
				s.of(at.find(id.Name)).madeHooks++
			}
		}
		s.expr(at, in, arg)
	}
}

// functionOf returns the def of a name that has no other value, or nil.
func (s *survey) functionOf(b *binding) *function {
	if known := s.facts[b]; known != nil && known.binds == 1 {
		return known.function
	}
	return nil
}

// registers reports whether a call is one of a register_ function of the host.
func (s *survey) registers(at *scope, x *build.CallExpr) bool {
	id, ok := x.X.(*build.Ident)
	return ok && strings.HasPrefix(id.Name, "register_") && at.find(id.Name) == nil
}

// spreadEarly marks the functions that a function which may run while the file loads may call.
func (s *survey) spreadEarly(fn *function) {
	fn.early = true
	for _, inner := range fn.inner {
		if inner.name == "" && !inner.handler && !inner.early {
			s.spreadEarly(inner)
		}
	}
	for _, b := range fn.reads {
		if next := s.of(b).function; next != nil && !next.early {
			s.spreadEarly(next)
		}
	}
}
