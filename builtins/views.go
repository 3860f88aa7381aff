package builtins

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/fragments"
)

// argumentValue converts an argument of an event to a frozen value. p is the pointer that
// [starhost.Event.Arg] returned.
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
		return freeze(dict), nil
	case *starhost.Result:
		return starlark.String(p.ForLLM), nil
	case *starhost.Usage:
		raw, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		return argumentValue((*json.RawMessage)(&raw))
	case *starhost.AppArg:
		switch v := p.SharedView(func() any { return sharedJSON(p.Value) }).(type) {
		case starlark.Value:
			return v, nil
		case error:
			return nil, v
		}
	case *[]string:
		return freeze(stringList(*p)), nil
	case *[]starhost.ToolCall:
		return callList(*p), nil
	case **starhost.CallInfo:
		return callView(*p), nil
	case **starhost.Messages:
		return viewOf(*p, &messageKind), nil
	case **starhost.Tools:
		return viewOf(*p, &toolKind), nil
	case **starhost.List[fragments.Row]:
		return viewOf(*p, &rowKind), nil
	}
	return nil, fmt.Errorf("got %T", p)
}

// sharedJSON converts JSON to a frozen value, which all handlers of an event share. If it cannot be
// converted, sharedJSON returns an error.
func sharedJSON(raw []byte) any {
	v, err := fromJSON(raw)
	if err != nil {
		return err
	}
	return freeze(v)
}

// viewOf returns the view of a list. All handlers share it.
func viewOf[T any](list *starhost.List[T], kind *viewKind[T]) starlark.Value {
	return list.SharedView(func() any { return newListView(kind, list.Items()) }).(starlark.Value)
}

// A viewKind describes the views of Go values of one type. Handlers see such a value as a dict, and a
// sequence of them as a list. Both are immutable.
type viewKind[T any] struct {
	item, list string // what Type() of the dict and of the list returns
	// keys are the members of the dict, which are also its attributes. The first `always` of them are always
	// there, the others only if they are not empty.
	keys   []field[T]
	always int
	// attrs are further attributes, which the dict does not contain as members.
	attrs []field[T]
	// columns are attributes of the list. Each has one field of every item.
	columns []field[T]
	// verbs are methods of the list that ordinary lists do not have.
	verbs []verb[T]
	// change returns a copy of the value in which one field has a new value. It is nil if plugins cannot
	// change such values.
	change func(x T, name string, v starlark.Value) (T, error)
}

// A verb is a method of a list's view.
type verb[T any] struct {
	name string
	call func(l *listView[T], c call.Call) (starlark.Value, error)
}

// A view shows a Go value as a dict. The first access makes the dict, so that reading the view in a loop
// takes no allocations.
type view[T any] struct {
	kind *viewKind[T]
	item *T
	once sync.Once
	dict *starlark.Dict // frozen; asDict makes it
}

// listOrDictView is a value that behaves like a list or a dict.
type listOrDictView interface {
	starlark.Value
	// StandsFor returns the type that type() returns for the value.
	StandsFor() string
}

func (v *view[T]) StandsFor() string     { return "dict" }
func (v *view[T]) Type() string          { return v.kind.item }
func (v *view[T]) Freeze()               {}
func (v *view[T]) Truth() starlark.Bool  { return true }
func (v *view[T]) Hash() (uint32, error) { return unhashable("dict") }
func (v *view[T]) String() string        { return v.asDict().String() }

// asDict returns a frozen dict with the members of the view.
func (v *view[T]) asDict() *starlark.Dict {
	v.once.Do(func() {
		d := new(starlark.Dict)
		for i, f := range v.kind.keys {
			if x := f.get(v.item); i < v.kind.always || bool(x.Truth()) {
				setKey(d, f.name, x)
			}
		}
		v.dict = freeze(d)
	})
	return v.dict
}

// The methods below do what a dict does: len, v["role"], in, iteration.

func (v *view[T]) Len() int                                                 { return v.asDict().Len() }
func (v *view[T]) Get(k starlark.Value) (_ starlark.Value, _ bool, _ error) { return v.asDict().Get(k) }
func (v *view[T]) Items() []starlark.Tuple                                  { return v.asDict().Items() }
func (v *view[T]) Iterate() starlark.Iterator                               { return v.asDict().Iterate() }

