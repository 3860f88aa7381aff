// Package procgroup runs a program as the first of a process group, so that killing the group
// also kills the programs that it started. On systems without process groups it kills the
// program alone.
package procgroup
