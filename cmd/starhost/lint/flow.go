package lint

import (
	"maps"

	"github.com/bazelbuild/buildtools/build"
)

// flow looks for names that may have no value where they are read, and for
// statements behind an end: at the top level, and in each function.
func (f *file) flow() {
	f.walk(nil, f.Stmt)
	each(f, func(d *build.DefStmt) { f.walk(d.Params, d.Body) })
}

// walk follows one body, whose own names have no value at first, but for those of
// parameters.
func (f *file) walk(params, body []build.Expr) {
	w := &walker{file: f, own: map[string]bool{}}
	r := &resolver{}
	s := &scope{names: map[string]*binding{}}
	r.declare(s, body)
	for name := range s.names {
		w.own[name] = true
	}
	set := map[string]bool{}
	for _, p := range params {
		if id, _ := build.GetParamIdent(p); id != nil {
			set[id.Name] = true
		}
	}
	w.block(body, set)
}

// A walker follows the ways through one body.
type walker struct {
	*file
	own map[string]bool // names of the body, those that were reported taken out
}

// block follows statements from a state, the names that have a value for sure, and
// returns the one behind them, or that nothing comes behind them. It may change
// the state that it was given.
func (w *walker) block(block []build.Expr, set map[string]bool) (after map[string]bool, ended bool) {
	for _, stmt := range block {
		if _, comment := stmt.(*build.CommentBlock); comment {
			continue
		}
		if ended {
			w.dead = append(w.dead, stmt)
			return set, true
		}
		set, ended = w.stmt(stmt, set)
	}
	return set, ended
}

func (w *walker) stmt(stmt build.Expr, set map[string]bool) (after map[string]bool, ended bool) {
	switch x := stmt.(type) {
	case *build.AssignExpr:
		w.read(x.RHS, set)
		for _, part := range parts(x.LHS) {
			if _, name := part.(*build.Ident); !name || x.Op != "=" {
				w.read(part, set)
			}
		}
		give(set, targets(x.LHS))
	case *build.DefStmt:
		for _, p := range x.Params {
			if assign, ok := p.(*build.AssignExpr); ok {
				w.read(assign.RHS, set)
			}
		}
		set[x.Name] = true
	case *build.LoadStmt:
		give(set, x.To)
	case *build.ForStmt:
		w.read(x.X, set)
		once := maps.Clone(set)
		give(once, targets(x.Vars))
		w.block(x.Body, once)
	case *build.IfStmt:
		return w.branches(x, set)
	case *build.ReturnStmt:
		w.read(x.Result, set)
		return set, true
	case *build.BranchStmt:
		return set, x.Token != "pass"
	default:
		w.read(x, set)
		return set, isFail(x)
	}
	return set, false
}

// branches follows both ways of an if. What has a value behind it has one on
// both that get there.
func (w *walker) branches(x *build.IfStmt, set map[string]bool) (after map[string]bool, ended bool) {
	w.read(x.Cond, set)
	yes, yesEnds := w.block(x.True, maps.Clone(set))
	no, noEnds := w.block(x.False, set)
	switch {
	case yesEnds:
		return no, noEnds
	case noEnds:
		return yes, false
	}
	maps.DeleteFunc(yes, func(name string, _ bool) bool { return !no[name] })
	return yes, false
}

// read reports the names that an expression reads and that may have no value,
// each once.
func (w *walker) read(x build.Expr, set map[string]bool) {
	reads(x, nil, false, func(id *build.Ident) {
		if w.own[id.Name] && !set[id.Name] {
			delete(w.own, id.Name)
			w.unset = append(w.unset, id)
		}
	})
}

func give(set map[string]bool, names []*build.Ident) {
	for _, id := range names {
		set[id.Name] = true
	}
}

// isFail reports whether a statement is fail(...), behind which nothing comes.
func isFail(x build.Expr) bool {
	call, ok := x.(*build.CallExpr)
	if !ok {
		return false
	}
	fn, ok := call.X.(*build.Ident)
	return ok && fn.Name == "fail"
}
