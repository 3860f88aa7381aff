package main

import (
	"errors"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/starlark"
)

// fromHere returns a place with the path of its file from the current folder. Plugins show their
// files relative to their own folder.
func (res *Result) fromHere(p starhost.Pos) starhost.Pos {
	if res.loaded != nil {
		p.File = res.loaded.PathFromHere(p.File)
	}
	return p
}

// moveHere changes the places of a plugin's error to paths from the current folder. Errors of the
// loader have such paths already.
func (res *Result) moveHere(p *problem, err error) {
	e, isScript := errors.AsType[*starlark.Error](err)
	isScript = isScript && p.detail != "" // an interrupted script has no place
	_, failed := errors.AsType[*host.HandlerError](err)
	_, aborted := errors.AsType[*host.AbortError](err)
	if res.loaded == nil || !isScript && !failed && !aborted {
		return
	}
	p.pos = res.fromHere(p.pos)
	if isScript {
		moved := res.loaded.MoveHere(e)
		p.trace, p.detail = moved.Trace, moved.Detail()
	}
}
