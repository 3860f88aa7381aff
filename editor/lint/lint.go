// Package lint finds code that runs but is probably a mistake: a variable that nothing reads, a
// statement that is never reached, a name that may be unset.
//
// The warnings are the warnings of Bazel's buildifier that make sense outside of Bazel, under
// the same names. This package implements them on buildifier's syntax tree. Buildifier's own
// package links protocol buffers, whose tables would take a third of the start of the program.
//
// Loading a plugin reports definite errors in names, types, handlers and schemas, so this
// package does not.
package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"
)

// A Finding is one warning at its place.
type Finding struct {
	// Warning is one of the names that [Warnings] lists.
	Warning string
	// Line and Col count from 1; Col counts code points.
	Line, Col int
	// Msg is one line.
	Msg string
}

// checks lists the function of each warning.
var checks = []struct {
	warning string
	find    func(*file)
}{
	{"confusing-name", confusingNames},
	{"dict-concatenation", dictConcatenation},
	{"dict-method-named-arg", dictMethods},
	{"function-docstring", functionDocstrings},
	{"function-docstring-args", docstringArgs},
	{"function-docstring-header", docstringHeaders},
	{"list-append", listAppend},
	{"load", unusedLoads},
	{"module-docstring", moduleDocstring},
	{"name-conventions", nameConventions},
	{"no-effect", noEffect},
	{"redefined-variable", redefinedFunctions},
	{"return-value", returnValues},
	{"uninitialized", uninitialized},
	{"unreachable", unreachable},
	{"unused-variable", unusedVariables},
}

// File returns the warnings about a file, sorted by place. The file must be valid for
// Starlark's own parser.
func File(f *build.File) []Finding {
	s := surveyOf(f)
	x := &file{File: f, names: s.names.all}
	w := &walker{
		report: func(id *build.Ident) { x.unsetReads = append(x.unsetReads, id) },
		dead:   func(stmt build.Expr) { x.deadCode = append(x.deadCode, stmt) },
	}
	w.follow(s.top.scope, f.Stmt)
	for _, fn := range s.functions {
		w.follow(fn.scope, fn.Body)
	}
	for _, c := range checks {
		x.warning = c.warning
		c.find(x)
	}
	slices.SortStableFunc(x.findings, byPlace)
	return x.findings
}

func byPlace(a, b Finding) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col)) }

// A file is a file under check, with its findings so far.
type file struct {
	*build.File
	names      []*binding // in the order of the source
	unsetReads []*build.Ident
	deadCode   []build.Expr // the first statement that is not reached, for each dead end
	warning    string       // the name of the running check
	findings   []Finding
}

func (f *file) warn(x build.Expr, format string, args ...any) {
	start, _ := x.Span()
	f.warnAt(start, format, args...)
}

func (f *file) warnAt(at build.Position, format string, args ...any) {
	f.findings = append(f.findings, Finding{f.warning, at.Line, at.LineRune, fmt.Sprintf(format, args...)})
}

// forEach calls do for each node of type T.
func forEach[T build.Expr](f *file, do func(T)) {
	build.Walk(f.File, func(x build.Expr, _ []build.Expr) {
		if t, ok := x.(T); ok {
			do(t)
		}
	})
}

func confusingNames(f *file) {
	for _, b := range f.names {
		if b.name == "l" || b.name == "I" || b.name == "O" {
			f.warnAt(b.at, "%s is a name that looks like a number: choose another", b.name)
		}
	}
}

// nameConventions warns of names of variables that are not in lower_case, and of names of
// constants that are not in UPPER_CASE.
func nameConventions(f *file) {
	for _, b := range f.names {
		lower, upper := strings.ToLower(b.name), strings.ToUpper(b.name)
		switch {
		case b.kind == loadedKind, b.name == lower, b.name == upper && b.kind == variableKind:
		case b.kind == variableKind:
			f.warnAt(b.at, "variable %s: want lower_case, or UPPER_CASE of a constant", b.name)
		default:
			f.warnAt(b.at, "%s %s: want lower_case", b.kind, b.name)
		}
	}
}

func unusedLoads(f *file) {
	for _, b := range f.names {
		if b.kind == loadedKind && !b.used {
			f.warnAt(b.at, "%s is loaded and not used", b.name)
		}
	}
}

// unusedVariables warns of unused names inside of functions. Other files may load the names at
// the top level.
func unusedVariables(f *file) {
	byPlace := positionalHandlers(f)
	for _, b := range f.names {
		switch {
		case b.used, b.global, b.kind == loadedKind, strings.HasPrefix(b.name, "_"):
		case b.kind == parameterKind && byPlace[b.owner]:
		case b.kind == parameterKind:
			f.warnAt(b.at, "parameter %s is not used", b.name)
		default:
			f.warnAt(b.at, "%s %s is not used: drop it, or call it _%s", b.kind, b.name, b.name)
		}
	}
}

// positionalHandlers returns the handlers of loaders. Loaders pass arguments by position, so
// their handlers cannot omit a parameter.
func positionalHandlers(f *file) map[string]bool {
	names := map[string]bool{}
	forEach(f, func(c *build.CallExpr) {
		if fn, ok := c.X.(*build.Ident); !ok || !strings.HasSuffix(fn.Name, "_loader") {
			return
		}
		for _, arg := range c.List {
			if named, ok := arg.(*build.AssignExpr); ok {
				arg = named.RHS
			}
			if id, ok := arg.(*build.Ident); ok {
				names[id.Name] = true
			}
		}
	})
	return names
}

