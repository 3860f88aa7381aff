package lint

import (
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"

	"github.com/starhost/starhost/starlark"
)

// The names of the warnings of [Failures], beside [WrongArguments].
const (
	FrozenValue  = "frozen-value"  // a change of a value that is frozen when handlers run
	UnsetName    = "unset-name"    // a local variable that no earlier line assigns
	SelfCall     = "self-call"     // a function that calls itself
	HiddenModule = "hidden-module" // probably one: a local name hides the module that the function wants
	LostLine     = "lost-line"     // another line that fails whenever it runs
)

// Failures returns the lines of functions that fail whenever they run, whatever the values are: no
// run of the top level finds them. loaded returns the file of a load statement, or nil.
//
// A finding needs a proof in the text. A function that may run while its file loads may still fill
// a global, for example, so that only functions that nothing calls by then count.
func Failures(f *build.File, v Vocabulary, loaded func(label string) *build.File) []Finding {
	s := surveyOf(f)
	s.words, s.loaded = v, loaded
	s.spreadEarly(s.top)
	for _, fn := range s.functions {
		s.followLocals(fn)
	}
	for _, site := range s.sites {
		s.judge(site)
	}
	s.judgeCycles()
	slices.SortStableFunc(s.findings, byPlace)
	return slices.CompactFunc(s.findings, func(a, b Finding) bool { return a.Line == b.Line && a.Msg == b.Msg })
}

// isLate reports whether a function runs only when all globals are frozen.
func (fn *function) isLate() bool { return fn.Function != nil && !fn.early }

// judge adds the findings about one site.
func (s *survey) judge(at site) {
	switch x := at.x.(type) {
	case *build.AssignExpr:
		for _, part := range targetParts(x.LHS) {
			s.judgeTarget(at, x, part)
		}
		s.judgeUnpacking(x)
	case *build.ForStmt:
		s.judgeLoop(x)
	case *build.DotExpr:
		s.judgeModule(at, x)
	case *build.CallExpr:
		s.judgeMethod(at, x)
		s.judgeCall(at, x)
		s.judgeFormat(x)
	case *build.BinaryExpr:
		s.judgeOperator(x)
	case *build.DictExpr:
		s.judgeKeys(x)
	}
}

func (s *survey) report(warning string, x build.Expr, format string, args ...any) {
	s.warning = warning
	s.warn(x, format, args...)
}

// useState says where a value goes that calls change.
const useState = "keep what calls change with ctx.state.get and ctx.state.set"

// judgeTarget reports an assignment to an item of a frozen value, or to a field.
func (s *survey) judgeTarget(at site, x *build.AssignExpr, target build.Expr) {
	switch t := target.(type) {
	case *build.IndexExpr:
		if name := s.frozenRoot(at, t.X); name != "" {
			s.report(FrozenValue, x, "%s is frozen when handlers run, so this line fails whenever it runs: %s", name, useState)
		}
	case *build.DotExpr:
		if at.in.Function != nil {
			s.report(LostLine, x, "a field takes no assignment, so this line fails whenever it runs: use an item of a dict, d[%q]", t.Name)
		}
	}
}

// frozenRoot returns the name at the beginning of x[...][...] if its value is frozen whenever the
// function runs, "" otherwise.
func (s *survey) frozenRoot(at site, x build.Expr) string {
	for {
		switch y := x.(type) {
		case *build.IndexExpr:
			x = y.X
			continue
		case *build.Ident:
			if b := at.scope.find(y.Name); b != nil && s.isFrozen(at.in, b) {
				return y.Name
			}
		}
		return ""
	}
}

// isFrozen reports whether the value of a name outside of a function is frozen whenever it runs: a
// global, or a variable of a function whose results are handlers.
func (s *survey) isFrozen(in *function, b *binding) bool {
	if b.global {
		return b.kind != functionKind && in.isLate()
	}
	outer := in.outer
	if outer == nil || outer.binding == nil || outer.scope.names[b.name] != b || b.kind == parameterKind {
		return false
	}
	maker := s.of(outer.binding)
	if maker.madeHooks == 0 || maker.madeHooks != maker.reads {
		return false
	}
	if in.binding == nil {
		return in.returned
	}
	own := s.of(in.binding)
	return own.returned > 0 && own.returned == own.reads
}

// mutators are the methods that change a value, with the types that have them.
var mutators = map[string][]string{
	"append": {"list"}, "extend": {"list"}, "insert": {"list"}, "remove": {"list", "set"},
	"pop": {"list", "dict", "set"}, "clear": {"list", "dict", "set"}, "popitem": {"dict"}, "setdefault": {"dict"},
	"update": {"dict", "set"}, "add": {"set"}, "discard": {"set"},
}

