package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/spf13/afero"
	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/starlark"
)

// Options say what to load. The zero value loads what the built-in config names
// in the current folder.
type Options struct {
	// Config is the operator's; nil means the built-in layer alone.
	Config *Config
	// Dir is the current folder; "" means ".".
	Dir string
	// Args are the paths of plugins; none means what the config names.
	Args []string
	// Sources are plugins that were found already, used instead of Args.
	Sources []*Source
	// Grants are further permissions, each [PLUGIN=]PERMISSION. Without PLUGIN it
	// is for the only plugin; with "host" for the host's own references.
	Grants []string
	// Set are further settings, each [PLUGIN.]KEY=VALUE. Without PLUGIN it is for
	// the only plugin.
	Set []string
	// World is what plugins can be granted; each gets a copy with its own name and
	// permissions. What is nil is not there, but for these: Workspace are the files
	// of the workspace that Dir is in, Env is LookupEnv, Secrets are the config's.
	World effects.World
	// FS holds the files that references name; nil means the machine's.
	FS afero.Fs
	// LookupEnv tells about environment variables; nil means that none is set.
	LookupEnv func(string) (string, bool)
	// Stdin is what the reference "-" reads; nil is empty.
	Stdin io.Reader
	// Cache remembers the compiled programs of files, and may serve any number of
	// calls of Load; nil remembers nothing.
	Cache *starlark.Cache
	// Workers is how many plugins are read, compiled and evaluated at the same time; zero
	// or less means one for each CPU. It changes no result. Functions of these options
	// are called from as many goroutines, but for those of Host.
	Workers int
	// Coverage counts what is reached of plugins and of what they load, by the real
	// paths of the files; nil counts nothing.
	Coverage *starlark.Coverage
	// Profile counts what the lines of plugins spend, of steps and bytes; nil counts
	// nothing.
	Profile *starlark.Profile
	// AllowMissing lets Load return no error for a plugin that the config requires and that is not
	// loaded, for a caller that asks [Set.Missing] itself.
	AllowMissing bool
	// Host configures the host; Prompt and Tools come from the config. Without a store
	// of fragments it gets one in memory.
	Host starhost.Options
}

// Load finds, evaluates and registers plugins: in path order, but each after
// those that it requires. A plugin that fails is reported in the set and the
// others load. The error says that nothing can be loaded at all: no path, a
// setting or flag that makes no sense, the end of ctx. If a plugin is missing that the
// config requires, Load returns the error of [Set.Missing] together with the set, which the
// caller closes: see [Options.AllowMissing].
//
// What the config's project says of its own plugins is taken over into
// [Options.Config].
func Load(ctx context.Context, o Options) (*Set, error) {
	l, err := newLoadRun(o)
	if err == nil {
		err = l.run(ctx)
	}
	if err != nil {
		l.set.Close() // nothing was written
		return nil, err
	}
	if !o.AllowMissing {
		err = l.set.Missing()
	}
	return l.set, err
}

// A loading is one call of Load.
type loadRun struct {
	Options
	config    *Config
	set       *Set
	sandbox   func() (*starlark.Sandbox, error) // of all plugins, made when the first is parsed
	sources   []*Source
	libraries map[string]*Source
	granted   map[string][]string     // by flags, by plugin
	settings  map[string][]assignment // likewise
}

// newLoadRun finds the plugins and makes an empty host. Its result has a set
// that must be closed, also beside an error.
func newLoadRun(o Options) (*loadRun, error) {
	o.Dir = cmp.Or(o.Dir, ".")
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
	if o.Host.Log == nil {
		o.Host.Log = func(starhost.LogLine) {}
	}
	l := &loadRun{Options: o, config: o.Config, libraries: map[string]*Source{}, granted: map[string][]string{}, settings: map[string][]assignment{}}
	if l.config == nil {
		l.config = newConfig()
	}
	l.set = &Set{Config: l.config}
	l.sandbox = sync.OnceValues(l.newSandbox)
	for name, folder := range l.config.Libraries {
		l.libraries[name] = NewLibrary(name, folder, l.config.Limits.Source)
		l.libraries[name].maxSource = l.config.LimitsOf(l.libraries[name]).Source
		if folder.Project && l.config.trustedFiles != nil {
			l.libraries[name].pins = l.config.trustedFiles.files
		}
	}
	for _, step := range []func() error{l.find, l.openWorld, l.newHost} {
		if err := step(); err != nil {
			return l, err
		}
	}
	return l, nil
}

// run loads what was found.
func (l *loadRun) run(ctx context.Context) error {
	used, disabled, warnings := l.config.Select(l.sources)
	l.set.Warnings = append(l.set.Warnings, warnings...)
	if err := l.flags(used); err != nil {
		return err
	}
	off := map[*Source]bool{}
	for _, s := range disabled {
		off[s] = true
	}
	defer l.openSharedFolders()()
	l.set.Plugins = make([]Plugin, len(l.sources))
	prepared := make([]evaluation, len(l.sources)) // one by one they take more memory
	for i, s := range l.sources {
		l.set.Plugins[i] = Plugin{Name: s.Name, Path: s.Path, Status: StatusDisabled, Mode: cmp.Or(l.config.pluginOf(s.Name).Mode, modeEnforce)}
		prepared[i].loadRun, prepared[i].source, prepared[i].plugin = l, s, &l.set.Plugins[i]
	}
	l.each(len(l.sources), func(i int) {
		if e := &prepared[i]; !off[e.source] {
			e.prepare()
		}
	})
	ready := make([]*evaluation, 0, len(prepared))
	for i := range prepared {
		e := &prepared[i]
		l.set.Warnings = append(l.set.Warnings, e.warnings...)
		if p := e.plugin; !off[e.source] && p.Err == nil && p.Status != StatusUnavailable {
			ready = append(ready, e)
		}
	}
	for ready = sortByRequirements(ready); len(ready) > 0 && ctx.Err() == nil; {
		wave := ready[:countIndependent(ready)]
		ready = ready[len(wave):]
		l.each(len(wave), func(i int) { wave[i].err = wave[i].evaluate(ctx) })
		l.register(wave)
	}
	return ctx.Err()
}

