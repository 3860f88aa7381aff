package starlark

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// A loader evaluates the files of one Run, each once.
type loader struct {
	Exec
	modules   map[string]starlark.StringDict // of the files that were evaluated, by name
	evaluated []string                       // their names, in the order in which they ended
}

// runFile evaluates f and everything it loads.
func (w *worker) runFile(f *File, e Exec) (_ *Module, err error) {
	defer w.recoverPanic(&err)
	if err := checkEnv(f.name, e.Env); err != nil {
		return nil, err
	}
	w.loader = &loader{Exec: e}
	globals, err := w.evaluateFile(f)
	if err != nil {
		return nil, err
	}
	var kept []starlark.Value
	if e.ExtraValues != nil {
		kept = e.ExtraValues()
	}
	if err := freeze(f.name, globals, kept); err != nil {
		return nil, err
	}
	return &Module{
		Name: f.name, Globals: globals, Files: w.loader.evaluated, env: e.Env, sources: &w.sandbox.sources,
	}, nil
}

// mergeNames returns the names of both, those of over first. It is base itself
// when there is nothing to add.
func mergeNames(base, over starlark.StringDict) starlark.StringDict {
	if len(over) == 0 {
		return base
	}
	env := make(starlark.StringDict, len(base)+len(over))
	for name, v := range base {
		env[name] = v
	}
	for name, v := range over {
		env[name] = v
	}
	return env
}

// evaluateFile runs the top level of f. The globals are not frozen yet.
func (w *worker) evaluateFile(f *File) (starlark.StringDict, error) {
	if w.loader.Check != nil {
		if err := w.loader.Check(f); err != nil {
			return nil, err
		}
	}
	program, env, err := w.program(f)
	if err != nil {
		return nil, err
	}
	w.fileStack = append(w.fileStack, f.name)
	globals, err := program.Init(&w.thread, env)
	w.fileStack = w.fileStack[:len(w.fileStack)-1]
	if err != nil {
		return nil, err
	}
	for name := range globals {
		if name[0] == '$' {
			delete(globals, name)
		}
	}
	w.loader.evaluated = append(w.loader.evaluated, f.name)
	return globals, nil
}

// program returns the program of f with the names that it can use.
func (w *worker) program(f *File) (*starlark.Program, starlark.StringDict, error) {
	c, l, path := w.sandbox.coverage, w.loader, f.name
	if c != nil && l.CoveragePath != nil {
		path = l.CoveragePath(f.name)
	}
	covered := c != nil && path != ""
	p, err := w.sandbox.program(f, l.Env, covered)
	if err != nil {
		return nil, nil, err
	}
	var probes starlark.StringDict
	if covered {
		probes = c.countersOf(path, string(f.src), p.sites).probeNames()
	}
	return p.Program, p.env(w.sandbox.env, l.Env, probes), nil
}

// loadFile runs a load statement of the file that is being evaluated.
func (w *worker) loadFile(label string) (starlark.StringDict, error) {
	if len(w.fileStack) == 0 || w.loader.Load == nil {
		return nil, errors.New("there is nothing to load from here")
	}
	name, src, err := w.loader.Load(w.fileStack[len(w.fileStack)-1], label)
	if err != nil {
		return nil, err
	}
	if globals, ok := w.loader.modules[name]; ok {
		return globals, nil
	}
	if i := slices.Index(w.fileStack, name); i >= 0 {
		return nil, fmt.Errorf("cycle: %s -> %s", strings.Join(w.fileStack[i:], " -> "), name)
	}
	f, err := w.sandbox.parse(name, src)
	if err != nil {
		return nil, w.sandbox.locate(err)
	}
	globals, err := w.evaluateFile(f)
	if err != nil {
		return nil, w.sandbox.locateInModule(err)
	}
	if err := freeze(name, globals, nil); err != nil {
		return nil, err
	}
	if w.loader.modules == nil {
		w.loader.modules = map[string]starlark.StringDict{}
	}
	w.loader.modules[name] = globals
	return globals, nil
}

// locateInModule gives the failure of a loaded file its place in that file, unless
// the interpreter did: the frames of both files are on one stack.
func (s *Sandbox) locateInModule(err error) error {
	var eval *starlark.EvalError
	if errors.As(err, &eval) {
		return err
	}
	return s.locate(err)
}
