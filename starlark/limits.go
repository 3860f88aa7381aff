package starlark

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Limits bound one evaluation of a file or one call of a handler. A zero field means the value of
// [DefaultLimits].
type Limits struct {
	// Steps is the largest number of interpreter steps, as Thread.Steps counts them, with the
	// charges of guarded operations. A runaway file stops at the same step on every machine.
	Steps uint64
	// Memory is the largest number of bytes that guarded operations may allocate. Freed memory is
	// not credited.
	Memory uint64
	// Timeout is the longest time on the wall clock, without effects and nested calls. It is a
	// backstop: a run that reaches it fails with an error wrapping context.DeadlineExceeded, and
	// returns no partial result.
	Timeout time.Duration
	// Source is the largest size of one source file in bytes.
	Source int64
	// Output is the largest number of bytes that one evaluation or call may print.
	Output int64
	// Settings names the setting that raises a limit, for errors. Its keys are the values of
	// [LimitError].Limit. If a key is missing, the error names the setting of the sandbox.
	Settings map[string]string
}

// DefaultLimits returns the limits of a sandbox whose options set none.
func DefaultLimits() Limits {
	return Limits{
		Steps:   1_000_000,
		Memory:  64 << 20,
		Timeout: 2 * time.Second,
		Source:  256 << 10,
		Output:  1 << 20,
	}
}

// withDefaults returns l with its zero fields replaced by those of d.
func (l Limits) withDefaults(d Limits) Limits {
	return Limits{
		Steps:    cmp.Or(l.Steps, d.Steps),
		Memory:   cmp.Or(l.Memory, d.Memory),
		Timeout:  cmp.Or(l.Timeout, d.Timeout),
		Source:   cmp.Or(l.Source, d.Source),
		Output:   cmp.Or(l.Output, d.Output),
		Settings: chooseSettings(l, d),
	}
}

// chooseSettings returns the settings of l, or those of d if l has none.
func chooseSettings(l, d Limits) map[string]string {
	if l.Settings == nil {
		return d.Settings
	}
	return l.Settings
}

// No setting changes these limits. They keep Go's stack and the compiler's running time small.
const (
	maxNesting    = 8       // depth of calls from plugin to plugin
	maxBits       = 65_536  // bits of an integer
	maxDepth      = 256     // levels of a value that is printed, hashed or encoded
	maxTreeDepth  = 800     // levels of the syntax tree, with elif branches and left operands
	maxParams     = 128     // parameters of a function
	maxFunctions  = 2_000   // functions in a file
	maxLoads      = 64      // load statements of one file
	maxIdentifier = 128     // bytes of one name
	maxErrorText  = 1 << 10 // bytes of a quoted value in an error
	freezeNodes   = 100_000 // values of a module, or of a result
	freezeDepth   = 512     // levels of a module's values, or of a result
	maxSequence   = 1 << 32 // elements of one operation
	tickSteps     = 10_000  // steps between two checks of the clock
)

// A limitKind describes one of the limits that a run can reach.
type limitKind struct {
	code    string
	unit    string
	setting string // the setting that raises the limit; "" if there is none
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

// A LimitError says which limit stopped a script, and its position. Callers find it with errors.As
// in an [*Error].
type LimitError struct {
	Limit string // steps, memory, time, output, nesting, integer size, source, syntax, freeze or depth
	Op    string // the operation or thing that exceeded the limit, such as "*" or "json.decode"
	Need  uint64 // the total that the operation would have reached
	Max   uint64 // the limit
	Used  uint64 // the total before the operation
	Pos   Pos    // the position where the script stopped
	Func  string // the function that was running

	fromCaller bool   // the limit is the caller's, not a lower one of the nested call
	setting    string // the setting that raises the limit; "" means the one of the limit's kind
}

// wholeScript is the Op of a limit that all operations together reached.
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

// Unwrap returns context.DeadlineExceeded for the wall clock's limit, so that callers can test for it. No
// other limit can stop two runs of one file at different positions.
func (e *LimitError) Unwrap() error {
	if e.Limit == "time" {
		return context.DeadlineExceeded
	}
	return nil
}
