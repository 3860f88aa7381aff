package lsp

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/starnames"
)

// complete answers textDocument/completion.
func (s *server) complete(d *document, p docParams) (any, error) {
	list := completionList{Items: []completionItem{}}
	script := d.scriptAt(p.Position)
	if script == nil {
		return list, nil
	}
	offset := script.offset(p.Position)
	c := scan(script.text, offset)
	f := &finder{scopeView: s.view(d, offset), server: s, doc: d, cursor: &c, seen: map[string]bool{}}
	switch {
	case c.comment, c.def:
	case c.literal != nil:
		f.completeText()
		c.from = c.literal.from
	default:
		f.completeName()
	}
	edit := script.span(c.from, offset)
	for _, item := range f.items {
		item.TextEdit = &textEdit{edit, item.TextEdit.NewText}
		list.Items = append(list.Items, item)
	}
	return list, nil
}

// view returns the names at an offset of a document's script.
func (s *server) view(d *document, offset int) *scopeView {
	return &scopeView{words: s.words, tree: d.outline(), offset: offset, isCase: d.isCase}
}

// A finder collects completions.
type finder struct {
	*scopeView
	server *server
	doc    *document
	cursor *cursor
	items  []completionItem
	seen   map[string]bool
}

// add adds a completion, unless one of that label is there. rank orders the groups.
func (f *finder) add(rank string, m member) {
	if f.seen[m.name] {
		return
	}
	f.seen[m.name] = true
	f.items = append(f.items, completionItem{
		Label: m.name, Kind: m.kind, Detail: errtext.CutTo(m.detail, 200, "…"), Data: m.path, SortText: rank + m.name,
		TextEdit: &textEdit{NewText: m.name},
	})
}

func (f *finder) completeName() {
	if owner, dotted := cutOwner(f.cursor.path); dotted {
		for _, m := range f.members(owner) {
			f.add("", m)
		}
		return
	}
	if n := len(f.cursor.calls); n > 0 && f.cursor.calls[n-1].def {
		f.completeParams(&f.cursor.calls[n-1])
		return
	}
	f.completeKeywords()
	f.completeVisible()
}

// cutOwner returns the path before the last dot.
func cutOwner(path string) (owner string, dotted bool) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", false
	}
	return path[:i], true
}

// completeParams offers the arguments that starhost passes to a handler.
func (f *finder) completeParams(b *bracket) {
	if f.tree == nil {
		return
	}
	events, registers := f.tree.handles(b.path, -1)
	if len(events)+len(registers) == 0 {
		events = nil
		for _, e := range f.server.events(f.doc) {
			events = append(events, e.Name) // it may be registered later
		}
	}
	f.add("0", f.entryMember("ctx", "ctx"))
	for _, e := range f.server.events(f.doc) {
		if !slices.Contains(events, e.Name) {
			continue
		}
		for _, name := range e.Args {
			f.add("1", member{name: name, detail: f.args[name].Type, kind: kindVariable})
		}
	}
}

// completeKeywords offers the names of the arguments that the call around the cursor lacks.
func (f *finder) completeKeywords() {
	n := len(f.cursor.calls)
	if n == 0 || f.cursor.calls[n-1].open != '(' || f.cursor.calls[n-1].hasText || f.cursor.calls[n-1].name != "" {
		return
	}
	b := &f.cursor.calls[n-1]
	c := f.server.callableAt(f.scopeView, f.doc, b.path)
	if c == nil {
		return
	}
	for i, param := range c.params {
		name := paramName(param)
		if i < b.arg && len(b.names) == 0 || strings.HasPrefix(param, "*") || slices.Contains(b.names, name) {
			continue
		}
		f.add("0", member{name: name + " = ", detail: param, kind: kindField})
	}
}

