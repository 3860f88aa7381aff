package main

import (
	"bytes"
	"runtime/pprof"

	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/starlark"
)

// A profiler measures one run. The profile of plugins counts steps and bytes by line, which are
// equal in each run; the profile of the host measures time.
type profiler struct {
	plugins starlark.Profile
	host    bytes.Buffer
}

// start begins to measure the host.
func (p *profiler) start() error { return pprof.StartCPUProfile(&p.host) }

// finish writes the plugins' profile to the file name, and the host's to name.host. go tool
// pprof reads both.
func (p *profiler) finish(env Env, name string) error {
	pprof.StopCPUProfile()
	plugins, err := p.plugins.Pprof()
	if err != nil {
		return err
	}
	if err := errtext.File(name, disk.Replace(env.path(name), plugins, 0o666)); err != nil {
		return err
	}
	return errtext.File(name+".host", disk.Replace(env.path(name+".host"), p.host.Bytes(), 0o666))
}
