package call

import (
	"fmt"

	"go.starlark.net/starlark"
)

// A Call is one call of a builtin: its arguments, and the run that pays for its work.
type Call struct {
	Runtime Runtime
	Thread  *starlark.Thread
	Name    string // the name in the plugin, as "text.wrap"; every error begins with it
	Args    starlark.Tuple
	Kwargs  []starlark.Tuple
}

// TrustedRunners is the key of the runners that the operator trusts, a []string, in the context of a run.
type TrustedRunners struct{}

// BelowWorkspace is the key of a func(string) string in the context of a run: it returns the path of a file from
// the workspace on, for an absolute one.
type BelowWorkspace struct{}

// A Func implements a builtin. It pays before it works.
type Func func(Call) (starlark.Value, error)

// Pay charges the run for the call's work. Its error ends the run.
func (c Call) Pay(steps, bytes int) error {
	return c.Runtime.Charge(c.Thread, c.Name, uint64(steps), uint64(bytes))
}

// A Member describes one member of a module. It has Func or Value, or neither if the evaluator supplies the
// function.
type Member struct {
	Name    string // the name without the module's name
	Params  string // the parameters, as "text, width=80"
	Type    string // see [Entry]
	Doc     string
	Example string
	Check   string // see [Entry]
	Func    Func
	Value   starlark.Value
	Whole   bool // a call pays for the text of all its arguments before Func runs
}

// Entries returns the entries of a module's members, in their order.
func Entries(rt Runtime, module string, members []Member) []Entry {
	entries := make([]Entry, len(members))
	for i, m := range members {
		entries[i] = m.Entry(rt, module+"."+m.Name)
	}
	return entries
}

// Entry returns the entry of m in the table, under its full name. Its flat cost is one step, because a Func
// charges for its own work.
func (m Member) Entry(rt Runtime, name string) Entry {
	e := Entry{Name: name, Type: m.Type, Doc: m.Doc, Example: m.Example, Check: m.Check, Value: m.Value}
	e.Cost.Steps = 1
	if m.Value == nil {
		e.Signature = name + "(" + m.Params + ")"
	}
	if m.Whole {
		e.Cost.BytesPerArgByte = 1
	}
	if m.Func != nil {
		e.Value = NewBuiltin(rt, name, m.Func)
	}
	return e
}

// NewBuiltin returns the Starlark function that calls fn.
func NewBuiltin(rt Runtime, name string, fn Func) *starlark.Builtin {
	return starlark.NewBuiltin(name, func(
		th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple,
	) (starlark.Value, error) {
		return fn(Call{Runtime: rt, Thread: th, Name: b.Name(), Args: args, Kwargs: kwargs})
	})
}

// TextOrBytes is an argument that is a string or bytes.
type TextOrBytes string

// Unpack implements starlark.Unpacker.
func (t *TextOrBytes) Unpack(v starlark.Value) error {
	switch v := v.(type) {
	case starlark.String:
		*t = TextOrBytes(v)
	case starlark.Bytes:
		*t = TextOrBytes(v)
	default:
		return fmt.Errorf("got %s, want string or bytes", v.Type())
	}
	return nil
}
