package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bazelbuild/buildtools/build"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// A Vocabulary lists the names that the host gives to files.
type Vocabulary struct {
	// Params has the parameters of each function by its path, such as "ctx.http.get", in the form
	// of a def: "url", "timeout=None", "*args". A value that is no function has nil.
	Params map[string][]string
	// Modules are the first parts of paths that every file has, without ctx.
	Modules []string
	// Views has the members of each argument of handlers that is a view.
	Views map[string][]string
	// Decisions has the decisions of each event as the names of functions, and all of them at "".
	Decisions map[string][]string
}

// The names of the warnings of [Misuses].
const (
	UnknownMember  = "unknown-member"
	WrongArguments = "wrong-arguments"
	ItemAssignment = "item-assignment"
)

// Misuses returns the places at which a file names a member that ctx, a module or a view does not
// have, calls a builtin with arguments that it refuses, assigns to an item of ctx, or returns a
// decision that the event does not have. It is silent about a name that the file defines itself.
func Misuses(f *build.File, v Vocabulary) []Finding {
	m := &misuses{survey: surveyOf(f), own: map[string]bool{}, handlers: handlerDefs(f), asked: askedMembers(f)}
	m.words = v
	for _, b := range m.names.all {
		if b.kind != parameterKind {
			m.own[b.name] = true
		}
	}
	for _, at := range m.sites {
		m.check(at)
	}
	slices.SortStableFunc(m.findings, byPlace)
	return m.findings
}

// misuses collects the findings of one file.
type misuses struct {
	*survey
	own      map[string]bool // the names that the file binds, other than parameters
	handlers map[string]bool // the functions that the file registers as hooks
	asked    map[string]bool // the members that the file asks for by hasattr
}

// askedMembers returns the members that a file asks for, such as "ctx.exec" for
// hasattr(ctx, "exec").
func askedMembers(f *build.File) map[string]bool {
	asked := map[string]bool{}
	forEach(&file{File: f}, func(call *build.CallExpr) {
		if len(call.List) != 2 || pathOf(call.X) != "hasattr" {
			return
		}
		if name, ok := call.List[1].(*build.StringExpr); ok {
			asked[pathOf(call.List[0])+"."+name.Value] = true
		}
	})
	return asked
}

// handlerDefs returns the names of the functions that a file registers as hooks.
func handlerDefs(f *build.File) map[string]bool {
	names := map[string]bool{}
	forEach(&file{File: f}, func(call *build.CallExpr) {
		if pathOf(call.X) != "register_hook" {
			return
		}
		for i, arg := range call.List {
			name, value := keyword(arg)
			if id, ok := value.(*build.Ident); ok && (name == "handler" || name == "" && i == 1) {
				names[id.Name] = true
			}
		}
	})
	return names
}

// keyword splits an argument of a call into its name, "" for a positional one, and its value.
func keyword(arg build.Expr) (string, build.Expr) {
	if x, ok := arg.(*build.AssignExpr); ok {
		if id, ok := x.LHS.(*build.Ident); ok {
			return id.Name, x.RHS
		}
	}
	return "", arg
}

// pathOf returns a chain of names such as ctx.http.get, "" for any other expression.
func pathOf(x build.Expr) string {
	switch x := x.(type) {
	case *build.Ident:
		return x.Name
	case *build.DotExpr:
		if path := pathOf(x.X); path != "" {
			return path + "." + x.Name
		}
	}
	return ""
}

// check looks at one site.
func (m *misuses) check(at site) {
	switch x := at.x.(type) {
	case *build.DotExpr:
		m.checkMember(x, at)
	case *build.CallExpr:
		m.checkCall(x, at)
		m.checkDecisions(x)
	case *build.AssignExpr:
		m.checkAssignment(x, at)
	}
}

// isHosts reports whether the first name of a path is the host's at this place.
func (m *misuses) isHosts(path string, at site) bool {
	root, _, dotted := strings.Cut(path, ".")
	switch {
	case m.own[root]:
		return false
	case root == "ctx":
		return dotted
	case m.words.Views[root] != nil:
		return dotted && m.inHandler(root, at.in)
	case at.scope.find(root) != nil: // a parameter
		return false
	}
	return !dotted || slices.Contains(m.words.Modules, root)
}

