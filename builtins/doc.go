// Package builtins is the vocabulary of plugins: what a .star file can say, and
// how it becomes Go.
//
// [Table] describes every name once: the evaluator defines its values, the
// reference pages print it and the tests run its examples. [ReadManifest] and
// [Check] read a file before it runs. A [Recorder] turns what the file registers
// into a starhost.Plugin of plain Go funcs: each converts its arguments, calls
// the handler through the [Runtime], and converts what came back. [CaseTable] is
// what a golden case can say beside that.
//
// Starlark ends here: nobody above sees a starlark.Value, and nothing here knows
// how evaluation is bounded. A builtin pays through [Runtime.Charge] before it
// works. Every error that a plugin can meet is an [Error] with a code of [Codes],
// or comes with one from below.
package builtins
