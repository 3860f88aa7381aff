package lsp

import (
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/starnames"
	"github.com/starhost/starhost/starlark"
)

// A Reference has the tables of starhost docs, and writes their rows as Markdown.
type Reference struct {
	Topics      []call.Topic // the names in plugins
	Steps       call.Topic   // the names in golden cases
	Events      []starhost.EventSpec
	Permissions []effects.PermissionKind

	Entry      func(call.Entry) string
	Event      func(starhost.EventSpec) string
	Permission func(effects.PermissionKind) string
}

// words are the tables by name.
type words struct {
	*Reference
	entries map[string]call.Entry
	steps   map[string]bool     // the entries that only golden cases have
	below   map[string][]string // the members of "", ctx, modules and their parts, in the tables' order
	docs    map[string]string   // the descriptions of modules
	args    map[string]builtins.Arg
}

func newWords(r *Reference) *words {
	w := &words{
		Reference: r, entries: map[string]call.Entry{}, steps: map[string]bool{}, below: map[string][]string{},
		docs: map[string]string{}, args: map[string]builtins.Arg{},
	}
	for _, t := range r.Topics {
		if t.Module {
			w.docs[t.Name] = t.Doc
		}
		for _, e := range t.Entries {
			w.add(e)
		}
	}
	for _, e := range r.Steps.Entries {
		w.steps[e.Name] = true
		w.add(e)
	}
	for _, arg := range builtins.Args() {
		w.args[arg.Name] = arg
	}
	return w
}

// add adds an entry below all parts of its path.
func (w *words) add(e call.Entry) {
	w.entries[e.Name] = e
	parent := ""
	for rest := e.Name; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, ".")
		if !slices.Contains(w.below[parent], part) {
			w.below[parent] = append(w.below[parent], part)
		}
		parent = strings.TrimPrefix(parent+"."+part, ".")
	}
}

// isArgument reports whether only handlers have the name, as a parameter.
func (w *words) isArgument(name string) bool {
	e, isEntry := w.entries[name]
	_, isArg := w.args[name]
	return name == "ctx" || isEntry && isArg && e.Value == nil && !w.steps[name] && e.Signature == ""
}

// A member is a name behind a dot, or a parameter of a signature.
type member struct {
	name   string
	path   string // the path of an entry of the tables; "" for others
	detail string
	kind   int
}

// A callable is a function in the form that signature help shows.
type callable struct {
	name   string
	params []string
	result string
	doc    string // Markdown
}

// label returns the signature on one line.
func (c *callable) label() string {
	text := c.name + "(" + strings.Join(c.params, ", ") + ")"
	if c.result != "" {
		text += " -> " + c.result
	}
	return text
}

// paramName returns the name of a parameter in the form of a def: "stars" for "*stars", "sep" for
// `sep=" "`.
func paramName(param string) string {
	name, _, _ := strings.Cut(param, "=")
	name, _, _ = strings.Cut(name, ":")
	return strings.TrimLeft(strings.TrimSpace(name), "*")
}

// entryCallable returns a function of the tables, or nil for a value.
func (w *words) entryCallable(e call.Entry) *callable {
	params, isFunction := strings.CutPrefix(e.Signature, e.Name+"(")
	if !isFunction {
		return nil
	}
	_, result := builtins.TypeOf(e)
	return &callable{
		name: e.Name, params: builtins.SplitParams(strings.TrimSuffix(params, ")")), result: result, doc: w.Entry(e),
	}
}

// methodTypes are the names that Python gives to Starlark's core types.
var methodTypes = map[string]string{"str": "string", "Bytes": "bytes", "list": "list", "dict": "dict", "set": "set"}

// membersOf returns the members of a type of the tables.
func membersOf(typ string) []member {
	var list []member
	for _, m := range builtins.ClassMembers(typ) {
		kind := kindField
		if strings.HasPrefix(m.Type, "(") {
			kind = kindMethod
		}
		list = append(list, member{name: m.Name, detail: m.Type, kind: kind})
	}
	if len(list) > 0 {
		return list
	}
	base, _, _ := strings.Cut(typ, "[")
	core := methodTypes[base]
	for _, name := range starlark.MethodNames() {
		if method, ok := strings.CutPrefix(name, core+"."); ok {
			list = append(list, member{name: method, detail: "method of " + core, kind: kindMethod})
		}
	}
	return list
}

// firstType returns the first of the alternatives of a type that is not None.
func firstType(typ string) string {
	depth := 0
	for i, c := range typ {
		switch {
		case c == '[' || c == '(':
			depth++
		case c == ']' || c == ')':
			depth--
		case c == '|' && depth == 0:
			return strings.TrimSpace(typ[:i])
		}
	}
	return typ
}

