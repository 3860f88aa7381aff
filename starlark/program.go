package starlark

import (
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
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

// Prepare compiles f for a later Run whose environment has one name. It ignores errors, because the Run
// reports them.
func (s *Sandbox) Prepare(f *File, name string) {
	var err error
	defer recoverPanicAt(&err, Pos{File: f.name})
	_, err = s.program(f, starlark.StringDict{name: starlark.None}, s.coverage != nil)
}

// program returns the program of f for the defined names and those of extra. If covered is true,
// the program has probes.
func (s *Sandbox) program(f *File, extra starlark.StringDict, covered bool) (*compiledProgram, error) {
	kind := "program " + strings.Join(extra.Keys(), " ")
	if covered {
		kind += " covered"
	}
	item, err := f.note(kind, s.namesKey(), func(tree *syntax.File) (any, error) {
		f.tree = nil // compile changes it
		var p compiledProgram
		if covered {
			p.sites = &probeSites{}
		}
		var err error
		p.Program, p.uses, err = s.compile(tree, extra, p.sites)
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
