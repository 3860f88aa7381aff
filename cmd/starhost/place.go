package main

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// fromHere returns a place with the path of its file from the current folder. Plugins show their
// files relative to their own folder.
func (a *app) fromHere(p starhost.Pos) starhost.Pos {
	if a.loaded != nil {
		p.File = pathFromHere(a.loaded, p.File)
	}
	return p
}

// moveHere changes the places of a plugin's error to paths from the current folder. Errors of the
// loader have such paths already.
func (a *app) moveHere(p *problem, err error) {
	e, isScript := errors.AsType[*starlark.Error](err)
	isScript = isScript && p.detail != "" // an interrupted script has no place
	_, failed := errors.AsType[*starhost.HandlerError](err)
	_, aborted := errors.AsType[*starhost.AbortError](err)
	if a.loaded == nil || !isScript && !failed && !aborted {
		return
	}
	p.pos = a.fromHere(p.pos)
	if isScript {
		moved := moveScriptError(a.loaded, e)
		p.trace, p.detail = moved.Trace, moved.Detail()
	}
}

// moveScriptError returns a copy of an error whose places have paths from the current folder.
func moveScriptError(set *loader.Set, e *starlark.Error) *starlark.Error {
	moved := *e
	moved.Pos.File = pathFromHere(set, e.Pos.File)
	moved.Trace = slices.Clone(e.Trace)
	for i := range moved.Trace {
		moved.Trace[i].Pos.File = pathFromHere(set, e.Trace[i].Pos.File)
	}
	return &moved
}

// pathFromHere returns the path from the current folder of a plugin's or library's file. It returns
// other names as they are.
func pathFromHere(set *loader.Set, shown string) string {
	first, rest, isInFolder := strings.Cut(shown, "/")
	owner, isFile := strings.CutSuffix(shown, ".star")
	for i := range set.Plugins { // no joined names: list calls this for each row
		switch p := &set.Plugins[i]; {
		case isInFolder && first == p.Name:
			return path.Join(p.Path, rest)
		case isFile && owner == p.Name:
			return p.Path
		}
	}
	if file, ok := set.ProjectFile(shown); ok {
		return file
	}
	name, rest, ok := strings.Cut(strings.TrimPrefix(shown, "@"), "//")
	if library, exists := set.Config.Libraries[name]; ok && exists {
		return filepath.ToSlash(filepath.Join(library.Shown, rest))
	}
	return shown
}
