package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// declaration visits export, declare and their like.
func (r *reader) declaration(c *syntax.DeclClause) {
	argv, lists := []word{{text: c.Variant.Value, known: true}}, false
	for _, a := range c.Args {
		switch {
		case a.Naked && a.Value != nil:
			w := r.word(a.Value)
			argv = append(argv, w)
			lists = lists || isListFlag(w.text)
			judgeDeclared(r, w)
		default:
			value := r.assign(a)
			if a.Name != nil {
				argv = append(argv, word{text: a.Name.Value, known: true})
				r.declareList(a, value, lists)
			}
		}
	}
	r.addCall(argv, r.certain && !r.dead)
	r.record(argv, Command{Via: r.via, Wrappers: r.wrapped, origin: &origin{Text: r.source(c), Offset: r.offset(c)}})
}

// isListFlag reports whether a flag of declare makes a list.
func isListFlag(text string) bool {
	return strings.HasPrefix(text, "-") && strings.ContainsAny(text, "aA")
}

// judgeDeclared judges a word of export, declare and their like.
func judgeDeclared(r *reader, w word) {
	name, value, _ := strings.Cut(w.text, "=")
	switch {
	case !w.known:
		r.poisoned = true // it may assign to PATH
		r.setWild()
	case strings.Contains(name, "["), strings.HasPrefix(value, "("):
		r.setWild() // an index is calculated, and bash expands a list
	case r.assignText(w):
	case strings.HasPrefix(w.text, "-") && strings.Trim(w.text, "-xraAgUupfF") != "":
		r.setWild() // an integer is calculated, a reference assigns elsewhere
	}
}

// declareList judges the value of a declared variable. If it is a list, bash expands a text such as
// "($(command))" once more.
func (r *reader) declareList(a *syntax.Assign, value word, lists bool) {
	name := a.Name.Value
	known := r.lists[name] || isOneOf(name, []string{"DIRSTACK", "PIPESTATUS", "FUNCNAME", "GROUPS"}) ||
		strings.HasPrefix(name, "BASH_") || strings.HasPrefix(name, "COMP")
	if lists {
		put(&r.lists, name, true)
	}
	if a.Array != nil || a.Naked {
		return
	}
	if value.known && strings.HasPrefix(value.text, "(") ||
		!value.known && (lists || known) && (value.open().start == "" || value.open().start[0] == '(') {
		r.setWild()
	}
}

// toolFolders are folders outside of any project into which people install programs.
const toolFolders = " $PATH ${PATH} $HOME/.cargo/bin $HOME/.local/bin $HOME/go/bin $HOME/.bun/bin $HOME/.deno/bin ~/.cargo/bin ~/.local/bin ~/go/bin ~/.bun/bin "

// isToolPath reports whether an assignment as it is written adds only such folders to PATH.
func isToolPath(source string) bool {
	list, ok := strings.CutPrefix(source, "PATH=")
	list = strings.Trim(list, `"`)
	for folder := range strings.SplitSeq(list, ":") {
		isSystem := hasStart(folder, "/usr/", "/opt/") && strings.HasSuffix(folder, "/bin") && isPlain(folder) && !strings.Contains(folder, "..")
		ok = ok && folder != "" && (isSystem || isSystemFolder(folder) || strings.Contains(toolFolders, " "+folder+" "))
	}
	return ok
}

// assign visits an assignment and returns its value.
func (r *reader) assign(a *syntax.Assign) word {
	r.script.Nodes++
	value := word{known: true}
	if a.Index != nil {
		r.arithmetic(a.Index)
	}
	if a.Value != nil {
		value = r.word(a.Value)
		noteValues(r, value)
	}
	if a.Array != nil {
		value.known = false
		if a.Name != nil {
			put(&r.lists, a.Name.Value, true)
		}
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				r.arithmetic(e.Index)
			}
			if e.Value != nil {
				noteValues(r, r.word(e.Value))
			}
		}
	}
	if a.Name != nil && !a.Naked && !isToolPath(r.source(a)) {
		r.assignName(a.Name.Value, value)
		if source := r.source(a); (a.Append || a.Index != nil) && strings.Contains(source, "/") {
			r.addCall([]word{{text: source, known: value.known}, {many: true}}, false) // dash runs it
		}
	}
	return value
}
