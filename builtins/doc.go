// Package builtins implements the vocabulary of plugins: the names that a .star file can use,
// and the conversion of its values between Starlark and Go.
//
// [Table] describes every name once: the evaluator defines its values, the reference pages
// print it and the tests run its examples. The modules without effects, such as re and yaml,
// are in the package modules. [ReadManifest] and [Check] read a file before it runs. A
// [Recorder] turns the registrations of a file into a starhost.Plugin of plain Go functions:
// each converts its arguments, calls the handler through the [call.Runtime] and converts the
// returned value. [CaseTable] describes the names that only golden cases can use.
//
// Starlark ends here: no package above sees a starlark.Value, and this package does not depend
// on how the evaluator limits a run. A builtin pays through [call.Runtime] before it works.
// Every error that a plugin can meet is a [call.Error] with a code of [Codes], or an error with
// a code from a lower package.
package builtins
