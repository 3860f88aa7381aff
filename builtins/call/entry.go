package call

import (
	"context"

	"go.starlark.net/starlark"
)

// An Allowance limits the steps of one call. If Steps is zero, the Runtime's own limit applies. Setting names
// the setting that raises the limit, for errors.
type Allowance = struct {
	Steps   uint64
	Setting string
}

// Runtime is the part of an evaluator that builtins need. A *starlark.Sandbox of this module
// implements it.
type Runtime interface {
	// CallWithin calls fn. The call may spend at most `most` of the budget that ctx has, or of a new budget
	// if ctx has none.
	CallWithin(
		ctx context.Context, most Allowance, fn starlark.Callable, args starlark.Tuple, kwargs []starlark.Tuple,
	) (v starlark.Value, spent struct{ Steps, Bytes uint64 }, err error)
	// Context returns the context of the run that th belongs to.
	Context(th *starlark.Thread) context.Context
	// Charge makes the run pay for work of the function op. If it returns an error, the run ends.
	Charge(th *starlark.Thread, op string, steps, bytes uint64) error
	// CurrentFile returns the file whose top level th evaluates, or "" if th runs a handler. module is true
	// if the file is a loaded library.
	CurrentFile(th *starlark.Thread) (file string, module bool)
	// Pause stops the clock of the run during an effect, until the caller calls goOn.
	Pause(th *starlark.Thread) (goOn func())
}

// An Entry describes one name that a plugin can use. The table of all entries is the only
// description of the vocabulary: the evaluator, the reference pages and the tests read it.
type Entry struct {
	// Name is the name that a plugin uses. "text.wrap" is a member of the module text.
	Name string
	// Signature is the call with the defaults of its parameters; "" for a value that is no function.
	Signature string
	// Type is the type for editors, in the syntax of Python's typing: "PARAM, PARAM -> RESULT", or the type of
	// a value. The type of *args or **kwargs is that of each value. "" is for names that mean the same in Python.
	Type string
	// Doc describes the name. Its first line is a complete sentence.
	Doc string
	// Example is Starlark code that shows the name in use. A test executes it.
	Example string
	// Check is further Starlark code for the test, which executes it after Example. It calls assert_eq(got,
	// want), where such a line in Example would distract a reader.
	Check string
	// Cost is what a call pays before the function works: Steps, and BytesPerArgByte bytes of memory for each
	// byte in the text of its arguments.
	Cost struct{ Steps, BytesPerArgByte uint64 }
	// Value is the value of the name.
	Value starlark.Value
}

// A Topic is a chapter of the table: a module, or names that belong together.
type Topic struct {
	// Name is the name of the module, or a title.
	Name string
	// Doc says in a sentence what the names are for.
	Doc string
	// Module is true if plugins reach the entries as members of a value named Name.
	Module  bool
	Entries []Entry
}
