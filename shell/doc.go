// Package shell reads a command line as bash, zsh and POSIX sh would read it, and says which
// programs it would run. Guards judge by it. Its rule is: certain or unknown, never a guess. A
// text that it does not understand may run every program.
//
// A parser is no wall. It catches honest models and lazy attacks; a sandbox under the agent stops
// the others.
package shell