// completeVisible offers the names that an expression may use.
func (f *finder) completeVisible() {
	if f.tree != nil {
		for _, v := range f.tree.visible(f.offset) {
			m := member{name: v.Name, kind: kindVariable, detail: string(v.Kind)}
			if fn := f.tree.function(v); fn != nil {
				m.kind, m.detail = kindFunction, functionCallable(fn).label()
			}
			f.add("1", m)
		}
	}
	if n := len(f.cursor.calls); n > 0 && f.cursor.calls[n-1].open != '(' {
		for _, name := range comprehensionNames(f.doc.script.text[f.offset:]) {
			f.add("1", member{name: name, kind: kindVariable, detail: "local"})
		}
	}
	for _, name := range f.below[""] {
		if f.isArgument(name) || f.steps[name] && !f.isCase {
			continue
		}
		f.add("2", f.entryMember(name, name))
	}
	if f.cursor.path == "" {
		return
	}
	for _, word := range keywords {
		f.add("3", member{name: word, kind: kindKeyword})
	}
}

// comprehensionNames returns the variables of the comprehension whose element ends where text
// begins: a and b for the text "for a, b in pairs]". The text around it need not parse.
func comprehensionNames(text string) (names []string) {
	line, _, _ := strings.Cut(text, "\n")
	for {
		_, rest, ok := strings.Cut(" "+line, " for ")
		if !ok {
			return names
		}
		list, behind, ok := strings.Cut(rest, " in ")
		if !ok {
			return names
		}
		for name := range strings.SplitSeq(strings.Trim(list, " ()"), ",") {
			if name = strings.TrimSpace(name); name != "" && wordLength(name) == len(name) {
				names = append(names, name)
			}
		}
		line = behind
	}
}

// A textRole says which names a string argument contains.
type textRole struct {
	function, param string
	add             func(*finder)
}

// textRoles lists the arguments of builtins that are names of something.
var textRoles = []textRole{
	{"register_hook", "event", (*finder).addEvents},
	{"register_hook", "match", (*finder).addTools},
	{"register_hook", "kind", (*finder).addKinds},
	{"register_tool", "kind", (*finder).addKinds},
	{"plugin", "permissions", (*finder).addPermissions},
	{"template", "tools", (*finder).addTools},
	{"template", "fragments", (*finder).addPrefixes},
	{"template", "system_fragments", (*finder).addPrefixes},
	{"ctx.fragments.get", "ref", (*finder).addPrefixes},
	{"ctx.tools.call", "name", (*finder).addTools},
	{"ctx.fire", "name", (*finder).addEvents},
	{"prompt", "fragments", (*finder).addPrefixes},
	{"prompt", "system_fragments", (*finder).addPrefixes},
	{"prompt", "tools", (*finder).addTools},
	{"prompt", "template", (*finder).addTemplates},
	{"turn", "fragments", (*finder).addPrefixes},
	{"turn", "system_fragments", (*finder).addPrefixes},
	{"turn", "tools", (*finder).addTools},
	{"turn", "template", (*finder).addTemplates},
	{"render_template", "ref", (*finder).addTemplates},
	{"load_fragments", "ref", (*finder).addPrefixes},
	{"tool_call", "name", (*finder).addTools},
	{"call_tool", "name", (*finder).addTools},
	{"fire", "event", (*finder).addEvents},
	{"hook", "agent", (*finder).addAgents},
	{"row", "key", (*finder).addRowKeys},
}

// completeText offers names inside of a string.
func (f *finder) completeText() {
	b, inner := f.cursor.call()
	if b == nil || len(inner) > 1 || len(inner) == 1 && inner[0].open != '[' {
		return
	}
	if b.path == "load" {
		f.completeLoad(b)
		return
	}
	c := f.server.callableAt(f.scopeView, f.doc, b.path)
	if c == nil || !f.host(b.path) {
		return
	}
	param := b.name
	if param == "" && b.arg < len(c.params) {
		param = paramName(c.params[b.arg])
	}
	for _, role := range textRoles {
		if role.function == b.path && role.param == param {
			role.add(f)
		}
	}
}

func (f *finder) addEvents() {
	for _, e := range f.server.events(f.doc) {
		f.add("", member{name: e.Name, detail: e.Fires, kind: kindEvent})
	}
}

func (f *finder) addKinds() {
	for _, kind := range agents.Kinds {
		f.add("", member{name: kind, kind: kindConstant})
	}
}

func (f *finder) addAgents() {
	for _, agent := range agents.All {
		f.add("", member{name: agent.Name, kind: kindConstant})
	}
}

