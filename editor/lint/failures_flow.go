package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// judgeCycles reports calls by which a function calls itself, directly or through others.
func (s *survey) judgeCycles() {
	for _, fn := range s.functions {
		for _, call := range fn.calls {
			next := s.callee(call)
			if next == nil || next.StartPos.Line > fn.StartPos.Line {
				continue // the cycle is reported where it closes
			}
			path := s.pathTo(next, fn, map[*function]bool{})
			switch {
			case next == fn:
				s.report(SelfCall, call.x, "%s calls itself, which fails: Starlark has no recursion; loop over a list of what is left to do", fn.name)
			case path != nil:
				s.report(SelfCall, call.x, "%s calls itself through %s, which fails: Starlark has no recursion; loop over a list of what is left to do",
					next.name, strings.Join(path[1:], " and "))
			}
		}
	}
}

// callee returns the function that a call of a name reaches for certain, or nil.
func (s *survey) callee(call site) *function {
	id := call.x.(*build.CallExpr).X.(*build.Ident)
	if b := call.scope.find(id.Name); b != nil {
		return s.functionOf(b)
	}
	return nil
}

// pathTo returns the names of the functions on a way of calls from one function to another, or nil.
func (s *survey) pathTo(from, to *function, seen map[*function]bool) []string {
	if from == to {
		return []string{from.name}
	}
	seen[from] = true
	for _, call := range from.calls {
		if next := s.callee(call); next != nil && !seen[next] {
			if path := s.pathTo(next, to, seen); path != nil {
				return append([]string{from.name}, path...)
			}
		}
	}
	return nil
}

// followLocals reports reads of local variables that no statement before them assigns.
func (s *survey) followLocals(fn *function) {
	w := &localWalker{survey: s, scope: fn.scope, unset: map[string]bool{}}
	for name, b := range fn.scope.names {
		w.unset[name] = b.kind != parameterKind
	}
	w.follow(fn.Body, map[string]bool{})
}

// A localWalker follows the statements of one function.
type localWalker struct {
	*survey
	scope *scope
	unset map[string]bool // local variables that no finding is about yet
}

// follow follows a block. set has the names that some way to it assigns; follow adds to it.
func (w *localWalker) follow(block []build.Expr, set map[string]bool) {
	for _, stmt := range block {
		switch x := stmt.(type) {
		case *build.AssignExpr:
			w.read(x.RHS, set)
			for _, part := range targetParts(x.LHS) {
				if _, name := part.(*build.Ident); !name || x.Op != "=" {
					w.read(part, set)
				}
			}
			assignAll(set, targets(x.LHS))
		case *build.DefStmt:
			for _, p := range x.Params {
				if assign, ok := p.(*build.AssignExpr); ok {
					w.read(assign.RHS, set)
				}
			}
			set[x.Name] = true
		case *build.ForStmt:
			w.read(x.X, set)
			assignAll(set, targets(x.Vars))
			assignedIn(x.Body, set) // an earlier pass
			w.follow(x.Body, set)
		case *build.IfStmt:
			w.read(x.Cond, set)
			no := maps.Clone(set)
			w.follow(x.True, set)
			w.follow(x.False, no)
			maps.Copy(set, no)
		case *build.ReturnStmt:
			w.read(x.Result, set)
		default:
			w.read(x, set)
		}
	}
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

// read reports the names that an expression reads and nothing has assigned.
func (w *localWalker) read(x build.Expr, set map[string]bool) {
	forEachRead(x, nil, false, func(id *build.Ident) {
		if !w.unset[id.Name] || set[id.Name] {
			return
		}
		w.unset[id.Name] = false
		w.unsetReads = append(w.unsetReads, id)
		line := w.scope.names[id.Name].at.Line
		switch outer := w.scope.outer.find(id.Name); {
		case outer != nil && outer.global:
			w.report(UnsetName, id, "%s is a local variable here, because line %d assigns it, and has no value yet; "+
				"no function changes a global: %s", id.Name, line, useState)
		case outer == nil && slices.Contains(w.words.Modules, id.Name):
			w.report(UnsetName, id, "%s is a local variable here, because line %d assigns it, and hides the module %s: "+
				"give it another name", id.Name, line, id.Name)
		default:
			w.report(UnsetName, id, "%s has no value here: no line before this one assigns it", id.Name)
		}
	})
}
