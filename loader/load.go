package loader

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/spf13/afero"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/parallel"
	"github.com/starhost/starhost/starlark"
)

// Options name the plugins to load and their environment. The zero value loads the plugins that the
// built-in config names in the current folder.
type Options struct {
	// Config is the operator's config; nil means the built-in layer.
	Config *Config
	// Dir is the current folder; "" means ".". Folder is the folder whose repository plugins read and write
	// files in; "" means Dir.
	Dir, Folder string
	// Args are the paths of plugins. Without any, Load uses the paths of the config. It always loads the
	// plugins of the managed config, and before all others.
	Args []string
	// ArgsRoot bounds the operator's rights at Args: a plugin outside of this folder gets no grants of the
	// operator, and its hooks may only refuse and add context. "" means no bound.
	ArgsRoot string
	// Sources are the plugins that an earlier [Discover] found. They replace Args and the managed plugins,
	// but RequiredInArgs still looks at Args.
	Sources []*Source
	// Grants are further permissions, each [PLUGIN=]PERMISSION. Without PLUGIN the permission is
	// for the only plugin; with "host" it is for the host's own references.
	Grants []string
	// Set are further settings, each [PLUGIN.]KEY=VALUE. Without PLUGIN the setting is for the
	// only plugin.
	Set []string
	// World has the effects that plugins can be granted. Each plugin gets a copy with the plugin's name and
	// permissions. Plugins do not get a part that is nil, with three exceptions: Workspace is then the
	// workspace of Dir, Env is LookupEnv, and Secrets are the config's secrets.
	World effects.World
	// FS contains the files that references name; nil means the files of the machine.
	FS afero.Fs
	// LookupEnv returns environment variables; nil means that none is set.
	LookupEnv func(string) (string, bool)
	// Stdin is the input of the reference "-"; nil is empty.
	Stdin io.Reader
	// Cache stores compiled programs. It may serve any number of calls of Load. Nil means that
	// Load compiles every file.
	Cache *starlark.Cache
	// Workers is the number of plugins that Load reads, compiles and evaluates at the same time;
	// zero or less means one for each CPU. It changes no result. As many goroutines call the
	// functions of these options, except those of Host.
	Workers int
	// Coverage counts the lines and branches of plugins, and of the files that they load, by the real paths
	// of the files. Nil counts nothing.
	Coverage *starlark.Coverage
	// Profile counts the steps and bytes that each line of plugins spends; nil counts nothing.
	Profile *starlark.Profile
	// GrantDeclared grants each plugin all permissions that it declares, for tests. If the World also runs
	// programs or reaches the network, [Load] returns an error.
	GrantDeclared bool
	// Enforce makes decisions of plugins count that the config sets to warn, for a program that shows what
	// these plugins would do.
	Enforce bool
	// Prove checks the examples of rules ([builtins.Recorder.Prove]), for check and tests.
	Prove bool
	// AllowMissing makes Load return no error if a required plugin is not loaded. The caller then calls
	// [Set.Missing].
	AllowMissing bool
	// AllowUnset loads plugins whose variables of requires_env are not set, for a caller that runs none of
	// their handlers. No file reads a variable while it loads, so these plugins register what they would
	// register on a machine that has the variables. A warning names each of them.
	AllowUnset bool
	// FailOpen lets events pass although guards are not loaded: see [host.Guard.Open].
	FailOpen bool
	// RequiredInArgs makes [plugins] required apply only to plugins at Args, for a caller that enforces no
	// decisions: someone who names one plugin of a project leaves out the others. The requirements of the
	// managed config always apply, and so do all others if Args lead to every path of the config.
	RequiredInArgs bool
	// Host configures the host. Load sets its Prompt and Tools from the config, and gives it a
	// store of fragments in memory if it has none.
	Host host.Options
}