// maxOpenFolders is the most folders that are held open while plugins are loaded.
const maxOpenFolders = 16

// openSharedFolders keeps folders open that several plugins lie in, until release is called.
func (l *loadRun) openSharedFolders() (release func()) {
	var held []func()
	plugins := map[*sharedFolder]int{}
	for _, s := range l.sources {
		if plugins[s.shared]++; s.shared == nil || plugins[s.shared] != 2 || len(held) == maxOpenFolders {
			continue
		}
		if root, err := s.shared.acquire(s.dir); err == nil { // else reading tells
			held = append(held, func() { s.shared.release(root) })
		}
	}
	return func() {
		for _, release := range held {
			release()
		}
	}
}

// countIndependent returns how many evaluations, from the first, require none of each other.
func countIndependent(list []*evaluation) int {
	if !slices.ContainsFunc(list, (*evaluation).isDependent) {
		return len(list)
	}
	names := map[string]bool{}
	for i, e := range list {
		if slices.ContainsFunc(e.requires, func(r requirement) bool { return names[r.name] }) {
			return i
		}
		names[e.source.Name] = true
	}
	return len(list)
}

// register adds plugins that were evaluated to the host, in their order.
func (l *loadRun) register(list []*evaluation) {
	var good []*evaluation
	var plugins []*starhost.Plugin
	for _, e := range list {
		for _, line := range e.logs {
			l.Host.Log(line)
		}
		if e.err != nil {
			e.finish(e.err)
			continue
		}
		good, plugins = append(good, e), append(plugins, e.registered)
	}
	for i, err := range l.set.Host.AddEach(plugins) {
		good[i].recordResult(err)
	}
}

// each calls do for the numbers below n, on several goroutines at the same time. What
// do writes for one number it keeps apart from the others, so that the order in which
// they come does not matter. A panic of do is one of each.
func (l *loadRun) each(n int, do func(i int)) {
	workers := l.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var panicked atomic.Value
	var wg sync.WaitGroup
	work := func() {
		defer func() {
			if p := recover(); p != nil {
				panicked.Store(fmt.Sprintf("%v\n%s", p, debug.Stack()))
			}
		}()
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	for range min(workers, n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if p := panicked.Load(); p != nil {
		panic(p)
	}
}

// find looks for the plugins.
func (l *loadRun) find() error {
	if l.sources = l.Sources; l.sources != nil {
		return nil
	}
	paths, err := l.config.Paths(l.Dir, l.Args)
	if errors.Is(err, ErrNoPlugins) && len(l.config.Plugins.Required) > 0 {
		err = nil // the missing plugin is the error
	}
	if err != nil {
		return err
	}
	l.sources, l.set.Problems = Discover(paths, l.config.Limits.Source)
	for _, s := range l.sources {
		s.maxSource = l.config.LimitsOf(s).Source
	}
	l.set.inputs = l.inputs(paths)
	return nil
}

func (l *loadRun) inputs(paths []Path) Inputs {
	in := Inputs{Files: slices.Clone(l.config.files)}
	for _, p := range paths {
		if info, err := os.Stat(p.Real); err == nil && info.IsDir() {
			in.Folders = append(in.Folders, p.Real)
		} else {
			in.Files = append(in.Files, p.Real)
		}
	}
	for _, name := range sortedKeys(l.config.Libraries) {
		in.Folders = append(in.Folders, l.config.Libraries[name].Real)
	}
	return in
}

// newHost makes the host with its own references.
func (l *loadRun) newHost() error {
	p := &l.config.Prompt
	l.Host.Prompt = starhost.PromptOptions{
		Dedup:  starhost.Dedup(p.Dedup),
		Render: fragments.Rendering(p.Render),
		Budget: fragments.Budget{
			MaxBytes: p.MaxBytes, MaxFragment: p.MaxFragment, MaxPlugin: p.MaxPlugin,
			MaxAttachments: p.MaxAttachments, MaxAttachment: p.MaxAttachment, MaxPixels: p.MaxPixels,
			MaxTokens: int64(p.MaxTokens), Count: aboutTokens,
		},
	}
	l.Host.Tools = starhost.ToolFilter{Allow: l.config.Tools.Allow, Deny: l.config.Tools.Deny}
	if l.Host.Fragments == nil {
		l.Host.Fragments = new(fragments.MemoryStore)
	}
	if l.Host.EventTimeout <= 0 {
		l.Host.EventTimeout = l.config.Limits.EventTimeout()
	}
	l.set.Host = starhost.New(l.Host)
	world, err := l.hostWorld()
	if err != nil {
		return err
	}
	return l.set.Host.Add(effects.HostPlugin(effects.RefOptions{Dir: l.Dir, FS: l.FS, Stdin: l.Stdin, Store: l.Host.Fragments, World: world}))
}

// aboutTokens estimates how many tokens a model makes of a text: a quarter of its bytes. Reports
// that use it say "about".
func aboutTokens(text string) int64 { return int64(len(text) / 4) }
