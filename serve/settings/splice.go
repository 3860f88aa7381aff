package settings

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// The functions below add and remove values, and leave the comments around them in place. In
// hujson's tree, the last value of a list has an AfterExtra only if a comma follows it.

// format returns a value with the file's indentation.
func (e *jsonEditor) format(v hujson.Value, depth int) hujson.Value {
	v = v.Clone()
	v.Minimize()
	var b bytes.Buffer
	_ = json.Indent(&b, v.Pack(), e.indent(depth), e.unit) // it is valid
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
	var last *hujson.Value
	if n := len(o.Members); n > 0 {
		last = &o.Members[n-1].Value
	}
	added.Name.BeforeExtra, added.Value.AfterExtra = e.join(last, &o.AfterExtra, depth)
	o.Members = append(o.Members, added)
}

// addElement adds an element at the end of a list.
func (e *jsonEditor) addElement(a *hujson.Array, v hujson.Value, depth int) {
	added := e.format(v, depth)
	var last *hujson.Value
	if n := len(a.Elements); n > 0 {
		last = &a.Elements[n-1]
	}
	added.BeforeExtra, added.AfterExtra = e.join(last, &a.AfterExtra, depth)
	a.Elements = append(a.Elements, added)
}

// join returns the bytes around a value that follows the last one. end is what follows the last
// value today.
func (e *jsonEditor) join(last *hujson.Value, end *hujson.Extra, depth int) (before, after hujson.Extra) {
	if last != nil && last.AfterExtra != nil {
		after = hujson.Extra{}
	}
	before = slices.Concat(bytes.TrimRight(*end, " \t\r\n"), []byte(e.newline+e.indent(depth))) // end is a part of the source
	*end = hujson.Extra(e.newline + e.indent(depth-1))
	return before, after
}

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

// moveComments moves the comments around values that go to the next value, or to the end of the
// list. The list ends with a comma if it did before.
func (e *jsonEditor) moveComments(drop []bool, end *hujson.Extra, at func(i int) (before, after *hujson.Extra)) {
	var saved []byte
	last := -1 // the last value that stays
	for i, dropped := range drop {
		before, after := at(i)
		if dropped {
			saved = e.saveComments(saved, *before, *after)
			continue
		}
		*before = e.appendExtra(saved, *before)
		saved, last = nil, i
	}
	if last == len(drop)-1 {
		return
	}
	_, removed := at(len(drop) - 1)
	*end = e.appendExtra(saved, *end)
	if last < 0 {
		if len(bytes.TrimSpace(*end)) == 0 {
			*end = nil
		}
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

// saveComments appends the comments that lie around a value.
func (e *jsonEditor) saveComments(saved []byte, before, after hujson.Extra) []byte {
	for _, extra := range []hujson.Extra{before, after} {
		if text := bytes.TrimRight(extra, " \t\r\n"); len(bytes.TrimSpace(text)) > 0 {
			saved = append(e.endLine(saved, text), text...)
		}
	}
	return saved
}

// appendExtra appends the bytes behind comments.
func (e *jsonEditor) appendExtra(saved []byte, next hujson.Extra) hujson.Extra {
	if saved == nil {
		return next
	}
	return append(e.endLine(saved, next), next...)
}

// endLine ends a line between comments and the text behind them, because a line comment must end.
func (e *jsonEditor) endLine(saved, next []byte) []byte {
	if len(saved) > 0 && !bytes.HasPrefix(next, []byte("\n")) && !bytes.HasPrefix(next, []byte("\r\n")) {
		return append(saved, e.newline...)
	}
	return saved
}