// addRowKeys offers the keys of the golden case's table, from its first row that parses.
func (f *finder) addRowKeys() {
	table := f.doc.section("rows.jsonl")
	if table == nil {
		return
	}
	for n := range table.lines {
		row, err := jsontext.Parse(table.line(n), maxRowDepth)
		if err != nil || !row.HasKind(0, jsontext.Object) {
			continue
		}
		for key, value := range row.Members(0) {
			f.add("", member{name: row.StringAt(key), detail: row.TextAt(value), kind: kindField})
		}
		return
	}
}

// maxRowDepth is the deepest nesting of a row that counts.
const maxRowDepth = 64

// addPermissions offers the kinds of permissions, with the colon that a pattern follows.
func (f *finder) addPermissions() {
	for _, k := range f.Permissions {
		m := member{name: k.Name, detail: k.Example, kind: kindValue}
		if k.Form != "" {
			m.name += ":"
		}
		f.add("", m)
	}
}

func (f *finder) addFacts(kind int, facts []Fact, end string) {
	for _, fact := range facts {
		f.add("", member{name: fact.Name + end, detail: fact.Doc, kind: kind})
	}
}

func (f *finder) addTools()     { f.addFacts(kindFunction, f.server.facts(f.doc).Tools, "") }
func (f *finder) addPrefixes()  { f.addFacts(kindModule, f.server.facts(f.doc).Prefixes, ":") }
func (f *finder) addTemplates() { f.addFacts(kindModule, f.server.facts(f.doc).Templates, ":") }

// completeLoad offers the files that a load statement can name, or the names of the file.
func (f *finder) completeLoad(b *bracket) {
	if b.arg == 0 && b.name == "" {
		for _, label := range f.server.labels(f.doc) {
			f.add("", member{name: label, kind: kindFile})
		}
		return
	}
	label := f.label()
	other := f.server.loaded(f.doc, label)
	if other == nil {
		return
	}
	for i := range other.tree.Variables {
		v := &other.tree.Variables[i]
		if v.Global && !strings.HasPrefix(v.Name, "_") {
			f.add("", member{name: v.Name, detail: string(v.Kind), kind: kindFunction})
		}
	}
}

// label returns the first string of the load statement around the cursor.
func (f *finder) label() string {
	text := f.doc.script.text[:f.cursor.literal.from]
	at := strings.LastIndex(text, "load(")
	if at < 0 {
		return ""
	}
	_, rest, _ := strings.Cut(text[at:], `"`)
	label, _, _ := strings.Cut(rest, `"`)
	return label
}

// events returns the events that hooks of a document may name.
func (s *server) events(d *document) []starhost.EventSpec {
	return slices.Concat(s.words.Events, s.facts(d).Events)
}

// labels returns what load may name in a document: the files of its plugin, and of libraries.
func (s *server) labels(d *document) []string {
	f := s.facts(d)
	var list []string
	for _, file := range f.Files {
		if filepath.Join(f.Root, filepath.FromSlash(file)) != d.path {
			list = append(list, file)
		}
	}
	return list
}

// callableAt returns the function that a path means, or nil.
func (s *server) callableAt(v *scopeView, d *document, path string) *callable {
	if path == "" {
		return nil
	}
	if v.host(path) {
		if e, ok := v.entries[path]; ok && (v.isCase || !v.steps[path]) {
			return v.entryCallable(e)
		}
	}
	if own := v.variable(path); own != nil {
		if fn := s.definition(v.tree, d, own); fn != nil && fn.function != nil {
			return functionCallable(fn.function)
		}
		return nil
	}
	if owner, dotted := cutOwner(path); dotted {
		for _, m := range membersOf(v.typeOf(owner, 0)) {
			if m.name == path[len(owner)+1:] && m.kind == kindMethod && strings.HasPrefix(m.detail, "(") {
				params, result, _ := strings.Cut(m.detail[1:], ") -> ")
				return &callable{name: path, params: builtins.SplitParams(params), result: result}
			}
		}
	}
	return nil
}

// functionCallable describes a function of a file.
func functionCallable(fn *starnames.Func) *callable {
	c := &callable{name: fn.Name}
	for _, p := range fn.Params {
		c.params = append(c.params, p.String())
	}
	if fn.Doc != "" {
		c.doc = fence("text", dedent(fn.Doc))
	}
	return c
}
