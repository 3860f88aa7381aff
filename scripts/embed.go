// Package scripts contains the plugins that ship with starhost: samples to read and copy, each
// with its golden cases, and the starters that `starhost new` copies. It has no code.
package scripts

import "embed"

// Starter contains a folder for each kind of plugin to begin with. `starhost new` replaces
// the word starter in its files by the name of the new plugin.
//
//go:embed starter
var Starter embed.FS

// Guard contains the guard of rules that `starhost new guard` copies.
//
//go:embed guard
var Guard embed.FS
