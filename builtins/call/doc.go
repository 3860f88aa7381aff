// Package call is the part of the vocabulary's machinery that builtins and modules share:
// a [Call] with its arguments and the [Runtime] that it pays, the rows of the table, and
// errors with codes.
package call