// Load finds, evaluates and registers plugins in path order, but each after the plugins that it
// requires. If a plugin fails, the set has its error and the other plugins load. Load returns an
// error and no set if it can load no plugin at all: there is no path, a setting or flag is wrong,
// or ctx ended. If a required plugin is missing, Load returns the error of [Set.Missing] together
// with the set, which the caller closes; see [Options.AllowMissing].
//
// Load adds the settings that a project makes for its own plugins to [Options.Config].
func Load(ctx context.Context, o Options) (*Set, error) {
	l, err := newLoadRun(o)
	if err == nil {
		err = l.run(ctx)
	}
	if err != nil {
		l.set.Close() // no error matters, because nothing was written
		return nil, err
	}
	l.set.Host.Lose(l.set.lostGuards(o.FailOpen)...)
	if !o.AllowMissing {
		err = l.set.Missing()
	}
	return l.set, err
}

// A loadRun is one call of Load.
type loadRun struct {
	Options
	config    *Config
	set       *Set
	sandbox   func() (*starlark.Sandbox, error) // the sandbox of all plugins, which the first call makes
	sources   []*Source
	libraries map[*Config]map[string]*Source // libraries by the config that names them: see librariesOf
	hostWorld *effects.World                 // the effects that references may have

	paths           []Path // the paths that find has searched
	workspaceFolder string // the real path of the workspace that Load opened
	othersUsed      uint64 // bytes that evaluating the plugins of untrusted projects took

	ownConfigs     []*Config           // configs that findConfigs found
	configOfSource map[*Source]*Config // the config of each plugin that is from another project

	granted  map[string][]string     // permissions that flags grant, by plugin
	settings map[string][]assignment // settings that flags make, by plugin
}

// newLoadRun finds the plugins to load. The caller closes the set of the result, even if there is an error.
func newLoadRun(o Options) (*loadRun, error) {
	o.Dir, o.Workers = cmp.Or(o.Dir, "."), cmp.Or(max(o.Workers, 0), runtime.GOMAXPROCS(0))
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
	if o.Host.Log == nil {
		o.Host.Log = func(host.LogLine) {}
	}
	l := &loadRun{
		Options: o, config: o.Config, libraries: map[*Config]map[string]*Source{}, configOfSource: map[*Source]*Config{},
		granted: map[string][]string{}, settings: map[string][]assignment{},
	}
	if l.config == nil {
		l.config = newConfig()
	}
	l.set = &Set{Config: l.config, Warnings: l.config.checkRaised()}
	l.config.applyManaged()
	l.sandbox = sync.OnceValues(l.newSandbox)
	if l.GrantDeclared && l.World.Answers == nil && (l.World.HTTP != nil || l.World.Exec != nil) {
		return l, errorAt(Place{}, "E0607", "a plugin may not grant itself real effects: got GrantDeclared with HTTP or Exec, want Answers")
	}
	for _, step := range []func() error{l.find, l.findConfigs, l.openWorld, l.openHostWorld} {
		if err := step(); err != nil {
			return l, err
		}
	}
	return l, nil
}

// run loads the plugins that newLoadRun found.
func (l *loadRun) run(ctx context.Context) error {
	l.set.partial, l.set.inputs = l.isPartial(), l.inputs()
	used := l.choose()
	if len(l.Grants)+len(l.Set) > 0 {
		if err := l.flags(used); err != nil {
			return err
		}
	}
	l.set.configs = l.ownConfigs
	off := map[*Source]bool{}
	if len(used) < len(l.sources) {
		for _, s := range l.sources {
			off[s] = true
		}
		for _, s := range used {
			off[s] = false
		}
	}
	l.set.Plugins = make([]Plugin, len(l.sources))
	prepared := make([]evaluation, len(l.sources)) // one allocation takes less memory than many
	for i, s := range l.sources {
		config := l.configFor(s)
		mode := cmp.Or(config.configOf(s).pluginOf(s.Name).Mode, modeEnforce)
		l.set.Plugins[i] = Plugin{Name: s.Name, Path: s.Path, Status: StatusDisabled, Mode: mode, Managed: s.Managed}
		prepared[i].loadRun, prepared[i].source, prepared[i].plugin = l, s, &l.set.Plugins[i]
		prepared[i].config, prepared[i].libraries = config, l.librariesOf(config)
	}
	parallel.Each(l.Workers, len(l.sources), func(i int) {
		if e := &prepared[i]; !off[e.source] {
			e.prepare()
		}
	})
	l.protectRootFiles(prepared)
	l.declareEvents(prepared)
	if err := l.newHost(); err != nil {
		return err
	}
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
		l.evaluate(ctx, wave)
		l.register(wave)
	}
	for i := range prepared {
		if e := &prepared[i]; ctx.Err() == nil && e.plugin.unloaded != nil && (e.unavailable != "" || e.unmet) {
			e.probe(ctx)
		}
	}
	return ctx.Err()
}

