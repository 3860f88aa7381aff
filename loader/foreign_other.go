//go:build !unix

package loader

// isForeign reports false, because this system has no folders in which all users can put files.
func isForeign(string) bool { return false }

// isCommon reports false, because this system has no folders in which all users can put files.
func isCommon(string) bool { return false }
