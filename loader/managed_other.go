//go:build !unix

package loader

// checkManaged checks nothing, because the permissions of these systems are not in the mode of a
// file.
func checkManaged(string, string) *Error { return nil }
