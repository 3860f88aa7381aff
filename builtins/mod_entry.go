package builtins

import (
	"fmt"

	"go.starlark.net/starlark"
)

// A modCall is one call of a module's function: what it was given, and who pays
// for the work.
type modCall struct {
	rt     Runtime
	th     *starlark.Thread
	name   string // "text.wrap", the place in every error
	args   starlark.Tuple
	kwargs []starlark.Tuple
}

// A modFunc is the Go side of a module's function. It pays before it works.
type modFunc func(modCall) (starlark.Value, error)

// pay charges the run; its error ends the run.
func (c modCall) pay(steps, bytes int) error {
	return c.rt.Charge(c.th, c.name, uint64(steps), uint64(bytes))
}

// A modMember describes one member of a module. One of fn and value
// is set, or none where the evaluator brings the function.
type modMember struct {
	name    string // without the module's
	params  string // "text, width=80"
	doc     string
	example string
	fn      modFunc
	value   starlark.Value
	whole   bool // a call pays for the text of all its arguments before fn sees them
}

// modEntries returns the entries of a module's members, in their order.
func modEntries(rt Runtime, module string, members []modMember) []Entry {
	entries := make([]Entry, len(members))
	for i, m := range members {
		entries[i] = m.entry(rt, module+"."+m.name)
	}
	return entries
}

// entry describes m under its full name. A function charges for what it does
// itself, so its flat cost is one step.
func (m modMember) entry(rt Runtime, name string) Entry {
	e := Entry{Name: name, Doc: m.doc, Example: m.example, Cost: Cost{Steps: 1}, Value: m.value}
	if m.value == nil {
		e.Signature = name + "(" + m.params + ")"
	}
	if m.whole {
		e.Cost.BytesPerArgByte = 1
	}
	if m.fn != nil {
		e.Value = modBuiltin(rt, name, m.fn)
	}
	return e
}

// modBuiltin makes the Starlark value that calls fn.
func modBuiltin(rt Runtime, name string, fn modFunc) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return fn(modCall{rt: rt, th: th, name: b.Name(), args: args, kwargs: kwargs})
	})
}

// textOrBytes is an argument that may be a string or bytes.
type textOrBytes string

// Unpack implements starlark.Unpacker.
func (t *textOrBytes) Unpack(v starlark.Value) error {
	switch v := v.(type) {
	case starlark.String:
		*t = textOrBytes(v)
	case starlark.Bytes:
		*t = textOrBytes(v)
	default:
		return fmt.Errorf("got %s, want string or bytes", v.Type())
	}
	return nil
}