// evaluate runs several plugins at the same time. The plugins of an untrusted project run after the others,
// one after the other, and share the memory of one plugin, because the user did not choose their number.
func (l *loadRun) evaluate(ctx context.Context, wave []*evaluation) {
	var own, others []*evaluation
	for _, e := range wave {
		if e.config.isVouched(e.source) {
			own = append(own, e)
		} else {
			others = append(others, e)
		}
	}
	parallel.Each(l.Workers, len(own), func(i int) { own[i].err = own[i].evaluate(ctx) })
	for _, e := range others {
		limits := e.config.LimitsOf(e.source)
		limits.Memory = max(1, min(limits.Memory, l.config.Limits.Memory-min(l.config.Limits.Memory, l.othersUsed)))
		e.loadBox = e.box.WithLimits(sandboxLimits(limits))
		e.err = e.evaluate(ctx)
		l.othersUsed += e.plugin.Bytes
	}
}

// declareEvents adds the events of all manifests to those of the program, before any plugin runs,
// so that the order of plugins does not matter to hooks. A plugin fails if the program declares an
// event of the same name.
func (l *loadRun) declareEvents(prepared []evaluation) {
	program := len(l.Host.AppEvents)
	l.Host.AppEvents = slices.Clip(l.Host.AppEvents)
	owners := map[string]bool{}
	for i := range prepared {
		e := &prepared[i]
		if e.manifest == nil || e.plugin.Err != nil || owners[e.source.Name] {
			continue
		}
		owners[e.source.Name] = true
		for _, spec := range e.manifest.Events {
			same := func(s starhost.EventSpec) bool { return s.Name == spec.Name }
			if slices.ContainsFunc(l.Host.AppEvents[:program], same) {
				e.finish(e.fail(starlark.Pos{File: e.source.Display}, "E0302", "plugin: events: the program declares %s itself", spec.Name))
				break
			}
			l.Host.AppEvents = append(l.Host.AppEvents, spec)
		}
	}
}

// countIndependent returns the number of evaluations at the start of the list that do not require
// each other.
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

