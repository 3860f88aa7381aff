package main

import (
	"fmt"
	"path/filepath"

	"github.com/starhost/starhost/starlark"
)

// noCacheValue is the value of STARHOST_CACHE that turns the cache off.
const noCacheValue = "off"

// programCache returns the cache of compiled plugins, or nil with --no-cache. If starhost
// cannot use the folder on disk, the cache is in memory only, and -v shows the reason.
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

// cacheFolder returns the folder of compiled plugins, "" for none. As the XDG rules say, it
// ignores a variable that is not an absolute path.
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

// saveCache writes new entries of the cache to disk.
func (a *app) saveCache() {
	if a.cache != nil {
		a.printDebug(a.cache.Save())
	}
}

// printDebug prints an error that does not concern the result, if the user asked for -v.
func (a *app) printDebug(err error) {
	if err != nil && a.verbose {
		fmt.Fprintf(a.stderr, "debug: %v\n", err)
	}
}
