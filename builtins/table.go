package builtins

import (
	"context"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// Cost is what a call of a builtin pays before it works: Steps flat, and
// BytesPerArgByte bytes of memory for each byte of its arguments' text. It is an
// alias of an unnamed type so that an evaluator can declare the same one.
type Cost = struct{ Steps, BytesPerArgByte uint64 }

// Usage is what one run spent. It is an alias of an unnamed type so that an
// evaluator can declare the same one.
type Usage = struct{ Steps, Bytes uint64 }

// An Allowance is the most that one call may spend; Raise is what raises it. Zero Steps mean the
// Runtime's own limit.
type Allowance = struct {
	Steps uint64
	Raise string
}

// Runtime is what builtins need of the evaluator that runs them. A
// *starlark.Sandbox of this module satisfies it.
type Runtime interface {
	// CallWithin runs fn under the budget that ctx carries, or a fresh one. It may spend what most
	// allows of that.
	CallWithin(
		ctx context.Context, most Allowance, fn starlark.Callable, args starlark.Tuple, kwargs []starlark.Tuple,
	) (starlark.Value, Usage, error)
	// Context returns the context of the run that th belongs to.
	Context(th *starlark.Thread) context.Context
	// Charge pays for work of op; its error ends the run.
	Charge(th *starlark.Thread, op string, steps, bytes uint64) error
	// Loading returns the file that is being evaluated at top level, "" while a
	// handler runs; module is true for a loaded library.
	Loading(th *starlark.Thread) (file string, module bool)
	// Pause stops the run's clock, for an effect, until go on is called.
	Pause(th *starlark.Thread) (goOn func())
}

// An Entry describes one name that a plugin can use. The table of all entries is
// the only description of the vocabulary: the evaluator, the reference pages and
// the tests read it.
type Entry struct {
	// Name is as a plugin spells it; "text.wrap" is a member of the module text.
	Name string
	// Signature is the call with its defaults, "" for a value that is not called.
	Signature string
	// Doc says what it does; its first line is a sentence of its own.
	Doc string
	// Example is Starlark that a test executes; it uses assert_eq(got, want).
	Example string
	// Cost is what a call pays.
	Cost Cost
	// Value is what the name stands for.
	Value starlark.Value
}

// A Topic is a chapter of the table: a module, or names that belong together.
type Topic struct {
	// Name is the module's, or a title.
	Name string
	// Doc says in a sentence what the names are for.
	Doc string
	// Module: plugins reach the entries as members of a value of this name.
	Module  bool
	Entries []Entry
}

// Topics returns the table of everything that a plugin's file can say. Entries
// without a Value are the language's own, or reached through a parameter. rt may
// be nil when only the descriptions are wanted.
func Topics(rt Runtime) []Topic {
	return []Topic{
		{"Registrations", "What a plugin says of itself and offers.", false, entriesOf(rt, registrations)},
		{"Values", "What handlers return beside text.", false, entriesOf(rt, values)},
		{"Decisions", "What hooks return to decide. Which of them an event accepts is listed with the event.", false, entriesOf(rt, decisions)},
		{"Settings", "What the operator can set.", false, []Entry{configEntry}},
		{"ctx", "Everything that crosses the wall. A handler that wants it has a parameter of that name.", false, ctxEntries()},
		{"Arguments", "Arguments of events that are more than plain values.", false, viewEntries},
		{"files", "The files of the plugin's own folder, also while it is loaded.", true, filesModule(rt)},
		{"json", "JSON text.", true, jsonModule()},
		{"math", "Numbers: functions and constants.", true, mathModule(rt)},
		{"time", "Times, durations and time zones; the time of the event is ctx.now.", true, timeModule(rt)},
		{"re", "Regular expressions, as RE2 has them.", true, reModule(rt)},
		{"text", "Text for people and models: layout, tables, Markdown.", true, textModule(rt)},
		{"yaml", "YAML text.", true, yamlModule(rt)},
		{"toml", "TOML text.", true, tomlModule(rt)},
		{"csv", "Comma-separated values.", true, csvModule(rt)},
		{"base64", "Data as text.", true, base64Module(rt)},
		{"hash", "Digests.", true, hashModule(rt)},
		{"Records", "Values with fields.", false, structModule(rt)},
		{"Language", "What Starlark itself has.", false, languageEntries(rt)},
	}
}

// Table returns the entries of all topics, in their order.
func Table(rt Runtime) []Entry {
	var lists [][]Entry
	for _, t := range Topics(rt) {
		lists = append(lists, t.Entries)
	}
	return slices.Concat(lists...)
}

// entriesOf describes members that belong to no module.
func entriesOf(rt Runtime, members []modMember) []Entry {
	entries := make([]Entry, len(members))
	for i, m := range members {
		entries[i] = m.entry(rt, m.name)
	}
	return entries
}

// Modules returns the values of entries as a file sees them: members such as
// "text.wrap" are grouped into a frozen module. Entries without a Value are left
// out.
func Modules(entries []Entry) starlark.StringDict {
	env := starlark.StringDict{}
	for _, e := range entries {
		module, member, dotted := strings.Cut(e.Name, ".")
		switch {
		case e.Value == nil:
		case !dotted:
			env[e.Name] = e.Value
		case env[module] == nil:
			env[module] = &starlarkstruct.Module{Name: module, Members: starlark.StringDict{member: e.Value}}
		default:
			env[module].(*starlarkstruct.Module).Members[member] = e.Value
		}
	}
	env.Freeze()
	return env
}