// inHandler reports whether the nearest function that has the parameter is a registered hook, from a function
// outwards. Nothing says which event a lambda hears.
func (m *misuses) inHandler(param string, fn *function) bool {
	for ; fn.Function != nil; fn = fn.outer {
		if hasParam(fn.Params, param) {
			return m.handlers[fn.name]
		}
	}
	return false
}

func hasParam(params []build.Expr, name string) bool {
	return slices.ContainsFunc(params, func(p build.Expr) bool {
		got, _ := build.GetParamName(p)
		return strings.TrimLeft(got, "*") == name
	})
}

// checkMember warns of a member that the object before the dot does not have.
func (m *misuses) checkMember(x *build.DotExpr, at site) {
	object := pathOf(x.X)
	if object == "" || !m.isHosts(object+".", at) {
		return
	}
	members := m.words.Views[object]
	if members == nil {
		members = m.words.members(object)
	}
	if len(members) == 0 || slices.Contains(members, x.Name) || m.asked[object+"."+x.Name] {
		return
	}
	m.warning = UnknownMember
	hint := cmp.Or(near.DidYouMean(x.Name, members), ", it has "+errtext.Cut(strings.Join(members, ", ")))
	m.warnAt(x.NamePos, "%s has no %s%s", object, x.Name, hint)
}

// checkCall warns of arguments that a builtin refuses.
func (m *misuses) checkCall(x *build.CallExpr, at site) {
	path := pathOf(x.X)
	params, known := m.words.Params[path]
	if !known || params == nil || !m.isHosts(path, at) {
		return
	}
	if problem := argumentProblem(params, x.List); problem != "" {
		m.report(WrongArguments, x, "%s: %s; want %s(%s)", path, problem, path, strings.Join(params, ", "))
	}
}

// argumentProblem returns why a function with these parameters refuses the arguments, or "".
func argumentProblem(params []string, args []build.Expr) string {
	p := newParameters(params)
	given := map[string]bool{}
	positional := 0
	for _, arg := range args {
		name, _ := keyword(arg)
		if star, ok := arg.(*build.UnaryExpr); ok && strings.HasPrefix(star.Op, "*") {
			return "" // the call decides their number when it runs
		}
		switch {
		case name == "":
			if positional < p.byPlace {
				given[p.names[positional]] = true
			}
			positional++
		case given[name]:
			return "argument " + name + " is there twice"
		case !p.anyName && !slices.Contains(p.names, name):
			return "unknown argument " + name + near.DidYouMean(name, p.names)
		default:
			given[name] = true
		}
	}
	if positional > p.byPlace && !p.anyPositional {
		return fmt.Sprintf("got %d arguments by position, want at most %d", positional, p.byPlace)
	}
	for _, name := range p.required {
		if !given[name] {
			return "missing argument " + name
		}
	}
	return ""
}

// members returns the sorted members of a module, of ctx or of a part of it.
func (v Vocabulary) members(object string) []string {
	var list []string
	for path := range v.Params {
		if rest, ok := strings.CutPrefix(path, object+"."); ok {
			name, _, _ := strings.Cut(rest, ".")
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// parameters are the parameters of a function.
type parameters struct {
	names                  []string
	byPlace                int // arguments by position may name so many of them
	required               []string
	anyPositional, anyName bool
}

func newParameters(params []string) (p parameters) {
	byName := false
	for _, param := range params {
		name, _, optional := strings.Cut(param, "=")
		name = strings.TrimSpace(name)
		switch {
		case strings.HasPrefix(name, "**"):
			p.anyName = true
		case strings.HasPrefix(name, "*"):
			byName, p.anyPositional = true, name != "*"
		default:
			if p.names = append(p.names, name); !byName {
				p.byPlace++
			}
			if !optional {
				p.required = append(p.required, name)
			}
		}
	}
	return p
}

// checkAssignment warns of an assignment to an item of ctx.
func (m *misuses) checkAssignment(x *build.AssignExpr, at site) {
	index, ok := x.LHS.(*build.IndexExpr)
	if !ok {
		return
	}
	object := pathOf(index.X)
	members := m.words.Views[object]
	if members == nil {
		members = m.words.members(object)
	}
	if object == "" || len(members) == 0 || !m.isHosts(object+".", at) {
		return
	}
	hint := ""
	if slices.Contains(members, "set") {
		hint = ": write " + object + ".set(key, value)"
	}
	m.report(ItemAssignment, x, "%s takes no assignment to items%s", object, hint)
}
