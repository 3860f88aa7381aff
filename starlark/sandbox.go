// Package starlark evaluates Starlark source that needs no trust.
//
// A [Sandbox] runs files and calls their functions in this process, with the stock interpreter of
// go.starlark.net. It rewrites the syntax tree before it compiles a file, so that every operation
// that can amplify charges the budget of its run before it works. A script that exceeds a limit
// gets a [LimitError] with its position, at the same step on every machine. See docs/sandbox.md for
// the rules and the measurements, and cost.go for the prices.
//
// The package imports upstream's packages and internal ones only. It does not know tools, hooks or
// prompts: [Sandbox.Define] adds names beyond the language.
package starlark

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"
)

// A Cost is the charge for one call of a host's function before it works. It is an alias, so that
// packages that may not import this one can declare the same type.
type Cost = struct {
	// Steps is the charge for each call.
	Steps uint64
	// BytesPerArgByte is the memory that is charged for each byte of the arguments' text.
	BytesPerArgByte uint64
}

// Usage is the spending of a run, including its nested calls.
type Usage = struct{ Steps, Bytes uint64 }

// An Allowance lowers the limits of one call, for a caller that has less left than the limits of the sandbox.
// The type is an alias, so that packages that may not import this one can declare the same type.
type Allowance = struct {
	Steps   uint64 // 0 means the sandbox's limit
	Setting string // the setting that raises Steps, for errors
}

// Options configure a [Sandbox]. The zero value works.
type Options struct {
	// Limits apply to every run.
	Limits Limits
	// Print receives the output of scripts; nil discards it. The goroutine of the run calls it.
	Print func(ctx context.Context, pos Pos, text string)
	// Cache stores compiled programs; nil means a new cache in memory.
	Cache *Cache
	// Coverage counts the statements that runs execute; nil counts nothing and costs nothing.
	Coverage *Coverage
	// Profile counts the spending of lines; nil counts nothing and costs nothing.
	Profile *Profile
}

// A Sandbox evaluates files with one set of defined names. After the last Define, many goroutines
// may use it at the same time.
type Sandbox struct {
	limits Limits
	print  func(ctx context.Context, pos Pos, text string)
	*sharedState
}

// A sharedState belongs to a sandbox and to all sandboxes that [Sandbox.WithLimits] derived from it.
type sharedState struct {
	*vocabulary
	sources  sources
	coverage *Coverage // nil counts nothing
	cache    *Cache
	profile  *Profile // nil counts nothing
}

// A vocabulary is shared by all sandboxes with the same names.
type vocabulary struct {
	dialect      syntax.FileOptions  // the language of all files
	env          starlark.StringDict // names that every file can use
	definedNames map[string]bool     // names given to Define, including dotted ones
	keyOnce      sync.Once
	key          string // the defined names, joined
}

// namesCapacity is the capacity of maps of names. It includes the names of a typical host.
const namesCapacity = 256

// New returns a sandbox with the names of the language only.
func New(opts Options) *Sandbox {
	v := &vocabulary{dialect: dialect, env: guardedNames(), definedNames: make(map[string]bool, namesCapacity)}
	v.definedNames["json"] = true
	return v.sandbox(opts)
}

// With returns a sandbox with the names of s, which must be past its last Define. The two sandboxes share
// nothing but the names.
func (s *Sandbox) With(opts Options) *Sandbox { return s.vocabulary.sandbox(opts) }

func (v *vocabulary) sandbox(opts Options) *Sandbox {
	if opts.Cache == nil {
		opts.Cache = &Cache{}
	}
	return &Sandbox{
		limits:      opts.Limits.withDefaults(DefaultLimits()),
		print:       opts.Print,
		sharedState: &sharedState{vocabulary: v, coverage: opts.Coverage, cache: opts.Cache, profile: opts.Profile},
	}
}

// guardedNames returns the names of the language: the guarded universe, the module json, and the
// helpers of rewritten source.
func guardedNames() starlark.StringDict {
	env := make(starlark.StringDict, namesCapacity)
	maps.Copy(env, universe())
	maps.Copy(env, helpers())
	env["json"] = newJSONModule()
	return env
}

// WithLimits returns a sandbox with the same names and the limits l. A zero field of l means the limit of s.
// The two sandboxes share everything else.
func (s *Sandbox) WithLimits(l Limits) *Sandbox {
	return &Sandbox{limits: l.withDefaults(s.limits), print: s.print, sharedState: s.sharedState}
}

