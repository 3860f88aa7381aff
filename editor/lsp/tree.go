package lsp

import (
	"errors"
	"slices"
	"strings"

	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/internal/starnames"
	"github.com/starhost/starhost/starlark"
)

// A tree is the outline of a text that parsed, for a text that may have been edited since then.
type tree struct {
	*starnames.Outline
	parsed   *source
	settings []setting // the settings that plugin(config = ...) declares
	limits   []int     // for each function, the offset of the first line that cannot be in it

	now       *source // the text as it is
	same      int     // bytes at the start of both texts that are equal
	sameEnd   int     // bytes at the end
	isCurrent bool
	// isRepaired means that blanks stand for some lines of parsed. The other places are those of
	// the text.
	isRepaired bool
}

// A setting is a key of plugin(config = ...) with its default.
type setting struct{ name, value string }

// outline returns the tree for the script of a document: of its text if that parses, else of the
// text without the lines that do not parse, else of the last text that did. It returns nil for a
// golden case without a script.
func (d *document) outline() *tree {
	switch {
	case d.script == nil:
		return nil
	case d.parsed:
		return d.tree
	}
	d.parsed = true
	fresh, bad := parseTree(d.script.text)
	switch {
	case fresh != nil:
		d.tree, d.good = fresh, fresh
	default:
		d.tree = d.good
		if fresh = repairTree(d.script.text, bad); fresh != nil {
			fresh.isRepaired, d.tree = true, fresh
		}
	}
	if d.tree != nil {
		d.tree.follow(d.script)
	}
	return d.tree
}

// parseTree returns the outline of a text, or the line of its mistake.
func parseTree(text string) (*tree, int) {
	box := starlark.New(starlark.Options{Limits: starlark.Limits{Source: maxDocument}}) // a sandbox remembers texts
	f, err := box.Parse("file.star", []byte(text))
	if err != nil {
		if located, ok := errors.AsType[*starlark.Error](err); ok {
			return nil, located.Pos.Line
		}
		return nil, 0
	}
	t := &tree{parsed: newSource(text, 0, false)}
	if m, err := builtins.ReadManifest(f); err == nil {
		for k, v := range m.Config.Entries() {
			name := strings.Trim(k.String(), `"`)
			t.settings = append(t.settings, setting{name, v.String()})
		}
	}
	o, err := f.Outline()
	if err != nil {
		return nil, 0
	}
	t.Outline = o
	for _, fn := range o.Functions {
		t.limits = append(t.limits, t.limitOf(fn))
	}
	return t, 0
}

// maxRepairs is the most lines that the server blanks to make a text parse. More of them are a text
// that differs too much, so that an older one is better.
const maxRepairs = 4

// repairTree returns the outline of a text in which blanks stand for the lines that do not parse:
// the line of the mistake, or the line before it, in which a bracket is open. bad is the line of
// the first mistake, from 1.
func repairTree(text string, bad int) *tree {
	lines := strings.Split(text, "\n")
	for range maxRepairs {
		at := min(bad, len(lines)) - 1
		for at > 0 && strings.TrimSpace(lines[at]) == "" { // the end of the file
			at--
		}
		before := at - 1
		for before > 0 && strings.TrimSpace(lines[before]) == "" {
			before--
		}
		furthest := bad
		var best []string
		for _, blanked := range [][]int{{at}, {before}, {before, at}} {
			attempt := slices.Clone(lines)
			for _, n := range blanked {
				if n >= 0 {
					attempt[n] = blank(attempt[n])
				}
			}
			t, next := parseTree(strings.Join(attempt, "\n"))
			if t != nil {
				return t
			}
			if next > furthest {
				best, furthest = attempt, next
			}
		}
		if best == nil {
			return nil
		}
		lines, bad = best, furthest
	}
	return nil
}

// blank returns a line of the same length that is a valid expression, or the head of a block if
// the line is one.
func blank(line string) string {
	text := strings.TrimLeft(line, " \t")
	stub := "0"
	if strings.HasSuffix(strings.TrimSpace(text), ":") && len(text) >= len("if 0:") {
		stub = "if 0:"
	}
	if text == "" {
		return line
	}
	return line[:len(line)-len(text)] + stub + strings.Repeat(" ", len(text)-len(stub))
}

// limitOf returns the offset of the first line behind a function that cannot belong to it.
func (t *tree) limitOf(fn starnames.Func) int {
	end := t.parsed.offsetOf(fn.End)
	if fn.Name == "" {
		return end
	}
	depth := fn.Pos.Col - 1
	for n := t.parsed.lineAt(end) + 1; n < len(t.parsed.lines); n++ {
		line := t.parsed.line(n)
		text := strings.TrimLeft(line, " \t")
		if text != "" && text[0] != '#' && len(line)-len(text) <= depth {
			return t.parsed.lines[n]
		}
	}
	return len(t.parsed.text) + 1
}

