package call

import (
	"context"

	"go.starlark.net/starlark"
)

// An Allowance is the most that one call may spend. Zero Steps mean the Runtime's own
// limit; Raise names the setting that an error suggests to raise.
type Allowance = struct {
	Steps   uint64
	Setting string
}

// Runtime is what builtins need of the evaluator that runs them. A
// *starlark.Sandbox of this module satisfies it.
type Runtime interface {
	// CallWithin runs fn under the budget that ctx carries, or a fresh one. It may spend what most
	// allows of that.
	CallWithin(
		ctx context.Context, most Allowance, fn starlark.Callable, args starlark.Tuple, kwargs []starlark.Tuple,
	) (v starlark.Value, spent struct{ Steps, Bytes uint64 }, err error)
	// Context returns the context of the run that th belongs to.
	Context(th *starlark.Thread) context.Context
	// Charge pays for work of op; its error ends the run.
	Charge(th *starlark.Thread, op string, steps, bytes uint64) error
	// Loading returns the file that is being evaluated at top level, "" while a
	// handler runs; module is true for a loaded library.
	CurrentFile(th *starlark.Thread) (file string, module bool)
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
	// Cost is the price of a call, paid before it works: Steps flat, and BytesPerArgByte
	// bytes of memory for each byte of its arguments' text.
	Cost struct{ Steps, BytesPerArgByte uint64 }
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