// Define predeclares name in every file. A dotted name, such as "text.wrap", becomes a member of a
// module. Define returns an error if the name exists, or if a function has no cost. All calls of
// Define come before the first Parse.
func (s *Sandbox) Define(name string, value starlark.Value, cost Cost) error {
	if s.definedNames[name] {
		return fmt.Errorf("%s is already defined", name)
	}
	value, err := guardHostValue(name, value, cost)
	if err != nil {
		return err
	}
	module, member, dotted := strings.Cut(name, ".")
	if !dotted {
		s.definedNames[name] = true
		s.env[name] = value
		return nil
	}
	m, err := s.module(module)
	if err != nil {
		return err
	}
	s.definedNames[name] = true
	m.Members[member] = value
	return nil
}

// module returns the module of that name, and defines it at the first use.
func (s *Sandbox) module(name string) (*starlarkstruct.Module, error) {
	if !s.definedNames[name] {
		s.definedNames[name] = true
		s.env[name] = &starlarkstruct.Module{Name: name, Members: starlark.StringDict{}}
	}
	m, ok := s.env[name].(*starlarkstruct.Module)
	if !ok {
		return nil, fmt.Errorf("%s is already defined, and not as a module", name)
	}
	return m, nil
}

// Names returns the sorted names that every file can use.
func (s *Sandbox) Names() []string {
	return s.scopeNames(&syntax.File{}, nil)
}

// A Module is an evaluated file, with all files that it loaded. Its values are frozen.
type Module struct {
	Name    string
	Globals starlark.StringDict
	Files   []string // names of the evaluated files, in the order in which they ended

	env     starlark.StringDict            // environment of the file, from its Exec
	loads   map[string]starlark.StringDict // globals of the files that its load statements name, by label
	sources *sources                       // sources of its sandbox
}

// Describe returns the parameters and the docstring of a function of the module, or "".
func (m *Module) Describe(name string) string {
	fn, ok := m.Globals[name].(*starlark.Function)
	if !ok {
		return ""
	}
	params := make([]string, fn.NumParams())
	for i := range params {
		params[i], _ = fn.Param(i)
	}
	return clip(strings.TrimSpace(fn.Name()+"("+strings.Join(params, ", ")+")\n"+fn.Doc()), maxMessage)
}

// An Exec says how one file is evaluated. The zero value works.
type Exec struct {
	// Env has names for this file and the files that it loads. They hide defined names.
	Env starlark.StringDict
	// Load finds the file that the label of a load statement in the file from means. The returned name
	// identifies the file, and a Run evaluates each file once. Nobody may change src afterwards, because the
	// sandbox reads it later. If Load is nil, all load statements fail.
	Load func(from, label string) (name string, src []byte, err error)
	// Check inspects every file before its evaluation, including loaded files. An error refuses the
	// file.
	Check func(*File) error
	// CoveragePath returns the path under which [Options.Coverage] counts a file, or "" to omit it.
	// Nil means the file's name.
	CoveragePath func(name string) (path string)
	// ExtraValues returns values besides the globals that outlive the evaluation, such as
	// registered handlers. Run freezes them with the globals.
	ExtraValues func() []starlark.Value
}

// Run evaluates f, and freezes its globals and the result of [Exec.ExtraValues]. The error is an
// [*Error], or nil.
func (s *Sandbox) Run(ctx context.Context, f *File, e Exec) (*Module, Usage, error) {
	w, err := s.startRun(ctx)
	if err != nil {
		return nil, Usage{}, s.locate(err)
	}
	m, err := w.runFile(f, e)
	usage, err := w.endRun(err)
	if err != nil {
		return nil, usage, s.locate(err)
	}
	return m, usage, nil
}

// Call calls fn, a function of a module that Run returned. If ctx comes from [Sandbox.Context], the call is
// nested in the run of that context: it spends the run's budget, and the lower limits of both apply. Call
// fails if starhost could not freeze, store and convert the result. The error is an [*Error], or nil.
func (s *Sandbox) Call(
	ctx context.Context, fn starlark.Callable, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, Usage, error) {
	return s.CallWithin(ctx, Allowance{}, fn, args, kwargs)
}

// CallWithin calls fn as Call does, within an allowance.
func (s *Sandbox) CallWithin(
	ctx context.Context, most Allowance, fn starlark.Callable, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, Usage, error) {
	w, err := s.startRun(ctx)
	if err != nil {
		return nil, Usage{}, s.locate(err)
	}
	if most.Steps > 0 {
		w.lowerSteps(most)
	}
	v, err := w.callFunc(fn, args, kwargs)
	usage, err := w.endRun(err)
	if err != nil {
		return nil, usage, s.locate(err)
	}
	return v, usage, nil
}

// locate calls [Locate] with the sources of all files that s has parsed.
func (s *Sandbox) locate(err error) error { return Locate(err, s.sources.text) }
