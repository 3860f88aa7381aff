// Package effects owns everything that crosses the wall between a plugin and the
// world: what a plugin may do, and the Go code that does it.
//
// A [Permission] names one thing, such as reading some files. A plugin declares
// permissions, the operator grants them, and what holds is what both allow: a
// [World] is one plugin's way out, and asks both before it touches anything. A
// refusal is a [PermissionError] that prints the line to add and where.
//
// [Files] is a folder that nothing leads out of, whatever its links say. [StateOf]
// is what a plugin keeps for a session, [Draw] its repeatable randomness.
// [HostPlugin] is the plugin that resolves the host's own references: there the
// user typed the path, and typing it is the grant.
//
// Nothing here knows Starlark; the vocabulary of ctx is made of these functions
// elsewhere. Errors never show where on the machine a folder is.
package effects
