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

// removeMember removes a member.
func (e *jsonEditor) removeMember(o *hujson.Object, i int) {
	before, after := o.Members[i].Name.BeforeExtra, o.Members[i].Value.AfterExtra
	o.Members = append(o.Members[:i:i], o.Members[i+1:]...)
	if i < len(o.Members) {
		next := &o.Members[i].Name.BeforeExtra
		*next = e.saveComments(before, after, *next)
		return
	}
	var last *hujson.Value
	if i > 0 {
		last = &o.Members[i-1].Value
	}
	e.closeAfter(last, before, after, &o.AfterExtra)
}

// removeElement removes an element.
func (e *jsonEditor) removeElement(a *hujson.Array, i int) {
	before, after := a.Elements[i].BeforeExtra, a.Elements[i].AfterExtra
	a.Elements = append(a.Elements[:i:i], a.Elements[i+1:]...)
	if i < len(a.Elements) {
		next := &a.Elements[i].BeforeExtra
		*next = e.saveComments(before, after, *next)
		return
	}
	var last *hujson.Value
	if i > 0 {
		last = &a.Elements[i-1]
	}
	e.closeAfter(last, before, after, &a.AfterExtra)
}

// closeAfter makes last the last value, behind which the bytes of a removed value lay. The list
// ends with a comma if it did before.
func (e *jsonEditor) closeAfter(last *hujson.Value, before, after hujson.Extra, end *hujson.Extra) {
	hadComma := after != nil
	*end = e.saveComments(before, after, *end)
	switch {
	case last == nil:
		if len(bytes.TrimSpace(*end)) == 0 {
			*end = nil
		}
	case hadComma && last.AfterExtra == nil:
		last.AfterExtra = hujson.Extra{}
	case !hadComma && last.AfterExtra != nil:
		*end = e.saveComments(last.AfterExtra, nil, *end)
		last.AfterExtra = nil
	}
}

// saveComments returns next with the comments that lay around a removed value in front.
func (e *jsonEditor) saveComments(before, after, next hujson.Extra) hujson.Extra {
	var saved []byte
	for _, extra := range []hujson.Extra{before, after} {
		if text := bytes.TrimRight(extra, " \t\r\n"); len(bytes.TrimSpace(text)) > 0 {
			saved = append(e.endLine(saved, text), text...)
		}
	}
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