// redefinedFunctions warns of a second function of one name, which replaces the first.
func redefinedFunctions(f *file) {
	first := map[string]*build.DefStmt{}
	for _, stmt := range f.Stmt {
		def, ok := stmt.(*build.DefStmt)
		if !ok {
			continue
		}
		if old := first[def.Name]; old != nil {
			f.warn(def, "function %s is already defined in line %d", def.Name, old.StartPos.Line)
			continue
		}
		first[def.Name] = def
	}
}

func dictConcatenation(f *file) {
	forEach(f, func(x *build.BinaryExpr) {
		if x.Op == "+" && (isDict(x.X) || isDict(x.Y)) {
			f.warnAt(x.OpStart, "dicts are not added: write a | b")
		}
	})
}

// isDict reports whether an expression is certainly a dict.
func isDict(x build.Expr) bool {
	switch x := x.(type) {
	case *build.DictExpr:
		return true
	case *build.Comprehension:
		return x.Curly
	case *build.ParenExpr:
		return isDict(x.X)
	case *build.CallExpr:
		fn, ok := x.X.(*build.Ident)
		return ok && fn.Name == "dict"
	}
	return false
}

// dictMethods warns of named arguments of get, pop and setdefault. Python allows them, Starlark
// does not.
func dictMethods(f *file) {
	forEach(f, func(c *build.CallExpr) {
		fn, ok := c.X.(*build.DotExpr)
		if !ok || fn.Name != "get" && fn.Name != "pop" && fn.Name != "setdefault" || beginsWithCtx(fn.X) {
			return
		}
		for _, arg := range c.List {
			if named, ok := arg.(*build.AssignExpr); ok {
				f.warn(named, "%s of a dict takes its arguments by place: write %s(key, default)", fn.Name, fn.Name)
			}
		}
	})
}

// beginsWithCtx reports whether an expression begins with ctx. The methods of ctx accept named
// arguments.
func beginsWithCtx(x build.Expr) bool {
	for {
		switch y := x.(type) {
		case *build.DotExpr:
			x = y.X
		case *build.Ident:
			return y.Name == "ctx"
		default:
			return false
		}
	}
}

func listAppend(f *file) {
	forEach(f, func(a *build.AssignExpr) {
		list, ok := a.RHS.(*build.ListExpr)
		if ok && a.Op == "+=" && len(list.List) == 1 {
			f.warnAt(a.OpPos, "+= of one element: write append(...)")
		}
	})
}

// noEffect warns of expressions other than calls that are used as statements.
func noEffect(f *file) {
	f.warnIdle(f.Stmt, true)
	forEach(f, func(d *build.DefStmt) { f.warnIdle(d.Body, true) })
	forEach(f, func(s *build.ForStmt) { f.warnIdle(s.Body, false) })
	forEach(f, func(s *build.IfStmt) {
		f.warnIdle(s.True, false)
		f.warnIdle(s.False, false)
	})
}

// warnIdle warns of the statements of a block that do nothing. docstring allows a string as the
// first statement.
func (f *file) warnIdle(block []build.Expr, docstring bool) {
	for _, stmt := range block {
		switch stmt.(type) {
		case *build.CommentBlock:
			continue
		case *build.StringExpr:
			if !docstring {
				f.warn(stmt, "a string as a statement does nothing: a docstring stands first, a comment begins with #")
			}
		case *build.Comprehension:
			f.warn(stmt, "nothing uses the result: write a for loop")
		default:
			if isValue(stmt) {
				f.warn(stmt, "nothing uses the result")
			}
		}
		docstring = false
	}
}

// isValue reports whether a statement is an expression other than a call.
func isValue(x build.Expr) bool {
	switch x := x.(type) {
	case *build.Ident, *build.LiteralExpr, *build.DotExpr, *build.BinaryExpr, *build.UnaryExpr,
		*build.DictExpr, *build.ListExpr, *build.SetExpr, *build.TupleExpr,
		*build.IndexExpr, *build.SliceExpr, *build.LambdaExpr, *build.ConditionalExpr:
		return true
	case *build.ParenExpr:
		return isValue(x.X)
	}
	return false
}

// returnValues warns of a bare return in a function that also returns values.
func returnValues(f *file) {
	forEach(f, func(d *build.DefStmt) {
		var bare []*build.ReturnStmt
		valued := false
		for _, r := range returns(d.Body) {
			if r.Result == nil {
				bare = append(bare, r)
			} else {
				valued = true
			}
		}
		if valued {
			for _, r := range bare {
				f.warn(r, "%s returns a value elsewhere: write return None", d.Name)
			}
		}
	})
}

// returns returns the return statements of a function's body, without inner functions.
func returns(block []build.Expr) []*build.ReturnStmt {
	var list []*build.ReturnStmt
	for _, stmt := range block {
		switch s := stmt.(type) {
		case *build.ReturnStmt:
			list = append(list, s)
		case *build.ForStmt:
			list = append(list, returns(s.Body)...)
		case *build.IfStmt:
			list = append(list, returns(s.True)...)
			list = append(list, returns(s.False)...)
		}
	}
	return list
}

func unreachable(f *file) {
	for _, stmt := range f.deadCode {
		f.warn(stmt, "nothing reaches this statement")
	}
}

func uninitialized(f *file) {
	for _, id := range f.unsetReads {
		f.warn(id, "%s may be unset here: assign it on every path", id.Name)
	}
}
