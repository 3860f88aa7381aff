// Package call defines the types that builtins and modules share: a [Call] with its arguments
// and the [Runtime] that charges for it, the entries of the table, and errors with codes. It
// does not know which names exist.
package call
