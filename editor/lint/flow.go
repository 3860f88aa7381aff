package lint

import (
	"maps"

	"github.com/bazelbuild/buildtools/build"
)

// A walker follows the paths through one body, with the names that certainly have a value. If dead is nil,
// these are the names that may have one: those that some path assigns.
type walker struct {
	unset  map[string]bool // names of the body that it has not reported
	report func(id *build.Ident)
	dead   func(stmt build.Expr) // gets the first statement behind the end of a path
}

// follow follows the body of a function or of the file. Its names are unset at first, except parameters.
func (w *walker) follow(at *scope, body []build.Expr) {
	w.unset = map[string]bool{}
	for name, b := range at.names {
		w.unset[name] = b.kind != parameterKind
	}
	w.followBlock(body, map[string]bool{})
}

// followBlock follows the statements of a block. set has the names that have a value;
// followBlock may change it. It returns the names that are set after the block, or that control
// does not reach the end.
func (w *walker) followBlock(block []build.Expr, set map[string]bool) (after map[string]bool, ended bool) {
	for _, stmt := range block {
		if _, comment := stmt.(*build.CommentBlock); comment {
			continue
		}
		if ended && w.dead != nil {
			w.dead(stmt)
			return set, true
		}
		set, ended = w.followStatement(stmt, set)
	}
	return set, ended
}

func (w *walker) followStatement(stmt build.Expr, set map[string]bool) (after map[string]bool, ended bool) {
	switch x := stmt.(type) {
	case *build.AssignExpr:
		w.reportUnset(x.RHS, set)
		for _, part := range targetParts(x.LHS) {
			if _, name := part.(*build.Ident); !name || x.Op != "=" {
				w.reportUnset(part, set)
			}
		}
		assignAll(set, targets(x.LHS))
	case *build.DefStmt:
		for _, p := range x.Params {
			if assign, ok := p.(*build.AssignExpr); ok {
				w.reportUnset(assign.RHS, set)
			}
		}
		set[x.Name] = true
	case *build.LoadStmt:
		assignAll(set, x.To)
	case *build.ForStmt:
		return w.followLoop(x, set), false
	case *build.IfStmt:
		return w.followBranches(x, set)
	case *build.ReturnStmt:
		w.reportUnset(x.Result, set)
		return set, true
	case *build.BranchStmt:
		return set, x.Token != "pass"
	default:
		w.reportUnset(x, set)
		return set, isFail(x)
	}
	return set, false
}

// followLoop follows the body of a loop, which may run never or often.
func (w *walker) followLoop(x *build.ForStmt, set map[string]bool) (after map[string]bool) {
	w.reportUnset(x.X, set)
	once := maps.Clone(set)
	assignAll(once, targets(x.Vars))
	if w.dead != nil {
		w.followBlock(x.Body, once)
		return set
	}
	assignedIn(x.Body, once) // an earlier pass
	after, _ = w.followBlock(x.Body, once)
	return after
}

// followBranches follows both branches of an if. A name certainly has a value afterwards if it has one at the
// end of each branch that reaches the end.
func (w *walker) followBranches(x *build.IfStmt, set map[string]bool) (after map[string]bool, ended bool) {
	w.reportUnset(x.Cond, set)
	yes, yesEnds := w.followBlock(x.True, maps.Clone(set))
	no, noEnds := w.followBlock(x.False, set)
	switch {
	case w.dead == nil:
		maps.Copy(yes, no)
		return yes, false
	case yesEnds:
		return no, noEnds
	case noEnds:
		return yes, false
	}
	maps.DeleteFunc(yes, func(name string, _ bool) bool { return !no[name] })
	return yes, false
}

// reportUnset reports the names that an expression reads and that may be unset, each once.
func (w *walker) reportUnset(x build.Expr, set map[string]bool) {
	forEachRead(x, nil, func(id *build.Ident) {
		if w.unset[id.Name] && !set[id.Name] {
			delete(w.unset, id.Name)
			w.report(id)
		}
	})
}

// assignedIn adds the names that a block assigns other than by x += 1.
func assignedIn(block []build.Expr, set map[string]bool) {
	for _, stmt := range block {
		switch x := stmt.(type) {
		case *build.AssignExpr:
			if x.Op == "=" {
				assignAll(set, targets(x.LHS))
			}
		case *build.DefStmt:
			set[x.Name] = true
		case *build.ForStmt:
			assignAll(set, targets(x.Vars))
			assignedIn(x.Body, set)
		case *build.IfStmt:
			assignedIn(x.True, set)
			assignedIn(x.False, set)
		}
	}
}

func assignAll(set map[string]bool, names []*build.Ident) {
	for _, id := range names {
		set[id.Name] = true
	}
}

// isFail reports whether a statement is a call of fail, which ends the path.
func isFail(x build.Expr) bool {
	call, ok := x.(*build.CallExpr)
	if !ok {
		return false
	}
	fn, ok := call.X.(*build.Ident)
	return ok && fn.Name == "fail"
}