// Binary implements the operator | of dicts. If the view is on the left, the result is a view with replaced
// fields, which keeps the attributes that a dict cannot contain.
func (v *view[T]) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	other, ok := y.(starlark.IterableMapping)
	if op != syntax.PIPE || !ok {
		return nil, nil
	}
	if side == starlark.Left {
		return v.replaceFields("|", other.Items())
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

// replaceFields returns a view of a copy in which some fields have new values.
func (v *view[T]) replaceFields(what string, changes []starlark.Tuple) (starlark.Value, error) {
	if v.kind.change == nil {
		return nil, call.Errorf("E0202", "%s: a %s cannot be changed: dict(x) is a copy that can", what, v.kind.item)
	}
	item := *v.item
	for _, c := range changes {
		name, _ := starlark.AsString(c[0])
		var err error
		if item, err = v.kind.change(item, name, c[1]); err != nil {
			return nil, call.Errorf("E0202", "%s: %v", what, err)
		}
	}
	return &view[T]{kind: v.kind, item: &item}, nil
}

// CompareSameType compares with another view or, if the evaluator asks for it, with a dict.
func (v *view[T]) CompareSameType(op syntax.Token, y starlark.Value, depth int) (bool, error) {
	return compareAsPlain(op, v, y, depth)
}

// dictMethods are the methods of a dict. A method that would change the view returns an error that says why
// it cannot.
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
	if x, found, _ := v.asDict().Get(starlark.String(name)); found {
		return x, nil
	}
	for _, fields := range [][]field[T]{v.kind.keys, v.kind.attrs} {
		if x := fieldOf(fields, v.item, name); x != nil {
			return x, nil
		}
	}
	switch {
	case name == "replace" && v.kind.change != nil:
		return method(v, name, func(c call.Call) (starlark.Value, error) {
			if len(c.Args) > 0 {
				return nil, c.Fail("E0201", "got %d positional arguments, want changes by name", len(c.Args))
			}
			return v.replaceFields(c.Name, c.Kwargs)
		}), nil
	case slices.Contains(mutators, name) && slices.Contains(dictMethods, name):
		return immutable(v, name), nil
	case slices.Contains(dictMethods, name):
		return v.asDict().Attr(name)
	}
	return nil, nil
}

// method returns a method of a view. It needs no Runtime, because its work is bounded by the size of the
// view.
func method(recv starlark.Value, name string, fn call.Func) starlark.Value {
	full := recv.Type() + "." + name
	return starlark.NewBuiltin(full, func(
		th *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
	) (starlark.Value, error) {
		return fn(call.Call{Thread: th, Name: full, Args: args, Kwargs: kwargs})
	}).BindReceiver(recv)
}

// immutable returns a method whose error says that the value cannot change, and what to write instead.
func immutable(recv listOrDictView, name string) starlark.Value {
	return method(recv, name, func(c call.Call) (starlark.Value, error) {
		return nil, c.Fail("E0202", "a %s cannot be changed: %s(x) is a copy that can", recv.Type(), recv.StandsFor())
	})
}

// A listView shows a sequence of Go values as a list.
type listView[T any] struct {
	kind    *viewKind[T]
	items   []T
	list    *starlark.List // the views of the items; frozen
	columns []column       // the columns, in the order of kind.columns
}

// A column has one field of every item of a list. The first access makes it.
type column struct {
	once sync.Once
	list *starlark.List // frozen
}

func newListView[T any](kind *viewKind[T], items []T) *listView[T] {
	views, elems := make([]view[T], len(items)), make([]starlark.Value, len(items))
	for i := range items {
		views[i].kind, views[i].item = kind, &items[i]
		elems[i] = &views[i]
	}
	list := freeze(starlark.NewList(elems))
	return &listView[T]{kind: kind, items: items, list: list, columns: make([]column, len(kind.columns))}
}

func (l *listView[T]) StandsFor() string          { return "list" }
func (l *listView[T]) Type() string               { return l.kind.list }
func (l *listView[T]) Freeze()                    {}
func (l *listView[T]) Truth() starlark.Bool       { return len(l.items) > 0 }
func (l *listView[T]) Hash() (uint32, error)      { return unhashable("list") }
func (l *listView[T]) String() string             { return l.list.String() }
func (l *listView[T]) Len() int                   { return len(l.items) }
func (l *listView[T]) Index(i int) starlark.Value { return l.list.Index(i) }
func (l *listView[T]) Iterate() starlark.Iterator { return l.list.Iterate() }

// Slice implements starlark.Sliceable: the slice is a new list.
func (l *listView[T]) Slice(start, end, step int) starlark.Value {
	return l.list.Slice(start, end, step)
}

