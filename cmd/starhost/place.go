package main

import (
	"errors"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
)

func (res *Result) view() report.View { return report.View{Set: res.loaded} }

func (res *Result) fromHere(p starhost.Pos) starhost.Pos { return res.view().Place(p) }

// moveHere changes the places of a plugin's error to paths from the current folder. Errors of the
// loader have such paths already.
func (res *Result) moveHere(p *report.Problem, err error) {
	e, isScript := errors.AsType[*starlark.Error](err)
	isScript = isScript && p.Detail != "" // an interrupted script has no place
	_, failed := errors.AsType[*host.HandlerError](err)
	_, aborted := errors.AsType[*host.AbortError](err)
	if res.loaded == nil || !isScript && !failed && !aborted {
		return
	}
	p.Pos = res.fromHere(p.Pos)
	if isScript {
		moved := res.loaded.MoveHere(e)
		p.Trace, p.Detail = moved.Trace, moved.Detail()
	}
}