// A scopeView answers questions about names at one place of a script.
type scopeView struct {
	*words
	tree   *tree // or nil
	offset int
	isCase bool
}

// isOwn reports whether the file itself defines the first name of a path at the place.
func (v *scopeView) variable(name string) *starnames.Variable {
	if v.tree == nil {
		return nil
	}
	return v.tree.lookup(name, v.offset)
}

// host reports whether the first name of a path is the host's: a builtin, or a parameter that
// starhost fills.
func (v *scopeView) host(path string) bool {
	root, _, _ := strings.Cut(path, ".")
	own := v.variable(root)
	if own == nil {
		return !v.isArgument(root) || root == "ctx"
	}
	return root == "ctx" && own.Kind == starnames.Parameter
}

// maxInference is the most assignments that typeOf follows.
const maxInference = 8

// typeOf returns the type of a path at the place, "" if the tables do not say.
func (v *scopeView) typeOf(path string, depth int) string {
	if depth > maxInference || path == "" {
		return ""
	}
	if v.host(path) {
		if e := v.entries[path]; e.Name != "" && e.Signature == "" {
			return firstType(e.Type)
		}
	}
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return firstType(v.memberType(v.typeOf(path[:i], depth+1), path[i+1:], false))
	}
	own := v.variable(path)
	if own == nil {
		return ""
	}
	if own.Kind == starnames.Parameter {
		return firstType(v.args[path].Type)
	}
	typ := ""
	switch value := own.Value; {
	case value.Called:
		typ = v.resultOf(value.Path, depth+1)
	case value.Path != "" && value.Path != path:
		typ = v.typeOf(value.Path, depth+1)
	}
	if own.Value.Elem {
		typ = elementOf(typ)
	}
	return firstType(typ)
}

// resultOf returns the type of a call's result.
func (v *scopeView) resultOf(path string, depth int) string {
	if v.host(path) {
		if e := v.entries[path]; e.Signature != "" {
			_, result := builtins.TypeOf(e)
			return result
		}
	}
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return ""
	}
	return v.memberType(v.typeOf(path[:i], depth+1), path[i+1:], true)
}

// memberType returns the type of an attribute, or of the result of a method.
func (v *scopeView) memberType(class, name string, called bool) string {
	for _, m := range builtins.ClassMembers(class) {
		if _, result, isMethod := strings.Cut(m.Type, ") -> "); m.Name == name && isMethod && called {
			return result
		}
		if m.Name == name && !called && !strings.HasPrefix(m.Type, "(") {
			return m.Type
		}
	}
	return ""
}

// members returns the members of a path at the place.
func (v *scopeView) members(path string) []member {
	if v.host(path) {
		if path == "config" || path == "ctx.config" {
			return v.configMembers()
		}
		var list []member
		for _, name := range v.below[path] {
			list = append(list, v.entryMember(path+"."+name, name))
		}
		if len(list) > 0 {
			return list
		}
	}
	return membersOf(v.typeOf(path, 0))
}

// configMembers returns the settings that the plugin declares.
func (v *scopeView) configMembers() []member {
	if v.tree == nil {
		return nil
	}
	var list []member
	for _, s := range v.tree.settings {
		list = append(list, member{name: s.name, detail: "default " + errtext.CutTo(s.value, 80, "…"), kind: kindField})
	}
	return list
}

// entryMember describes a path of the tables, which is an entry or the start of others.
func (v *scopeView) entryMember(path, name string) member {
	m := member{name: name, path: path, kind: kindModule, detail: v.docs[path]}
	e, ok := v.entries[path]
	if !ok {
		return m
	}
	_, result := builtins.TypeOf(e)
	m.kind, m.detail = kindField, result
	if e.Signature != "" {
		m.kind, m.detail = kindFunction, e.Signature
		if result != "" {
			m.detail += " -> " + result
		}
	}
	return m
}

// elementOf returns the type of the elements of a list, or of a class that is one; "" for others.
func elementOf(typ string) string {
	for _, list := range []string{"list[", "Sequence["} {
		if rest, ok := strings.CutPrefix(typ, list); ok {
			return strings.TrimSuffix(rest, "]")
		}
	}
	_, rest, ok := strings.Cut(builtins.Classes, "\nclass "+typ+"(Sequence[")
	if !ok {
		return ""
	}
	element, _, _ := strings.Cut(rest, "]")
	return element
}