// Has implements starlark.Container, for the operator in.
func (l *listView[T]) Has(y starlark.Value) (bool, error) {
	for x := range l.list.Elements() {
		if same, err := equalAsPlain(x, y, starlark.CompareLimit); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// Binary implements the operator + of lists.
func (l *listView[T]) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	other, ok := elementsOf(y)
	if op != syntax.PLUS || !ok {
		return nil, nil
	}
	own := slices.Collect(l.list.Elements())
	if side == starlark.Right {
		return starlark.NewList(append(other, own...)), nil
	}
	return starlark.NewList(append(own, other...)), nil
}

// elementsOf returns the elements of a list or of a view of one, in a new slice.
func elementsOf(v starlark.Value) ([]starlark.Value, bool) {
	list, ok := plainValue(v).(*starlark.List)
	if !ok {
		return nil, false
	}
	return slices.Collect(list.Elements()), true
}

// plainValue returns the list or dict that a view shows, and any other value unchanged. Elements of the list
// may still be views.
func plainValue(v starlark.Value) starlark.Value {
	if p, ok := v.(interface{ plainValue() starlark.Value }); ok {
		return p.plainValue()
	}
	return v
}

func (v *view[T]) plainValue() starlark.Value     { return v.asDict() }
func (l *listView[T]) plainValue() starlark.Value { return l.list }

// compareAsPlain compares two values. At least one of them is a view.
func compareAsPlain(op syntax.Token, x, y starlark.Value, depth int) (bool, error) {
	if op != syntax.EQL && op != syntax.NEQ {
		return false, fmt.Errorf("%s %s %s not implemented", x.Type(), op, y.Type())
	}
	same, err := equalAsPlain(x, y, depth)
	return same == (op == syntax.EQL), err
}

// equalAsPlain reports whether two values are equal. A view equals a list or dict with the same
// members, at any depth.
func equalAsPlain(x, y starlark.Value, depth int) (bool, error) {
	if depth < 1 {
		return false, errors.New("comparison exceeded maximum recursion depth")
	}
	x, y = plainValue(x), plainValue(y)
	switch x := x.(type) {
	case *starlark.List:
		if y, ok := y.(*starlark.List); ok {
			return equalElements(x, y, depth-1)
		}
	case starlark.Tuple:
		if y, ok := y.(starlark.Tuple); ok {
			return equalElements(x, y, depth-1)
		}
	case *starlark.Dict:
		if y, ok := y.(*starlark.Dict); ok {
			return equalMembers(x, y, depth-1)
		}
	}
	return starlark.EqualDepth(x, y, depth)
}

func equalElements(x, y starlark.Indexable, depth int) (bool, error) {
	if x.Len() != y.Len() {
		return false, nil
	}
	for i := range x.Len() {
		if same, err := equalAsPlain(x.Index(i), y.Index(i), depth); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

func equalMembers(x, y *starlark.Dict, depth int) (bool, error) {
	if x.Len() != y.Len() {
		return false, nil
	}
	for k, a := range x.Entries() {
		b, found, err := y.Get(k)
		if !found || err != nil {
			return false, err
		}
		if same, err := equalAsPlain(a, b, depth); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

// CompareSameType compares with another view or, if the evaluator asks for it, with a list.
func (l *listView[T]) CompareSameType(op syntax.Token, y starlark.Value, depth int) (bool, error) {
	return compareAsPlain(op, l, y, depth)
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
	for i, f := range l.kind.columns {
		if f.name == name {
			return l.column(i), nil
		}
	}
	for _, v := range l.kind.verbs {
		if v.name == name {
			return method(l, name, func(c call.Call) (starlark.Value, error) { return v.call(l, c) }), nil
		}
	}
	switch {
	case name == "index":
		return l.list.Attr(name)
	case slices.Contains(listMethods, name):
		return immutable(l, name), nil
	}
	return nil, nil
}

// column returns one field of every item.
func (l *listView[T]) column(i int) starlark.Value {
	c := &l.columns[i]
	c.once.Do(func() {
		elems := make([]starlark.Value, len(l.items))
		for j := range l.items {
			elems[j] = l.kind.columns[i].get(&l.items[j])
		}
		c.list = freeze(starlark.NewList(elems))
	})
	return c.list
}

// typeName implements type.
//
// The type of a view is "list" or "dict".
func typeName(c call.Call) (starlark.Value, error) {
	if len(c.Args) != 1 || len(c.Kwargs) > 0 {
		return nil, c.Fail("E0201", "got %d arguments, want exactly 1", len(c.Args)+len(c.Kwargs))
	}
	if s, ok := c.Args[0].(listOrDictView); ok {
		return starlark.String(s.StandsFor()), nil
	}
	return starlark.String(c.Args[0].Type()), nil
}
