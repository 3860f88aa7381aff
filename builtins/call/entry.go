package call

import (
	"context"

	"go.starlark.net/starlark"
)

// An Allowance limits one call. Zero Steps mean the Runtime's own limit. Setting names the
// setting that raises the limit, for error texts.
type Allowance = struct {
	Steps   uint64
	Setting string
}

// Runtime is the part of an evaluator that builtins need. A *starlark.Sandbox of this module
// implements it.
type Runtime interface {
	// CallWithin calls fn. The call may spend at most `most` of the budget in ctx, or of a new
	// budget if ctx has none.
	CallWithin(
		ctx context.Context, most Allowance, fn starlark.Callable, args starlark.Tuple, kwargs []starlark.Tuple,
	) (v starlark.Value, spent struct{ Steps, Bytes uint64 }, err error)
	// Context returns the context of the run to which th belongs.
	Context(th *starlark.Thread) context.Context
	// Charge pays for work of op. Its error ends the run.
	Charge(th *starlark.Thread, op string, steps, bytes uint64) error
	// CurrentFile returns the file that th evaluates at top level, or "" if it runs a handler.
	// module is true for a loaded library.
	CurrentFile(th *starlark.Thread) (file string, module bool)
	// Pause stops the run's clock during an effect, until the caller calls goOn.
	Pause(th *starlark.Thread) (goOn func())
}

// An Entry describes one name that a plugin can use. The table of all entries is the only
// description of the vocabulary: the evaluator, the reference pages and the tests read it.
type Entry struct {
	// Name is the name in a plugin; "text.wrap" is a member of the module text.
	Name string
	// Signature is the call with its defaults, "" for a value that is no function.
	Signature string
	// Doc describes the name. Its first line is a complete sentence.
	Doc string
	// Example is Starlark code that shows the name in use. A test executes it.
	Example string
	// Check is Starlark code that the test executes behind Example: it calls assert_eq(got, want)
	// where that would hide the line of the example that matters.
	Check string
	// Cost is the price that a call pays before it works: Steps, and BytesPerArgByte bytes of
	// memory for each byte of its arguments' text.
	Cost struct{ Steps, BytesPerArgByte uint64 }
	// Value is the value of the name.
	Value starlark.Value
}

// A Topic is a chapter of the table: a module, or names that belong together.
type Topic struct {
	// Name is the name of the module, or a title.
	Name string
	// Doc states the purpose of the names in a sentence.
	Doc string
	// Module is true if plugins reach the entries as members of a value named Name.
	Module  bool
	Entries []Entry
}
