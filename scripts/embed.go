// Package scripts holds the plugins that ship: samples to read and copy, each with
// its golden cases, and the starter that `starhost new` copies. It has no code.
package scripts

import "embed"

// Starter holds a folder for each kind of plugin to begin with. Wherever its files
// say starter, the name of the new plugin is meant.
//
//go:embed starter
var Starter embed.FS
