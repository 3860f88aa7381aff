// Package seam lets the packages and tests of this module set what a program that embeds
// starhost must not set. The package that owns a setting assigns its function below. The
// functions take their argument as any, because this package imports nothing.
package seam

// StartLoadersLastFirst makes hosts start the loaders of a prompt from the last one on. It
// takes a *starhost.Options. Golden cases run in both orders, because the order in which
// loaders finish must not show.
var StartLoadersLastFirst func(options any)

// MarkDerived makes a host compile a tool's Parameters before the first call instead of
// when the tool is added. It takes a *starhost.Tool. Only parameters that were derived from
// a signature may be marked, because no mistake of their author can make them invalid.
var MarkDerived func(tool any)

// ShareView returns the value that the first call of newView for a list returned. It takes a
// *starhost.List or a *starhost.AppArg. Package builtins makes one view of it for all handlers of
// an event.
var ShareView func(list any, newView func() any) any
