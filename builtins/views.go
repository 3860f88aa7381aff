package builtins

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// argumentValue converts an argument of an event, as [starhost.Event.Arg] points
// to it. The value is frozen.
func argumentValue(p any) (starlark.Value, error) {
	switch p := p.(type) {
	case *string:
		return starlark.String(*p), nil
	case *bool:
		return starlark.Bool(*p), nil
	case *int:
		return starlark.MakeInt(*p), nil
	case *json.RawMessage:
		dict, err := objectOf(*p)
		if err != nil {
			return nil, err
		}
		return frozen(dict), nil
	case *starhost.Result:
		return starlark.String(p.ForLLM), nil
	case **starhost.Messages:
		return viewOf(*p, &messageKind), nil
	case **starhost.Tools:
		return viewOf(*p, &toolKind), nil
	case **starhost.List[fragments.Row]:
		return viewOf(*p, &rowKind), nil
	}
	return nil, fmt.Errorf("got %T", p)
}

// viewOf returns the view of a list, made once for all handlers.
func viewOf[T any](list *starhost.List[T], kind *viewKind[T]) starlark.Value {
	if list == nil {
		list = starhost.NewList[T](nil)
	}
	return list.View(func(l *starhost.List[T]) any { return newListView(kind, l.Items()) }).(starlark.Value)
}

// A viewKind describes the views of Go values of one type. Handlers see a value
// as a dict and a sequence of them as a list; both are immutable.
type viewKind[T any] struct {
	item, list string // the Go Type() of the two
	// keys are the members of the dict. The first few are always there, the others
	// where they are not empty; all are attributes.
	keys   []field[T]
	always int
	// attrs are attributes that are no members of the dict.
	attrs []field[T]
	// columns are the attributes of a list: one field of each item.
	columns []field[T]
	// verbs are the methods of a list beside those that lists have.
	verbs []verb[T]
	// change returns a copy of the value with one field replaced; nil if the kind
	// cannot be changed.
	change func(x T, name string, v starlark.Value) (T, error)
}

// A verb is a method of a list's view.
type verb[T any] struct {
	name string
	call func(l *listView[T], c modCall) (starlark.Value, error)
}

// A view is a Go value seen as a dict.
type view[T any] struct {
	kind *viewKind[T]
	item *T
}

// standIn is a value that plugins take for a list or a dict.
type standIn interface {
	starlark.Value
	// StandsFor returns the type that the host's type() says.
	StandsFor() string
}

func (v *view[T]) StandsFor() string     { return "dict" }
func (v *view[T]) Type() string          { return v.kind.item }
func (v *view[T]) Freeze()               {}
func (v *view[T]) Truth() starlark.Bool  { return true }
func (v *view[T]) Hash() (uint32, error) { return unhashable("dict") }
func (v *view[T]) String() string        { return v.dict().String() }

// fields returns the members that the value has now.
func (v *view[T]) fields() []field[T] {
	var fields []field[T]
	for i, f := range v.kind.keys {
		if i < v.kind.always || bool(f.get(v.item).Truth()) {
			fields = append(fields, f)
		}
	}
	return fields
}

// dict returns the value as a dict of its own.
func (v *view[T]) dict() *starlark.Dict {
	d := new(starlark.Dict)
	for _, f := range v.fields() {
		put(d, f.name, f.get(v.item))
	}
	return d
}

func (v *view[T]) Len() int { return len(v.fields()) }

// Get implements starlark.Mapping: v["role"] and "role" in v.
func (v *view[T]) Get(k starlark.Value) (starlark.Value, bool, error) {
	name, _ := starlark.AsString(k)
	x := fieldOf(v.fields(), v.item, name)
	return x, x != nil, nil
}

func (v *view[T]) Items() []starlark.Tuple    { return v.dict().Items() }
func (v *view[T]) Iterate() starlark.Iterator { return v.dict().Iterate() }

