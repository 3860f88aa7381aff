//go:build race

package testbed

// Race says that the race detector looks.
const Race = true