// register adds evaluated plugins to the host, in their order.
func (l *loadRun) register(list []*evaluation) {
	var good []*evaluation
	var plugins []*starhost.Plugin
	for _, e := range list {
		for _, line := range e.logs {
			l.Host.Log(line)
		}
		l.set.Warnings = append(l.set.Warnings, e.idle...)
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

// find finds the plugins that the arguments or the config name.
func (l *loadRun) find() error {
	if l.sources = l.Sources; l.sources != nil {
		l.set.Sources = l.sources
		return nil
	}
	paths, err := l.config.Paths(l.Dir, l.Args)
	c := l.config
	if errors.Is(err, ErrNoPlugins) && len(c.Plugins.Required)+len(c.ManagedPaths())+len(c.Bundles)+len(c.Processes) > 0 {
		err = nil // the missing plugin is reported later, or programs are the plugins
	}
	if err != nil {
		return err
	}
	for i := range paths[:min(len(paths), len(l.Args))] {
		paths[i].Project = l.ArgsRoot != "" && !isInside(l.ArgsRoot, paths[i].Real)
	}
	paths = slices.Concat(l.config.ManagedPaths(), paths)
	l.set.hasManaged = true
	l.sources, l.set.Problems = Discover(paths, l.config.Limits.Source)
	if l.config.managed != nil {
		l.set.Problems = slices.Concat(l.config.managed.lost, l.set.Problems)
	}
	for _, s := range l.sources {
		s.maxSource = l.config.LimitsOf(s).Source
	}
	l.set.Sources = l.sources
	l.paths = paths
	return nil
}

// isPartial reports whether the arguments leave out paths of the config, so that plugins at those paths may
// be missing.
func (l *loadRun) isPartial() bool {
	if !l.RequiredInArgs || len(l.Args) == 0 {
		return false
	}
	return slices.ContainsFunc(l.allConfigs(), func(c *Config) bool {
		dir := l.Dir
		if c != l.config {
			dir = c.project
		}
		paths, err := c.Paths(dir, nil)
		return err == nil && slices.ContainsFunc(paths, func(p Path) bool {
			return !slices.ContainsFunc(l.Args, func(arg string) bool {
				_, in := below(resolveLinks(NewPath(l.Dir, arg).Real), resolveLinks(p.Real))
				return in
			})
		})
	})
}

// inputs returns the files and folders that the plugins at l.paths depend on.
func (l *loadRun) inputs() (in Inputs) {
	if l.Sources != nil {
		return in
	}
	add := func(list *[]string, names ...string) {
		for _, name := range names {
			if !slices.Contains(*list, name) {
				*list = append(*list, name)
			}
		}
	}
	for _, c := range l.allConfigs() {
		add(&in.Files, c.files...)
	}
	for _, p := range l.paths {
		if info, err := os.Stat(p.Real); err == nil && info.IsDir() {
			add(&in.Folders, p.Real)
		} else {
			add(&in.Files, p.Real)
		}
	}
	for _, c := range l.allConfigs() {
		for _, name := range slices.Sorted(maps.Keys(c.Libraries)) {
			add(&in.Folders, c.Libraries[name].Real)
		}
	}
	return in
}

// newHost makes the host and registers its own references.
func (l *loadRun) newHost() error {
	p := &l.config.Prompt
	l.Host.Prompt = host.PromptOptions{
		Dedup:  host.Dedup(p.Dedup),
		Render: fragments.Rendering(p.Render),
		Budget: fragments.Budget{
			MaxBytes: p.MaxBytes, MaxFragment: p.MaxFragment, MaxPlugin: p.MaxPlugin,
			MaxAttachments: p.MaxAttachments, MaxAttachment: p.MaxAttachment, MaxPixels: p.MaxPixels,
			MaxTokens: int64(p.MaxTokens), Count: aboutTokens,
		},
	}
	if l.Host.Describe == nil {
		l.Host.Describe = builtins.DescribeCalls(l.config.Kinds)
	}
	if l.Host.MaxRounds <= 0 {
		l.Host.MaxRounds = l.config.Model.Rounds
	}
	l.Host.MaxResult = int(l.config.Tools.MaxResult)
	l.Host.Tools = host.ToolFilter{Allow: l.config.Tools.Allow, Deny: l.config.Tools.Deny}
	if l.Host.Fragments == nil {
		l.Host.Fragments = new(fragments.MemoryStore)
	}
	if l.Host.EventTimeout <= 0 {
		l.Host.EventTimeout = l.config.Limits.EventTimeout()
	}
	l.set.Host = host.New(l.Host)
	refs := effects.RefOptions{Dir: l.Dir, FS: l.FS, Stdin: l.Stdin, Store: l.Host.Fragments, World: l.hostWorld}
	h := effects.HostPlugin(refs)
	if len(l.config.Model.Endpoints) > 0 {
		var err error
		if h.Endpoints, err = l.config.endpoints(); err != nil {
			return err
		}
	}
	return l.set.Host.Add(h)
}

// aboutTokens estimates how many tokens a model makes of a text: a quarter of its bytes. Reports
// that use it say "about".
func aboutTokens(text string) int64 { return int64(len(text) / 4) }
