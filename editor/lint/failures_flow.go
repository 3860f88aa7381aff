package lint

import (
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
	w := &walker{report: func(id *build.Ident) { s.reportLocal(fn.scope, id) }}
	w.follow(fn.scope, fn.Body)
}

// reportLocal reports a read of a local variable that has no value.
func (s *survey) reportLocal(at *scope, id *build.Ident) {
	s.unsetReads = append(s.unsetReads, id)
	line := at.names[id.Name].at.Line
	switch outer := at.outer.find(id.Name); {
	case outer != nil && outer.global:
		s.report(UnsetName, id, "%s is a local variable here, because line %d assigns it, and has no value yet; "+
			"no function changes a global: %s", id.Name, line, useState)
	case outer == nil && slices.Contains(s.words.Modules, id.Name):
		s.report(UnsetName, id, "%s is a local variable here, because line %d assigns it, and hides the module %s: "+
			"give it another name", id.Name, line, id.Name)
	default:
		s.report(UnsetName, id, "%s has no value here: no line before this one assigns it", id.Name)
	}
}
