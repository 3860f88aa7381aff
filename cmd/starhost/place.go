package main

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/loader"
)

// fromHere returns a place with the path of its file from the current folder. Plugins show their
// files relative to their own folder.
func (a *app) fromHere(p starhost.Pos) starhost.Pos {
	if a.loaded != nil {
		p.File = pathFromHere(a.loaded, p.File)
	}
	return p
}

// pathFromHere returns the path from the current folder of a plugin's or library's file. It returns
// other names as they are.
func pathFromHere(set *loader.Set, shown string) string {
	for i := range set.Plugins {
		p := &set.Plugins[i]
		if rest, ok := strings.CutPrefix(shown, p.Name+"/"); ok {
			return path.Join(p.Path, rest)
		}
		if shown == p.Name+".star" {
			return p.Path
		}
	}
	name, rest, ok := strings.Cut(strings.TrimPrefix(shown, "@"), "//")
	if library, exists := set.Config.Libraries[name]; ok && exists {
		return filepath.ToSlash(filepath.Join(library.Shown, rest))
	}
	return shown
}