// Binary implements the operator | of dicts. The union with something on the
// right is a changed view, so that what a dict cannot say is kept.
func (v *view[T]) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	other, ok := y.(starlark.IterableMapping)
	if op != syntax.PIPE || !ok {
		return nil, nil
	}
	if side == starlark.Left {
		return v.changed("|", other.Items())
	}
	d := new(starlark.Dict)
	for _, items := range [][]starlark.Tuple{other.Items(), v.Items()} {
		for _, item := range items {
			if err := d.SetKey(item[0], item[1]); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// changed returns a view with fields replaced.
func (v *view[T]) changed(what string, changes []starlark.Tuple) (starlark.Value, error) {
	if v.kind.change == nil {
		return nil, errorf("E0202", "%s: a %s cannot be changed: dict(x) is a copy that can", what, v.kind.item)
	}
	item := *v.item
	for _, c := range changes {
		name, _ := starlark.AsString(c[0])
		var err error
		if item, err = v.kind.change(item, name, c[1]); err != nil {
			return nil, errorf("E0202", "%s: %v", what, err)
		}
	}
	return &view[T]{v.kind, &item}, nil
}

func (v *view[T]) CompareSameType(op syntax.Token, y starlark.Value, depth int) (bool, error) {
	return starlark.CompareDepth(op, v.dict(), y.(*view[T]).dict(), depth-1)
}

// dictMethods are the methods of a dict; those that would change it explain why
// they do not.
var dictMethods = []string{"clear", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values"}

var mutators = []string{"append", "clear", "extend", "insert", "pop", "popitem", "remove", "setdefault", "update"}

func (v *view[T]) AttrNames() []string {
	names := slices.Concat(fieldNames(v.kind.keys), fieldNames(v.kind.attrs), dictMethods)
	if v.kind.change != nil {
		names = append(names, "replace")
	}
	slices.Sort(names)
	return names
}

func (v *view[T]) Attr(name string) (starlark.Value, error) {
	for _, fields := range [][]field[T]{v.kind.keys, v.kind.attrs} {
		if x := fieldOf(fields, v.item, name); x != nil {
			return x, nil
		}
	}
	switch {
	case name == "replace" && v.kind.change != nil:
		return method(v, name, func(c modCall) (starlark.Value, error) {
			if len(c.args) > 0 {
				return nil, c.fail("E0201", "got %d positional arguments, want changes by name", len(c.args))
			}
			return v.changed(c.name, c.kwargs)
		}), nil
	case slices.Contains(mutators, name) && slices.Contains(dictMethods, name):
		return immutable(v, name), nil
	case slices.Contains(dictMethods, name):
		return frozen(v.dict()).Attr(name)
	}
	return nil, nil
}

// method returns a method of a value that plugins see. It takes no Runtime: what
// it does is bounded by the value.
func method(recv starlark.Value, name string, fn modFunc) starlark.Value {
	full := recv.Type() + "." + name
	return starlark.NewBuiltin(full, func(th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return fn(modCall{th: th, name: full, args: args, kwargs: kwargs})
	}).BindReceiver(recv)
}

// immutable returns a method that says that it does not exist, and what does.
func immutable(recv standIn, name string) starlark.Value {
	return method(recv, name, func(c modCall) (starlark.Value, error) {
		return nil, c.fail("E0202", "a %s cannot be changed: %s(x) is a copy that can", recv.Type(), recv.StandsFor())
	})
}

// A listView is a sequence of Go values seen as a list.
type listView[T any] struct {
	kind  *viewKind[T]
	items []T
	elems []starlark.Value
}

func newListView[T any](kind *viewKind[T], items []T) *listView[T] {
	l := &listView[T]{kind: kind, items: items, elems: make([]starlark.Value, len(items))}
	views := make([]view[T], len(items))
	for i := range items {
		views[i] = view[T]{kind, &items[i]}
		l.elems[i] = &views[i]
	}
	return l
}

func (l *listView[T]) StandsFor() string          { return "list" }
func (l *listView[T]) Type() string               { return l.kind.list }
func (l *listView[T]) Freeze()                    {}
func (l *listView[T]) Truth() starlark.Bool       { return len(l.elems) > 0 }
func (l *listView[T]) Hash() (uint32, error)      { return unhashable("list") }
func (l *listView[T]) String() string             { return l.copy().String() }
func (l *listView[T]) Len() int                   { return len(l.elems) }
func (l *listView[T]) Index(i int) starlark.Value { return l.elems[i] }
func (l *listView[T]) Iterate() starlark.Iterator { return starlark.NewList(l.elems).Iterate() }

// copy returns the elements as a list of its own.
func (l *listView[T]) copy() *starlark.List { return starlark.NewList(slices.Clone(l.elems)) }

// Slice implements starlark.Sliceable: a list of its own, as of a list.
func (l *listView[T]) Slice(start, end, step int) starlark.Value {
	return starlark.NewList(l.elems).Slice(start, end, step)
}

// Has implements starlark.Container: the operator in.
func (l *listView[T]) Has(y starlark.Value) (bool, error) {
	i, err := l.find(y)
	return i >= 0, err
}

func (l *listView[T]) find(y starlark.Value) (int, error) {
	for i, x := range l.elems {
		if same, err := starlark.Equal(x, y); same || err != nil {
			return i, err
		}
	}
	return -1, nil
}

// Binary implements the operator + of lists.
func (l *listView[T]) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	other, ok := elementsOf(y)
	if op != syntax.PLUS || !ok {
		return nil, nil
	}
	if side == starlark.Right {
		return starlark.NewList(slices.Concat(other, l.elems)), nil
	}
	return starlark.NewList(slices.Concat(l.elems, other)), nil
}

// elementsOf returns the elements of a list or of what stands for one.
func elementsOf(v starlark.Value) ([]starlark.Value, bool) {
	list, ok := v.(starlark.Indexable)
	if _, isList := v.(*starlark.List); !isList {
		s, stands := v.(standIn)
		ok = stands && s.StandsFor() == "list"
	}
	if !ok {
		return nil, false
	}
	elems := make([]starlark.Value, list.Len())
	for i := range elems {
		elems[i] = list.Index(i)
	}
	return elems, true
}

func (l *listView[T]) CompareSameType(op syntax.Token, y starlark.Value, depth int) (bool, error) {
	return starlark.CompareDepth(op, starlark.NewList(l.elems), starlark.NewList(y.(*listView[T]).elems), depth-1)
}

// listMethods are the methods of a list.
var listMethods = []string{"append", "clear", "extend", "index", "insert", "pop", "remove"}

func (l *listView[T]) AttrNames() []string {
	names := slices.Concat(fieldNames(l.kind.columns), listMethods)
	for _, v := range l.kind.verbs {
		names = append(names, v.name)
	}
	slices.Sort(names)
	return names
}

func (l *listView[T]) Attr(name string) (starlark.Value, error) {
	for _, column := range l.kind.columns {
		if column.name == name {
			return l.column(column), nil
		}
	}
	for _, v := range l.kind.verbs {
		if v.name == name {
			return method(l, name, func(c modCall) (starlark.Value, error) { return v.call(l, c) }), nil
		}
	}
	switch {
	case name == "index":
		return frozen(l.copy()).Attr(name)
	case slices.Contains(listMethods, name):
		return immutable(l, name), nil
	}
	return nil, nil
}

// column returns one field of every item.
func (l *listView[T]) column(f field[T]) starlark.Value {
	elems := make([]starlark.Value, len(l.items))
	for i := range l.items {
		elems[i] = f.get(&l.items[i])
	}
	return frozen(starlark.NewList(elems))
}

// typeName implements
//
//	type(x)
//
// A view has the type of what it stands for.
func typeName(c modCall) (starlark.Value, error) {
	if len(c.args) != 1 || len(c.kwargs) > 0 {
		return nil, c.fail("E0201", "got %d arguments, want exactly 1", len(c.args)+len(c.kwargs))
	}
	if s, ok := c.args[0].(standIn); ok {
		return starlark.String(s.StandsFor()), nil
	}
	return starlark.String(c.args[0].Type()), nil
}
