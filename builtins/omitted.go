package builtins

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/jsontext"
)

// eventValue converts an argument of an event to Starlark.
func eventValue(e *starhost.Event, name string) (starlark.Value, error) {
	p := e.Arg(name)
	if len(e.Omitted) == 0 {
		return argumentValue(p)
	}
	if list, ok := p.(**starhost.Messages); ok {
		return messagesOf(e, *list), nil
	}
	if !lacksTexts(e) || name != "arguments" && name != "call" {
		return argumentValue(p)
	}
	o := omissionsOf(e)
	switch p := p.(type) {
	case *json.RawMessage:
		dict, err := objectOf(*p)
		if err != nil {
			return nil, err
		}
		for _, value := range o {
			value.replaceIn(dict)
		}
		return freeze(dict), nil
	case **starhost.CallInfo:
		if *p == nil {
			return starlark.None, nil
		}
		return &view[starhost.CallInfo]{kind: o.callKind(), item: *p}, nil
	}
	return argumentValue(p)
}

// messagesOf returns what handlers see of messages. It reports if a handler reads an attachment that a
// recorded event lacks.
func messagesOf(e *starhost.Event, list *starhost.Messages) starlark.Value {
	items, lacking := list.Items(), map[*starhost.Message]string{}
	for _, pointer := range e.Omitted {
		var i int
		_, err := fmt.Sscanf(pointer, "/messages/%d/attachments", &i)
		if err == nil && 0 <= i && i < len(items) {
			lacking[&items[i]] = pointer
		}
	}
	kind := messageKind
	kind.attrs = []field[starhost.Message]{{"attachments", func(m *starhost.Message) starlark.Value {
		if pointer, ok := lacking[m]; ok {
			return &omittedValue{pointer: pointer, report: e.OnOmitted}
		}
		return attachmentList(m.Attachments)
	}}}
	return newListView(&kind, items)
}

// lacksTexts reports whether the arguments of a recorded event's call lack a text.
func lacksTexts(e *starhost.Event) bool {
	return slices.ContainsFunc(e.Omitted, func(pointer string) bool { return strings.HasPrefix(pointer, "/arguments/") })
}

// An omittedValue stands for a text that a recorded event lacks. A handler can pass it on. Each operation on
// it reports that the handler reads it.
type omittedValue struct {
	pointer string   // where the text is in the event: "/arguments/content"
	path    []string // where the text is in the arguments
	text    string   // what the arguments have in place of the text; "" if they have no text there
	report  func(pointer string)
}

// omissions are the texts that the arguments of an event lack.
type omissions []*omittedValue

// omissionsOf returns the texts that the event's arguments lack.
func omissionsOf(e *starhost.Event) (list omissions) {
	root, _ := jsontext.DecodeObject(e.Arguments) // nil if it is no object, so that no path leads to a text
	for _, pointer := range e.Omitted {
		rest, ok := strings.CutPrefix(pointer, "/arguments/")
		if !ok {
			continue
		}
		o := &omittedValue{pointer: pointer, path: strings.Split(rest, "/"), report: e.OnOmitted}
		for i, name := range o.path {
			o.path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		}
		o.text, _ = valueAt(root, o.path).(string)
		list = append(list, o)
	}
	return list
}

// valueAt returns the value at a path in decoded JSON, or nil.
func valueAt(v any, path []string) any {
	for _, name := range path {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[name]
		case []any:
			i, ok := indexOf(name, len(parent))
			if !ok {
				return nil
			}
			v = parent[i]
		default:
			return nil
		}
	}
	return v
}

// indexOf returns the index that a step of a path names in a list of n elements.
func indexOf(name string, n int) (int, bool) {
	i, err := strconv.Atoi(name)
	return i, err == nil && 0 <= i && i < n
}

// replaceIn puts the value into decoded arguments. If they have no place for it, every handler that gets the
// arguments counts as one that reads it.
func (o *omittedValue) replaceIn(dict *starlark.Dict) {
	v := starlark.Value(dict)
	last := len(o.path) - 1
	for _, name := range o.path[:last] {
		v = memberOf(v, name)
	}
	name := o.path[last]
	switch v := v.(type) {
	case *starlark.Dict:
		setKey(v, name, o)
		return
	case *starlark.List:
		if i, ok := indexOf(name, v.Len()); ok && v.SetIndex(i, o) == nil {
			return
		}
	}
	o.report(o.pointer)
}

// memberOf returns a member of a dict or an element of a list, or nil.
func memberOf(v starlark.Value, name string) starlark.Value {
	switch v := v.(type) {
	case *starlark.Dict:
		x, _, _ := v.Get(starlark.String(name))
		return x
	case *starlark.List:
		if i, ok := indexOf(name, v.Len()); ok {
			return v.Index(i)
		}
	}
	return nil
}

// callKind describes how handlers see a call whose arguments lack texts. A field that would have such a text
// is an omittedValue. If no paths are known, the paths are one, too, because an omitted patch can name paths.
func (list omissions) callKind() *viewKind[starhost.CallInfo] {
	kind := callKind
	kind.keys = make([]field[starhost.CallInfo], len(callKind.keys))
	for i, f := range callKind.keys {
		kind.keys[i] = field[starhost.CallInfo]{f.name, func(c *starhost.CallInfo) starlark.Value {
			v := f.get(c)
			if o := list.findIn(v); o != nil {
				return o
			}
			if o := list.findIn(starlark.String(c.Content)); o != nil && f.name == "paths" && len(c.Paths) == 0 {
				return o
			}
			return v
		}}
	}
	return &kind
}

// findIn returns the first omitted text that occurs in a text, or nil.
func (list omissions) findIn(v starlark.Value) *omittedValue {
	text, ok := starlark.AsString(v)
	for _, o := range list {
		if ok && o.text != "" && strings.Contains(text, o.text) {
			return o
		}
	}
	return nil
}

// read reports that a handler reads the text.
func (o *omittedValue) read() { o.report(o.pointer) }

var errOmitted = errors.New("the record lacks this value")

func (o *omittedValue) String() string        { o.read(); return o.text }
func (o *omittedValue) Type() string          { o.read(); return "string" }
func (o *omittedValue) Freeze()               {}
func (o *omittedValue) Truth() starlark.Bool  { o.read(); return true }
func (o *omittedValue) Hash() (uint32, error) { o.read(); return 0, errOmitted }

// Attr and AttrNames implement starlark.HasAttrs, so that getattr and hasattr count as reading, too.
func (o *omittedValue) Attr(string) (starlark.Value, error) { o.read(); return nil, nil }
func (o *omittedValue) AttrNames() []string                 { o.read(); return nil }

// CompareSameType implements starlark.Comparable.
func (o *omittedValue) CompareSameType(syntax.Token, starlark.Value, int) (bool, error) {
	o.read()
	return false, errOmitted
}
