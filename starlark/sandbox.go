// Package starlark evaluates Starlark source that nobody has to trust.
//
// A [Sandbox] runs files and calls their functions over the stock interpreter
// of go.starlark.net, in this process, under limits that hold: the syntax tree
// is rewritten before it is compiled, so that every operation that can amplify
// pays for its work before it does it, from the budget of its run. A script
// that asks for too much gets a [LimitError] with its place, at the same step
// on every machine. See docs/sandbox.md for the rules and the measurements.
//
// The package imports upstream only. It knows nothing of tools, hooks or
// prompts: what a script can say beyond the language arrives through
// [Sandbox.Define].
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

// A Cost is what one call of a host's function pays before it works. It is an
// alias, so that packages that may not import this one can declare the same.
type Cost = struct {
	// Steps of every call.
	Steps uint64
	// BytesPerArgByte is the memory charged for each byte of the arguments' text.
	BytesPerArgByte uint64
}

// Usage is what a run used of its budget, nested calls included.
type Usage = struct{ Steps, Bytes uint64 }

// An Allowance is the most that one call may spend, where its caller has less to give than the
// limits of the sandbox. It is an alias as [Cost] is.
type Allowance = struct {
	Steps   uint64 // zero means the sandbox's limit
	Setting string // what raises it, for the error of a call that needs more
}

// Options configure a [Sandbox]. The zero value works.
type Options struct {
	// Limits of every run.
	Limits Limits
	// Print receives what scripts print; nil discards it. It is called on the
	// goroutine of the run.
	Print func(ctx context.Context, pos Pos, text string)
	// Cache remembers what became of files; nil remembers nothing.
	Cache *Cache
	// Coverage counts what runs reach of the files that they evaluate; nil counts
	// nothing, and costs nothing.
	Coverage *Coverage
	// Profile counts what lines spend; nil counts nothing, and costs nothing.
	Profile *Profile
}

// A Sandbox evaluates files against one set of defined names. Once all names
// are defined it may be used by many goroutines at the same time.
type Sandbox struct {
	limits Limits
	print  func(ctx context.Context, pos Pos, text string)
	*sharedState
}

// A world is what a sandbox and those share that [Sandbox.WithLimits] derives from it.
type sharedState struct {
	*vocabulary
	sources  sources
	coverage *Coverage // or nil
	cache    *Cache
	profile  *Profile // or nil
}

// A vocabulary is what all sandboxes share that have the same names.
type vocabulary struct {
	dialect syntax.FileOptions  // of all files
	env     starlark.StringDict // predeclared in every file
	defined map[string]bool     // names given to Define, also dotted ones
	keyOnce sync.Once
	key     string // of the defined names
}

// namesCapacity is for how many names maps are made, those of a host included.
const namesCapacity = 256

// New returns a sandbox with the language's own names only.
func New(opts Options) *Sandbox {
	v := &vocabulary{dialect: dialect, env: guardedNames(), defined: make(map[string]bool, namesCapacity)}
	v.defined["json"] = true
	return v.sandbox(opts)
}

// With returns a sandbox with the names of s, all of which are defined, that shares
// nothing else with it.
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

// guardedNames returns what every file has: the guarded universe, the module json,
// and the helpers that rewritten source calls.
func guardedNames() starlark.StringDict {
	env := make(starlark.StringDict, namesCapacity)
	maps.Copy(env, universe())
	maps.Copy(env, helpers())
	env["json"] = newJSONModule()
	return env
}

// WithLimits returns a sandbox with the same names and the limits of l; its
// zero fields keep those of s. The two share everything else.
func (s *Sandbox) WithLimits(l Limits) *Sandbox {
	return &Sandbox{limits: l.withDefaults(s.limits), print: s.print, sharedState: s.sharedState}
}

// Define predeclares name in every file. A dotted name, such as "text.wrap",
// becomes a member of the module that its first part names. It is an error to
// define a name twice, or a function without a cost. All names are defined
// before the first file is parsed.
func (s *Sandbox) Define(name string, value starlark.Value, cost Cost) error {
	if s.defined[name] {
		return fmt.Errorf("%s is already defined", name)
	}
	value, err := guardHostValue(name, value, cost)
	if err != nil {
		return err
	}
	module, member, dotted := strings.Cut(name, ".")
	if !dotted {
		s.defined[name] = true
		s.env[name] = value
		return nil
	}
	m, err := s.module(module)
	if err != nil {
		return err
	}
	s.defined[name] = true
	m.Members[member] = value
	return nil
}

// module returns the module of that name, which it defines on first use.
func (s *Sandbox) module(name string) (*starlarkstruct.Module, error) {
	if !s.defined[name] {
		s.defined[name] = true
		s.env[name] = &starlarkstruct.Module{Name: name, Members: starlark.StringDict{}}
	}
	m, ok := s.env[name].(*starlarkstruct.Module)
	if !ok {
		return nil, fmt.Errorf("%s is already defined, and not as a module", name)
	}
	return m, nil
}

// Names returns the names that every file can use, sorted.
func (s *Sandbox) Names() []string {
	return s.scopeNames(&syntax.File{}, nil)
}

// A Module is a file that was evaluated, with all it loaded. Its values are frozen.
type Module struct {
	Name    string
	Globals starlark.StringDict
	Files   []string // names of the files that were evaluated, in the order in which they ended

	env     starlark.StringDict // what its Exec gave it
	sources *sources            // of its sandbox
}

// An Exec says how one file is evaluated. The zero value works.
type Exec struct {
	// Env holds names of this file and the files it loads alone, over the defined ones.
	Env starlark.StringDict
	// Load resolves the label of a load statement in the file named from. The
	// name it returns identifies the file: each is evaluated once in a Run. Nobody
	// may change src from then on. nil refuses all loads.
	Load func(from, label string) (name string, src []byte, err error)
	// Check is asked about every file before it is evaluated, also the loaded ones.
	Check func(*File) error
	// Covers returns the path under which [Options.Coverage] counts a file, "" for one
	// that it leaves out. Nil means the file's name.
	CoveragePath func(name string) (path string)
	// Kept returns values besides the globals that outlive the evaluation, such
	// as handlers that were registered. They are frozen with the globals.
	ExtraValues func() []starlark.Value
}

// Run evaluates f, and freezes its globals and what [Exec.Kept] returns. The
// error is an [*Error], or nil.
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

// Call calls fn, a function of a module that Run returned. A ctx that comes from
// [Sandbox.Context] makes it part of the run that is under way there: it
// spends that run's budget, down to the lower of both limits. The result is
// fit to be frozen, stored and converted. The error is an [*Error], or nil.
func (s *Sandbox) Call(
	ctx context.Context, fn starlark.Callable, args starlark.Tuple, kwargs []starlark.Tuple,
) (starlark.Value, Usage, error) {
	return s.CallWithin(ctx, Allowance{}, fn, args, kwargs)
}

// CallWithin is Call with a part of the budget.
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

// locate is [Locate] with the sources of all files that s parsed.
func (s *Sandbox) locate(err error) error { return Locate(err, s.sources.text) }
