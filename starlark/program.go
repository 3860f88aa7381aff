package starlark

import (
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// A compiledProgram is the program of a file.
type compiledProgram struct {
	*starlark.Program
	uses  []string    // predeclared names that the program uses, sorted
	sites *probeSites // places of its probes; nil without coverage
}

// env returns the values of the names that the program uses. A name in probes hides one in extra, which hides
// one in base. The map has no other names, because each function keeps its environment in memory. Without
// extra and probes, env returns base itself, which all programs share.
func (p *compiledProgram) env(base, extra, probes starlark.StringDict) starlark.StringDict {
	if len(extra)+len(probes) == 0 {
		return base
	}
	env := make(starlark.StringDict, len(p.uses))
	for _, name := range p.uses {
		for _, names := range []starlark.StringDict{probes, extra, base} {
			if v, ok := names[name]; ok {
				env[name] = v
				break
			}
		}
	}
	return env
}

// Prepare compiles f for a later Run whose environment has these names. It ignores errors, because
// the Run reports them.
func (s *Sandbox) Prepare(f *File, names ...string) {
	var err error
	defer recoverPanicAt(&err, Pos{File: f.name})
	extra := starlark.StringDict{}
	for _, name := range names {
		extra[name] = starlark.None
	}
	_, err = s.program(f, extra, s.coverage != nil)
}

// program returns the program of f for the defined names and those of extra. If covered is true,
// the program has probes.
func (s *Sandbox) program(f *File, extra starlark.StringDict, covered bool) (*compiledProgram, error) {
	names := s.namesKey() + " " + strings.Join(extra.Keys(), " ")
	if covered {
		names += " covered"
	}
	item, err := f.cache.item(f.key("program", names), len(f.src), func() (any, error) {
		var p compiledProgram
		var err error
		if covered {
			p.Program, p.uses, p.sites, err = s.instrument(f, extra)
		} else {
			p.Program, p.uses, err = s.compile(f, extra, nil)
		}
		return &p, err
	})
	if err != nil {
		return nil, err
	}
	return item.(*compiledProgram), nil
}

// namesKey returns the defined names as one text.
func (v *vocabulary) namesKey() string {
	v.keyOnce.Do(func() {
		v.key = strings.Join(slices.Sorted(maps.Keys(v.definedNames)), " ")
	})
	return v.key
}
