// Package scripts contains the plugins that ship with starhost: samples to read and copy, each
// with its golden cases, and the starters that `starhost new` copies. It has no code.
package scripts

import "embed"

// Files contains the folders of the samples, which `starhost demo` runs, and starter, with a folder
// for each kind of plugin to begin with. `starhost new guard` copies guard. `starhost new plugin`
// copies a starter, and replaces the word starter in its files by the name of the new plugin.
//
//go:embed calculator evidence guard incident policy redact runbooks starter
var Files embed.FS
