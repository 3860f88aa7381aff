//go:build !linux

package procgroup

// HideEnvironment does nothing on this system.
func HideEnvironment() {}
