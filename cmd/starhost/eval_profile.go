package main

import (
	"bytes"
	"runtime/pprof"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/starlark"
)

// A profiling measures one run: what plugins spend by lines, which is exact and the
// same every time, and where the program's own time goes.
type profiler struct {
	plugins starlark.Profile
	host    bytes.Buffer
}

// start begins to measure.
func (p *profiler) start() error { return pprof.StartCPUProfile(&p.host) }

// finish writes what was measured, for go tool pprof: the plugins' steps and bytes to
// the file of that name, the host's time to the one with ".host" behind it.
func (p *profiler) finish(a *app, name string) error {
	pprof.StopCPUProfile()
	plugins, err := p.plugins.Pprof()
	if err != nil {
		return err
	}
	if err := wrapFileError(name, effects.ReplaceFile(a.path(name), plugins, 0o666)); err != nil {
		return err
	}
	return wrapFileError(name+".host", effects.ReplaceFile(a.path(name+".host"), p.host.Bytes(), 0o666))
}
