package install

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// The functions below add and remove values, and leave every byte around them. So removing a value undoes
// adding it, whatever else has changed meanwhile. In hujson's tree, the last value of a list has an
// AfterExtra only if a comma follows it.

// format returns a value with the indentation of the file.
func (e *jsonEditor) format(v hujson.Value, depth int) hujson.Value {
	v = v.Clone()
	v.Minimize()
	var b bytes.Buffer
	_ = json.Indent(&b, v.Pack(), e.indent(depth), e.unit) // no error, because the value is valid
	text := strings.ReplaceAll(b.String(), "\n", e.newline)
	v, _ = hujson.Parse([]byte(text))
	return v
}

func (e *jsonEditor) indent(depth int) string { return strings.Repeat(e.unit, depth) }

// addMember adds a member at the end of an object.
func (e *jsonEditor) addMember(o *hujson.Object, m *hujson.ObjectMember, depth int) {
	added := hujson.ObjectMember{Name: m.Name.Clone(), Value: e.format(m.Value, depth)}
	added.Name.BeforeExtra, added.Name.AfterExtra = nil, nil
	added.Value.BeforeExtra = hujson.Extra(" ")
	if n := len(o.Members); n > 0 {
		last := &o.Members[n-1]
		added.Name.BeforeExtra, added.Value.AfterExtra = e.join(last.Name.BeforeExtra, last.Value.AfterExtra, &o.AfterExtra, depth)
	} else {
		added.Name.BeforeExtra = e.open(&o.AfterExtra, depth)
	}
	o.Members = append(o.Members, added)
}

// addElement adds an element at the end of a list.
func (e *jsonEditor) addElement(a *hujson.Array, v hujson.Value, depth int) {
	added := e.format(v, depth)
	if n := len(a.Elements); n > 0 {
		last := &a.Elements[n-1]
		added.BeforeExtra, added.AfterExtra = e.join(last.BeforeExtra, last.AfterExtra, &a.AfterExtra, depth)
	} else {
		added.BeforeExtra = e.open(&a.AfterExtra, depth)
	}
	a.Elements = append(a.Elements, added)
}

// join returns the bytes around a value that is added after the last one. The last value has the bytes before
// in front, and after before its comma, if it has a comma. end are the bytes after it. The comments in end
// then precede the new value, and the white space in end stays at the end of the list.
func (e *jsonEditor) join(before, after hujson.Extra, end *hujson.Extra, depth int) (newBefore, newAfter hujson.Extra) {
	if after != nil {
		newAfter = hujson.Extra{}
	}
	comments := bytes.TrimRight(*end, space)
	indent := e.indent(depth)
	if i := bytes.LastIndexByte(before, '\n'); i >= 0 && len(bytes.TrimSpace(before[i:])) == 0 {
		indent = string(before[i+1:])
	}
	newBefore = slices.Concat(comments, []byte(e.newline+indent)) // copied, because end is a part of the source
	*end = (*end)[len(comments):]
	return newBefore, newAfter
}

// open returns the bytes that precede the first value of a list whose brackets contain end: end itself and a
// new line. moveComments can restore end from them.
func (e *jsonEditor) open(end *hujson.Extra, depth int) (before hujson.Extra) {
	before = slices.Concat(*end, []byte(e.newline+e.indent(depth)))
	*end = hujson.Extra(e.newline + e.indent(depth-1))
	return before
}

// space is the white space of JSON.
const space = " \t\r\n"

// removeMembers removes the members for which drop is true.
func (e *jsonEditor) removeMembers(o *hujson.Object, drop []bool) {
	e.moveComments(drop, &o.AfterExtra, func(i int) (before, after *hujson.Extra) {
		return &o.Members[i].Name.BeforeExtra, &o.Members[i].Value.AfterExtra
	})
	o.Members = without(o.Members, drop)
}

// removeElements removes the elements for which drop is true.
func (e *jsonEditor) removeElements(a *hujson.Array, drop []bool) {
	e.moveComments(drop, &a.AfterExtra, func(i int) (before, after *hujson.Extra) {
		return &a.Elements[i].BeforeExtra, &a.Elements[i].AfterExtra
	})
	a.Elements = without(a.Elements, drop)
}

func without[T any](items []T, drop []bool) []T {
	i := -1
	return slices.DeleteFunc(items, func(T) bool {
		i++
		return drop[i]
	})
}

// moveComments moves the comments around values that are removed to the next value, or to the end of the
// list. If the first value goes, it restores what the list had before that value. If the list ended with a
// comma before, it does afterwards.
func (e *jsonEditor) moveComments(drop []bool, end *hujson.Extra, at func(i int) (before, after *hujson.Extra)) {
	var saved []byte
	last := -1 // the index of the last value that stays
	for i, dropped := range drop {
		before, after := at(i)
		if dropped {
			lead := *before
			if line := bytes.LastIndexByte(lead, '\n'); i == 0 && line >= 0 && len(bytes.TrimSpace(lead[line:])) == 0 {
				saved, lead = bytes.TrimSuffix(slices.Clone(lead[:line]), []byte("\r")), nil // as open found it
			}
			saved = e.saveComments(saved, lead, *after)
			continue
		}
		*before = e.appendExtra(saved, *before)
		saved, last = nil, i
	}
	if last == len(drop)-1 {
		return
	}
	_, removed := at(len(drop) - 1)
	if last < 0 && len(bytes.TrimSpace(*end)) == 0 {
		*end = e.endLine(saved, nil)
		return
	}
	*end = e.appendExtra(saved, *end)
	if last < 0 {
		return
	}
	switch _, after := at(last); {
	case *removed != nil && *after == nil:
		*after = hujson.Extra{}
	case *removed == nil && *after != nil:
		*end = e.appendExtra(e.saveComments(nil, *after, nil), *end)
		*after = nil
	}
}

// saveComments appends the comments around a value.
func (e *jsonEditor) saveComments(saved []byte, before, after hujson.Extra) []byte {
	for _, extra := range []hujson.Extra{before, after} {
		if text := bytes.TrimRight(extra, space); len(bytes.TrimSpace(text)) > 0 {
			saved = append(e.endLine(saved, text), text...)
		}
	}
	return saved
}

// appendExtra appends bytes after the saved comments.
func (e *jsonEditor) appendExtra(saved []byte, next hujson.Extra) hujson.Extra {
	if saved == nil {
		return next
	}
	return append(e.endLine(saved, next), next...)
}

// endLine ends the line after a line comment, if a text follows.
func (e *jsonEditor) endLine(saved, next []byte) []byte {
	if endsInLine(saved) && !bytes.HasPrefix(next, []byte("\n")) && !bytes.HasPrefix(next, []byte("\r\n")) {
		return append(saved, e.newline...)
	}
	return saved
}

// endsInLine reports whether white space and comments end with a line comment that is still open.
func endsInLine(extra []byte) bool {
	for len(extra) > 0 {
		end, found := 1, true
		switch {
		case bytes.HasPrefix(extra, []byte("//")):
			end = bytes.IndexByte(extra, '\n') + 1
			found = end > 0
		case bytes.HasPrefix(extra, []byte("/*")):
			end = bytes.Index(extra[2:], []byte("*/")) + 4
		}
		if !found {
			return true
		}
		extra = extra[end:]
	}
	return false
}
