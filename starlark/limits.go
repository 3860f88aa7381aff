package starlark

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Limits bound one evaluation of a file or one call of a handler. A zero field
// means that of [DefaultLimits].
type Limits struct {
	// Steps is the most interpreter steps, as Thread.Steps counts them, with the
	// charges of guarded operations added. A runaway file fails alike on every machine.
	Steps uint64
	// Memory is the most bytes that guarded operations may allocate; what is freed
	// is not given back.
	Memory uint64
	// Timeout is the most wall-clock time, effects and nested calls not counted.
	// It is a backstop: reaching it is an error wrapping
	// context.DeadlineExceeded, never a shorter result.
	Timeout time.Duration
	// Source is the most bytes of one source file.
	Source int64
	// Output is the most bytes that one evaluation or call may print.
	Output int64
	// Raised says what raises a limit, by the name that a [LimitError] has for it, where
	// that is not what the error names by itself.
	Settings map[string]string
}

// DefaultLimits returns the limits of an evaluation that sets none.
func DefaultLimits() Limits {
	return Limits{
		Steps:   1_000_000,
		Memory:  64 << 20,
		Timeout: 2 * time.Second,
		Source:  256 << 10,
		Output:  1 << 20,
	}
}

// withDefaults returns l with the zero fields of l taken from d.
func (l Limits) withDefaults(d Limits) Limits {
	return Limits{
		Steps:    cmp.Or(l.Steps, d.Steps),
		Memory:   cmp.Or(l.Memory, d.Memory),
		Timeout:  cmp.Or(l.Timeout, d.Timeout),
		Source:   cmp.Or(l.Source, d.Source),
		Output:   cmp.Or(l.Output, d.Output),
		Settings: raised(l, d),
	}
}

// raised returns what raises the limits of l, and of d where l has none.
func raised(l, d Limits) map[string]string {
	if l.Settings == nil {
		return d.Settings
	}
	return l.Settings
}

// Limits that no setting changes. They keep Go's own stack and the running
// time of the compiler small, whatever the budget.
const (
	maxNesting    = 8       // calls that cross plugins inside one another
	maxBits       = 65_536  // of one integer
	maxDepth      = 256     // of a value that is printed, hashed or encoded
	maxTreeDepth  = 800     // of the syntax tree, elif arms and left spines counted
	maxParams     = 128     // of one function
	maxFunctions  = 2_000   // of one file
	maxLoads      = 64      // load statements of one file
	maxIdentifier = 128     // bytes of one name
	maxErrorText  = 1 << 10 // bytes of a value quoted in an error
	freezeNodes   = 100_000 // values of a module, or of a result
	freezeDepth   = 512     // of a module's values, or of a result
	maxSequence   = 1 << 32 // elements that one operation may ask for
	tickSteps     = 10_000  // between two looks at the clock
)

// A limit names one of the limits that a run can reach.
type limitKind struct {
	code    string
	unit    string
	setting string // what raises it; "" when nothing does
}

var limitKinds = map[string]limitKind{
	"steps":        {"E0401", "steps", "[limits] steps or --max-steps"},
	"memory":       {"E0402", "bytes", "[limits] memory or --max-memory"},
	"time":         {"E0403", "ms", "[limits] timeout or --timeout"},
	"output":       {"E0404", "bytes", "[limits] output"},
	"nesting":      {"E0405", "calls", ""},
	"integer size": {"E0406", "bits", ""},
	"source":       {"E0407", "bytes", "[limits] source"},
	"syntax":       {"E0407", "", ""},
	"freeze":       {"E0408", "values", ""},
	"depth":        {"E0409", "levels", ""},
}

// A LimitError says which limit stopped a script, and where. It is reached
// with errors.As through [*Error].
type LimitError struct {
	Limit string // steps, memory, time, output, nesting, integer size, source, syntax, freeze or depth
	Op    string // the operation or the thing that was too much, such as "*" or "json.decode"
	Need  uint64 // what the operation would have brought the total to
	Max   uint64 // the limit
	Used  uint64 // of it, before the operation
	Pos   Pos    // where the script stopped
	Func  string // the function that was running

	shared  bool   // the limit is the caller's, not one of the nested call alone
	setting string // what raises it, if not what limits says
}

// wholeScript is the Op of a limit that no single operation reached, but all of them
// together.
const wholeScript = "the script"

func (e *LimitError) Error() string {
	l := limitKinds[e.Limit]
	text := fmt.Sprintf("%s limit exceeded: %q needs %d %s, limit %d", e.Limit, e.Op, e.Need, l.unit, e.Max)
	switch {
	case l.unit == "":
		text = fmt.Sprintf("%s limit exceeded: %s is %d, limit %d", e.Limit, e.Op, e.Need, e.Max)
	case e.Op == wholeScript:
		text = fmt.Sprintf("%s limit exceeded: %s used %d %s, limit %d", e.Limit, e.Op, e.Used, l.unit, e.Max)
	case e.Used > 0:
		text += fmt.Sprintf(" (used %d)", e.Used)
	}
	if setting := cmp.Or(e.setting, l.setting); setting != "" {
		text += "; " + setting + " raises it"
	}
	return text
}

// Code returns the error code that explains the limit.
func (e *LimitError) Code() string { return limitKinds[e.Limit].code }

// Unwrap makes the wall clock's limit an ordinary deadline for callers that
// test for one. It is the only limit whose place differs between two runs.
func (e *LimitError) Unwrap() error {
	if e.Limit == "time" {
		return context.DeadlineExceeded
	}
	return nil
}
