// Package mutants has no code. Its test changes one condition or statement of a package at a time
// and reports each change that no test of the package notices.
package mutants
