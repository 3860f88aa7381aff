// Package lsp is the language server for plugins and golden cases, over standard input and output.
//
// One goroutine owns all state: it reads a message, answers it, and goes on. Analyses and golden
// cases run beside it and hand back functions that it calls. So no document is locked, and a slow
// analysis delays no completion.
//
// The server has no list of names. Options hands in the tables that starhost docs prints and the
// analysis that starhost check makes; the outline of a file comes from the interpreter's own
// resolver. If a text does not parse, the last tree that did serves, with its places moved by the
// edits since then.
package lsp
