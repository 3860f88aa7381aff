package main

import (
	"testing"
)

// TestREADME runs every block of the README, and compares what its commands print. With -update it
// writes the output of the commands.
func TestREADME(t *testing.T) {
	const readme = "../../README.md"
	p := newPageRun(t, readme)
	p.notRun = []string{"go test ./..."} // go test ./... would run this test again
	p.check(p.blocks(readTestFile(t, readme)))
}
