package measure

import (
	"bytes"
	"runtime/pprof"

	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/starlark"
)

// A Profiler measures one run. The profile of plugins counts steps and bytes by line, which are
// equal in each run; the profile of the host measures time.
type Profiler struct {
	Plugins starlark.Profile
	host    bytes.Buffer
}

// Start begins to measure the host.
func (p *Profiler) Start() error { return pprof.StartCPUProfile(&p.host) }

// Finish writes the plugins' profile to the file at path, and the host's to path.host. Errors call
// the first file name. go tool pprof reads both.
func (p *Profiler) Finish(name, path string) error {
	pprof.StopCPUProfile()
	plugins, err := p.Plugins.Pprof()
	if err != nil {
		return err
	}
	if err := errtext.File(name, disk.Replace(path, plugins, 0o666)); err != nil {
		return err
	}
	return errtext.File(name+".host", disk.Replace(path+".host", p.host.Bytes(), 0o666))
}