// follow compares the parsed text with the text as it is.
func (t *tree) follow(now *source) {
	a, b := t.parsed.text, now.text
	t.now, t.isCurrent, t.same, t.sameEnd = now, a == b, 0, 0
	if t.isCurrent {
		t.same = len(a)
		return
	}
	most := min(len(a), len(b))
	for t.same < most && a[t.same] == b[t.same] {
		t.same++
	}
	for t.sameEnd < most-t.same && a[len(a)-1-t.sameEnd] == b[len(b)-1-t.sameEnd] {
		t.sameEnd++
	}
}

// toParsed returns the offset in the parsed text for one in the text as it is. An offset in the
// edited part becomes its start.
func (t *tree) toParsed(offset int) int {
	switch {
	case offset <= t.same || t.isRepaired:
		return offset
	case offset >= len(t.now.text)-t.sameEnd:
		return offset + len(t.parsed.text) - len(t.now.text)
	}
	return t.same
}

// toNow is the inverse of toParsed. ok is false for the edited part.
func (t *tree) toNow(offset int) (now int, ok bool) {
	switch {
	case offset <= t.same || t.isRepaired:
		return offset, true
	case offset >= len(t.parsed.text)-t.sameEnd:
		return offset + len(t.now.text) - len(t.parsed.text), true
	}
	return t.same, false
}

// spanNow returns the client's range for a name at a place of the outline.
func (t *tree) spanNow(p starnames.Pos, length int) span {
	at, _ := t.toNow(t.parsed.offsetOf(p))
	return t.now.span(at, at+length)
}

// functionAt returns the innermost function around an offset in the text as it is, or -1.
func (t *tree) functionAt(offset int) int {
	indent := offset - t.now.lines[t.now.lineAt(offset)]
	line := t.now.line(t.now.lineAt(offset))
	if rest := strings.TrimLeft(line, " \t"); rest != "" {
		indent = min(indent, len(line)-len(rest))
	}
	at, found := t.toParsed(offset), -1
	for i, fn := range t.Functions {
		from := t.parsed.offsetOf(fn.Pos)
		if from > at {
			break
		}
		inside := at <= t.parsed.offsetOf(fn.End) || fn.Name != "" && indent > fn.Pos.Col-1
		if at < t.limits[i] && inside || at == from {
			found = i
		}
	}
	return found
}

// visible returns the variables that an expression at an offset may use, inner ones first.
func (t *tree) visible(offset int) []*starnames.Variable {
	at := t.toParsed(offset)
	var list []*starnames.Variable
	for fn := t.functionAt(offset); ; fn = t.Functions[fn].Outer {
		for i := range t.Variables {
			v := &t.Variables[i]
			bounded := v.From != starnames.Pos{}
			if v.Func != fn || bounded && (at < t.parsed.offsetOf(v.From) || at > t.parsed.offsetOf(v.To)) {
				continue
			}
			list = append(list, v)
		}
		if fn < 0 {
			return list
		}
	}
}

// lookup returns the variable that a name means at an offset, or nil.
func (t *tree) lookup(name string, offset int) *starnames.Variable {
	list := t.visible(offset)
	if i := slices.IndexFunc(list, func(v *starnames.Variable) bool { return v.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}

// variableAt returns the variable of which a name at an offset is a place, or nil.
func (t *tree) variableAt(name string, offset int) *starnames.Variable {
	at := t.toParsed(offset)
	for i := range t.Variables {
		v := &t.Variables[i]
		if v.Name != name {
			continue
		}
		for _, use := range v.Uses {
			if from := t.parsed.offsetOf(use); from <= at && at <= from+len(name) {
				return v
			}
		}
	}
	return nil
}

// function returns the function that a name defines, or nil.
func (t *tree) function(v *starnames.Variable) *starnames.Func {
	if v == nil || v.Kind != starnames.Function {
		return nil
	}
	for i := range t.Functions {
		if t.Functions[i].NamePos == v.Def && t.Functions[i].Name != "" {
			return &t.Functions[i]
		}
	}
	return nil
}

// global returns the variable that other files can load by a name, or nil.
func (t *tree) global(name string) *starnames.Variable {
	for i := range t.Variables {
		if v := &t.Variables[i]; v.Global && v.Name == name {
			return v
		}
	}
	return nil
}

// handles returns the registrations whose handler is a function by its name, or the lambda of an index: the
// events of hooks, and the names of other functions that register.
func (t *tree) handles(name string, lambda int) (events, registers []string) {
	for _, c := range t.Calls {
		if !strings.HasPrefix(c.Path, "register_") {
			continue
		}
		isHandler, event := false, ""
		for i, a := range c.Args {
			isHandler = isHandler || name != "" && a.Ident == name || lambda >= 0 && a.Func == lambda
			if a.Name == "event" || a.Name == "" && i == 0 {
				event = a.Text
			}
		}
		switch {
		case isHandler && c.Path == "register_hook":
			events = append(events, event)
		case isHandler && name != "":
			registers = append(registers, c.Path)
		}
	}
	return events, registers
}