// judgeMethod reports a method that would change a frozen value.
func (s *survey) judgeMethod(at site, x *build.CallExpr) {
	dot, ok := x.X.(*build.DotExpr)
	if !ok || mutators[dot.Name] == nil {
		return
	}
	name := s.frozenRoot(at, dot.X)
	if name == "" {
		return
	}
	values := s.of(at.scope.find(name)).values
	if s.of(at.scope.find(name)).binds != len(values) {
		return // some values are not in the text
	}
	for item, ok := dot.X.(*build.IndexExpr); ok; item, ok = item.X.(*build.IndexExpr) {
		values = items(values)
	}
	hasMethod := func(v build.Expr) bool { return slices.Contains(mutators[dot.Name], displayType(v)) }
	if len(values) > 0 && !slices.ContainsFunc(values, func(v build.Expr) bool { return !hasMethod(v) }) {
		s.report(FrozenValue, x, "%s is frozen when handlers run, so %s fails whenever it runs: %s", name, dot.Name, useState)
	}
}

// items returns the items of lists and the values of dicts that the text shows.
func items(containers []build.Expr) (all []build.Expr) {
	for _, c := range containers {
		switch c := c.(type) {
		case *build.ListExpr:
			all = append(all, c.List...)
		case *build.DictExpr:
			for _, pair := range c.List {
				all = append(all, pair.Value)
			}
		default:
			return nil
		}
	}
	return all
}

// displayType returns the type of a value whose text shows it: "list", "dict", "set", "tuple",
// "string", "int", "float" or "NoneType"; "" for others.
func displayType(x build.Expr) string {
	switch x := x.(type) {
	case *build.ParenExpr:
		return displayType(x.X)
	case *build.ListExpr:
		return "list"
	case *build.DictExpr:
		return "dict"
	case *build.SetExpr:
		return "set"
	case *build.TupleExpr:
		return "tuple"
	case *build.StringExpr:
		return "string"
	case *build.LiteralExpr:
		if strings.ContainsAny(x.Token, ".eE") && !strings.HasPrefix(strings.ToLower(x.Token), "0x") {
			return "float"
		}
		return "int"
	case *build.Ident:
		if x.Name == "None" {
			return "NoneType"
		}
	case *build.Comprehension:
		if _, pair := x.Body.(*build.KeyValueExpr); pair {
			return "dict"
		}
		return "list"
	case *build.CallExpr:
		if id, ok := x.X.(*build.Ident); ok && slices.Contains([]string{"list", "dict", "set"}, id.Name) {
			return id.Name
		}
	}
	return ""
}

// judgeModule reports a member of a module whose name a local variable or a parameter has.
func (s *survey) judgeModule(at site, x *build.DotExpr) {
	id, ok := x.X.(*build.Ident)
	if !ok || !slices.Contains(s.words.Modules, id.Name) || isCoreMethod(x.Name) || s.words.Views[id.Name] != nil {
		return
	}
	b := at.scope.find(id.Name)
	if b == nil || b.global || slices.Contains(s.unsetReads, id) || b.kind != variableKind && b.kind != parameterKind {
		return
	}
	other := func(v build.Expr) bool { return displayType(v) == "" && pathOf(v) != "" }
	if slices.ContainsFunc(s.of(b).values, other) {
		return // it may be another module
	}
	if slices.Contains(s.words.members(id.Name), x.Name) {
		s.report(HiddenModule, x, "%s is the %s of line %d here, and hides the module %s that %s.%s names: give it another name",
			id.Name, b.kind, b.at.Line, id.Name, id.Name, x.Name)
	}
}

// isCoreMethod reports whether strings, lists, dicts or sets have a method of the name.
func isCoreMethod(name string) bool {
	return slices.ContainsFunc(starlark.MethodNames(), func(m string) bool { return strings.HasSuffix(m, "."+name) })
}

// judgeCall reports arguments that a function of the file, or of one that it loads, refuses, and
// registrations in a handler.
func (s *survey) judgeCall(at site, x *build.CallExpr) {
	id, ok := x.X.(*build.Ident)
	if !ok {
		return
	}
	if s.registers(at.scope, x) && at.in.handler && at.in.isLate() {
		s.report(LostLine, x, "%s works only while a file loads, and this is a handler: register outside of functions", id.Name)
	}
	b := at.scope.find(id.Name)
	if b == nil || s.of(b).binds != 1 {
		return
	}
	var def *build.Function
	if fn := s.of(b).function; fn != nil {
		def = fn.Function
	} else if s.of(b).label != "" && s.loaded != nil {
		def = onlyDef(s.loaded(s.of(b).label), s.of(b).loadedAs)
	}
	if def == nil {
		return
	}
	params := make([]string, len(def.Params))
	for i, p := range def.Params {
		params[i] = build.FormatString(p)
	}
	if problem := argumentProblem(params, x.List); problem != "" {
		s.report(WrongArguments, x, "%s: %s; want %s(%s)", id.Name, problem, id.Name, strings.Join(params, ", "))
	}
}

// onlyDef returns the function of a name in a file if nothing else has the name, or nil.
func onlyDef(f *build.File, name string) *build.Function {
	if f == nil {
		return nil
	}
	var found *build.Function
	n := 0
	for _, stmt := range f.Stmt {
		if def, ok := stmt.(*build.DefStmt); ok && def.Name == name {
			found = &def.Function
			n++
		}
	}
	for _, b := range bindings(f) {
		if b.global && b.name == name && b.kind != functionKind {
			return nil
		}
	}
	if n != 1 {
		return nil
	}
	return found
}
