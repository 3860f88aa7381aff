package starlark

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.starlark.net/starlark"
)

// Complete completes the name at the end of text. It returns the offset where the name begins, and
// its sorted completions. After a dot, these are the members of a value, if the text before the dot
// consists of names and dots alone, because Complete calls no function.
func (r *REPL) Complete(text string) (begin int, names []string) {
	path := text[pathBegin(text):]
	owner, part, dotted := cutLast(path)
	begin = len(text) - len(part)
	var all []string
	switch {
	case !dotted:
		if part == "" {
			return begin, nil
		}
		all = r.visibleNames()
	case owner != "":
		all = memberNames(r.resolvePath(owner))
	}
	for _, name := range all {
		if strings.HasPrefix(name, part) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return begin, names
}

// pathBegin returns the offset of the names and dots at the end of text.
func pathBegin(text string) int {
	end := len(text)
	for end > 0 {
		c, size := utf8.DecodeLastRuneInString(text[:end])
		if c != '.' && c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			break
		}
		end -= size
	}
	return end
}

// cutLast splits a path at its last dot.
func cutLast(path string) (owner, part string, dotted bool) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

// visibleNames returns the names that a statement may use.
func (r *REPL) visibleNames() []string {
	var names []string
	for _, env := range []starlark.StringDict{r.sandbox.env, r.names} {
		for name := range env {
			if isIdentifier(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// resolvePath returns the value of a path of names, or nil.
func (r *REPL) resolvePath(path string) starlark.Value {
	first, rest, more := strings.Cut(path, ".")
	v := r.names[first]
	if v == nil {
		v = r.sandbox.env[first]
	}
	for more {
		first, rest, more = strings.Cut(rest, ".")
		owner, ok := v.(starlark.HasAttrs)
		if !ok {
			return nil
		}
		var err error
		if v, err = owner.Attr(first); err != nil {
			return nil
		}
	}
	return v
}

// memberNames returns the names of the members of v.
func memberNames(v starlark.Value) []string {
	if owner, ok := v.(starlark.HasAttrs); ok {
		return owner.AttrNames()
	}
	return nil
}
