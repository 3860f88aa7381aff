package starlark

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A loader evaluates the files of one Run, each file once.
type loader struct {
	Exec
	modules        map[string]starlark.StringDict // globals of the evaluated files, by name
	labels         map[string]starlark.StringDict // globals by the labels in the first file
	evaluatedFiles []string                       // names of the evaluated files, in the order in which they ended
}

// runFile evaluates f and all files that it loads.
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
	var extra []starlark.Value
	if e.ExtraValues != nil {
		extra = e.ExtraValues()
	}
	if err := freeze(f.name, globals, extra); err != nil {
		return nil, err
	}
	return &Module{
		Name: f.name, Globals: globals, Files: w.loader.evaluatedFiles,
		env: e.Env, loads: w.loader.labels, sources: &w.sandbox.sources,
	}, nil
}

// mergeNames returns the names of base and of over. A name in both has the value of over. If over is empty,
// mergeNames returns base itself, no copy.
func mergeNames(base, over starlark.StringDict) starlark.StringDict {
	if len(over) == 0 {
		return base
	}
	env := make(starlark.StringDict, len(base)+len(over))
	maps.Copy(env, base)
	maps.Copy(env, over)
	return env
}

// evaluateFile runs the top level of f. It does not freeze the globals.
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
	w.loader.evaluatedFiles = append(w.loader.evaluatedFiles, f.name)
	return globals, nil
}

// program returns the program of f and its environment.
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

// loadFile executes a load statement of the current file.
func (w *worker) loadFile(label string) (starlark.StringDict, error) {
	globals, err := w.loadModule(label)
	if err == nil && len(w.fileStack) == 1 {
		if w.loader.labels == nil {
			w.loader.labels = map[string]starlark.StringDict{}
		}
		w.loader.labels[label] = globals
	}
	return globals, err
}

// loadedNames returns the names that the load statements of a module bind.
func (s *Sandbox) loadedNames(m *Module) starlark.StringDict {
	if len(m.loads) == 0 {
		return nil
	}
	f, err := s.parseUncached(m.Name, []byte(m.sources.text(m.Name)))
	if err != nil { // not reached: the file of a module had no error when Run parsed it
		return nil
	}
	names := starlark.StringDict{}
	for _, stmt := range f.tree.Stmts {
		load, ok := stmt.(*syntax.LoadStmt)
		if !ok {
			continue
		}
		for i, from := range load.From {
			if v := m.loads[load.ModuleName()][from.Name]; v != nil {
				names[load.To[i].Name] = v
			}
		}
	}
	return names
}

func (w *worker) loadModule(label string) (starlark.StringDict, error) {
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
	f, err := w.sandbox.parse("", name, src)
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

// locateInModule adds the position in a loaded file to its error. An interpreter's error needs
// none, because its stack has the frames of both files.
func (s *Sandbox) locateInModule(err error) error {
	if _, ok := errors.AsType[*starlark.EvalError](err); ok {
		return err
	}
	return s.locate(err)
}
