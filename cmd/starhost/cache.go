package main

import (
	"fmt"
	"path/filepath"

	"github.com/starhost/starhost/starlark"
)

// noCacheValue is the value of STARHOST_CACHE that is no folder.
const noCacheValue = "off"

// programCache returns the cache of compiled files, nil if there should be none. What
// keeps it from a folder of its own is told under -v, and no error.
func (a *app) programCache() *starlark.Cache {
	if a.cache != nil || a.noCache {
		return a.cache
	}
	a.cache = &starlark.Cache{}
	if dir := cacheFolder(a.getenv); dir != "" {
		var err error
		a.cache, err = starlark.OpenCache(dir)
		a.printDebug(err)
	}
	return a.cache
}

// cacheFolder returns where compiled files are kept, "" for nowhere. As the XDG rules
// say, a variable that is not absolute does not count.
func cacheFolder(getenv func(string) string) string {
	own, dir, home := getenv("STARHOST_CACHE"), getenv("XDG_CACHE_HOME"), getenv("HOME")
	switch {
	case own == noCacheValue:
		return ""
	case filepath.IsAbs(own):
		return own
	case filepath.IsAbs(dir):
		return filepath.Join(dir, "starhost")
	case filepath.IsAbs(home):
		return filepath.Join(home, ".cache", "starhost")
	}
	return ""
}

// saveCache writes what the cache learned.
func (a *app) saveCache() {
	if a.cache != nil {
		a.printDebug(a.cache.Save())
	}
}

// printDebug shows an error that only those want to know of who ask for all.
func (a *app) printDebug(err error) {
	if err != nil && a.verbose {
		fmt.Fprintf(a.stderr, "debug: %v\n", err)
	}
}
