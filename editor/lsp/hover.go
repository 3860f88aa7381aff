package lsp

import (
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/starnames"
)

// hoverAt answers textDocument/hover.
func (s *server) hoverAt(d *document, p docParams) (any, error) {
	script := d.scriptAt(p.Position)
	if script == nil {
		return nil, nil
	}
	offset := script.offset(p.Position)
	c := scan(script.text, offset)
	v := s.view(d, offset)
	if c.comment {
		return nil, nil
	}
	var text string
	var from, to int
	if c.literal != nil {
		text, from, to = s.hoverText(d, &c, offset)
	} else {
		var path string
		path, from, to = pathAround(script.text, offset)
		text = s.explain(d, v, path, to)
	}
	if text == "" {
		return nil, nil
	}
	at := script.span(from, to)
	return hover{markdown(text), &at}, nil
}

// explain returns the Markdown about a path, or "".
func (s *server) explain(d *document, v *scopeView, path string, offset int) string {
	switch {
	case path == "":
		return ""
	case isKeyword(d, path, offset):
		return s.explainKeyword(d, v, offset)
	}
	if own := v.variable(path); own != nil && !(path == "ctx" && v.host(path)) {
		return s.explainVariable(d, v, own)
	}
	if name, ok := strings.CutPrefix(strings.TrimPrefix(path, "ctx."), "config."); ok && v.host(path) {
		for _, setting := range v.configMembers() {
			if setting.name == name {
				return fence("python", path) + "\n\nA setting of this plugin: " + code(setting.detail) + "."
			}
		}
		return ""
	}
	if v.host(path) {
		if text := s.explainHost(v, path); text != "" {
			return text
		}
	}
	owner, dotted := cutOwner(path)
	if !dotted {
		return ""
	}
	for _, m := range v.members(owner) {
		if m.name == path[len(owner)+1:] {
			separator := ": "
			if m.kind == kindMethod {
				separator = ""
			}
			return fence("python", path+separator+m.detail)
		}
	}
	return ""
}

// explainHost returns the Markdown about a row of the tables, or about a module.
func (s *server) explainHost(v *scopeView, path string) string {
	if e, ok := v.entries[path]; ok && (v.isCase || !v.steps[path]) {
		return s.words.Entry(e)
	}
	if doc := v.docs[path]; doc != "" {
		return fence("python", path) + "\n\n" + doc
	}
	return ""
}

// isKeyword reports whether the word that ends at an offset is the name of a call's argument.
func isKeyword(d *document, path string, end int) bool {
	text := d.script.text
	rest := strings.TrimLeft(text[end:], " \t")
	c := scan(text, end)
	n := len(c.calls)
	return n > 0 && c.calls[n-1].open == '(' && !c.calls[n-1].def && !strings.Contains(path, ".") &&
		strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "==")
}

// explainKeyword returns the documentation of the function whose argument is at an offset.
func (s *server) explainKeyword(d *document, v *scopeView, offset int) string {
	c := scan(d.script.text, offset)
	if f := s.callableAt(v, d, c.calls[len(c.calls)-1].path); f != nil {
		if f.doc != "" {
			return f.doc
		}
		return fence("python", f.label())
	}
	return ""
}

// explainVariable describes a name that a file defines.
func (s *server) explainVariable(d *document, v *scopeView, own *starnames.Variable) string {
	found := s.definition(v.tree, d, own)
	if found.function != nil {
		c := functionCallable(found.function)
		return strings.TrimSpace(fence("python", "def "+c.label()) + "\n\n" + c.doc)
	}
	text := string(own.Kind) + " " + own.Name
	if typ := v.typeOf(own.Name, 0); typ != "" {
		text += ": " + typ
	}
	text = fence("python", text)
	if arg, ok := v.args[own.Name]; ok && own.Kind == starnames.Parameter && s.isHandlers(v.tree, own) {
		text += "\n\n" + arg.Doc
	}
	return text
}

// isHandlers reports whether a parameter belongs to a function that is registered as a hook.
func (s *server) isHandlers(t *tree, v *starnames.Variable) bool {
	if v.Func < 0 {
		return false
	}
	events, _ := t.handles(t.Functions[v.Func].Name, v.Func)
	return len(events) > 0
}

// hoverText explains the text of a string: an event, or a permission.
func (s *server) hoverText(d *document, c *cursor, offset int) (text string, from, to int) {
	b, _ := c.call()
	from = c.literal.from
	end := strings.IndexAny(d.script.text[from:], "\"'\n")
	if b == nil || end < 0 {
		return "", from, offset
	}
	to = from + end
	word := d.script.text[from:to]
	isEvent := func(e starhost.EventSpec) bool { return e.Name == word }
	switch b.path {
	case "register_hook", "ctx.fire", "fire":
		events := s.events(d)
		if i := slices.IndexFunc(events, isEvent); i >= 0 {
			return s.words.Event(events[i]), from, to
		}
	case "plugin":
		kind, _, _ := strings.Cut(word, ":")
		for _, k := range s.words.Permissions {
			if k.Name == kind && b.name == "permissions" {
				return s.words.Permission(k), from, to
			}
		}
	case "load":
		if root, file := s.labelPath(d, word); root != "" {
			return fence("text", file), from, to
		}
	}
	return "", from, to
}

// resolve answers completionItem/resolve: it adds the documentation of a row of the tables.
func (s *server) resolve(item completionItem) completionItem {
	v := &scopeView{words: s.words, isCase: true}
	if text := s.explainHost(v, item.Data); text != "" {
		item.Documentation = markdown(text)
	}
	return item
}

// signature answers textDocument/signatureHelp.
func (s *server) signature(d *document, p docParams) (any, error) {
	script := d.scriptAt(p.Position)
	if script == nil {
		return nil, nil
	}
	offset := script.offset(p.Position)
	c := scan(script.text, offset)
	b, _ := c.call()
	if b == nil || b.def || c.comment {
		return nil, nil
	}
	f := s.callableAt(s.view(d, offset), d, b.path)
	if f == nil {
		return nil, nil
	}
	info := signatureInfo{Label: f.label(), Parameters: []parameterInfo{}}
	if f.doc != "" {
		info.Documentation = markdown(f.doc)
	}
	active := b.arg
	for i, param := range f.params {
		info.Parameters = append(info.Parameters, parameterInfo{param})
		if b.name != "" && paramName(param) == b.name {
			active = i
		}
		if b.name == "" && strings.HasPrefix(param, "*") && !strings.HasPrefix(param, "**") {
			active = min(active, i)
		}
	}
	return signatureHelp{Signatures: []signatureInfo{info}, ActiveParameter: active}, nil
}

// fence returns a text as a code block, which no text can leave.
func fence(language, text string) string {
	ticks := "```"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	return ticks + language + "\n" + text + "\n" + ticks
}

// code returns a text on one line as code, which no text can leave.
func code(text string) string {
	ticks := "`"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	return ticks + " " + strings.ReplaceAll(text, "\n", " ") + " " + ticks
}

// dedent removes the indentation that all lines of a docstring after the first share.
func dedent(doc string) string {
	lines := strings.Split(strings.TrimSpace(doc), "\n")
	common := -1
	for _, line := range lines[1:] {
		if text := strings.TrimLeft(line, " \t"); text != "" && (common < 0 || len(line)-len(text) < common) {
			common = len(line) - len(text)
		}
	}
	for i, line := range lines[1:] {
		lines[i+1] = line[min(max(common, 0), len(line)):]
	}
	return strings.Join(lines, "\n")
}
