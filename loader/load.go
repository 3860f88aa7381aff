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
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/afero"
	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/near"
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

// The statuses of a plugin.
const (
	StatusLoaded      = "loaded"
	StatusFailed      = "failed"      // Err says why
	StatusDisabled    = "disabled"    // by the config
	StatusUnavailable = "unavailable" // a variable of requires_env is not set
)

// The modes of a plugin.
const (
	modeEnforce = "enforce"
	modeWarn    = "warn"
)

// A Plugin is what became of one plugin that was found.
type Plugin struct {
	Name, Version, Description, Owner string
	// Mode is "enforce", or "warn" where the config wants denials logged only.
	Mode string
	// Path is as messages show it.
	Path string
	// Digest is the SHA-256 of the lines that sha256sum prints for the files that
	// were read while the plugin was loaded, those of libraries among them, sorted
	// by name.
	Digest fragments.Hash
	Status string
	// Err says why a plugin failed; it is a *starlark.Error or an *Error.
	Err error
	// Declared and Granted are permissions, as their authors wrote them.
	Declared, Granted []string
	// Registered is what the plugin offers; nil unless it is loaded.
	Registered *starhost.Plugin
	// Inside is what its own file sees; nil unless it is loaded.
	Inside *Inside
	// Steps and Bytes are what its evaluation spent.
	Steps, Bytes uint64

	unloaded *evaluation // nil unless it failed or is unavailable
}

// An Inside evaluates code as a part of a plugin: with the names of its file, and its rights.
type Inside struct {
	of     *evaluation
	module *starlark.Module
	record *builtins.Recorder
}

// Load is what load statements ask, as in [starlark.Exec].
func (i *Inside) Load(from, label string) (name string, src []byte, err error) {
	return i.of.load(from, label)
}

// Module returns the evaluated file of the plugin.
func (i *Inside) Module() *starlark.Module { return i.module }

// Recorder returns the recorder that the plugin's handlers run with.
func (i *Inside) Recorder() *builtins.Recorder { return i.record }

// Eval evaluates an expression as a handler of the plugin would that sees the names
// of its file, and ctx. It returns the text of the value, as repr gives it.
func (i *Inside) Eval(ctx context.Context, t *starhost.Turn, expr string) (text string, usage starlark.Usage, err error) {
	err = t.As(ctx, i.of.source.Name, func(ctx context.Context) (err error) {
		ctx, names := i.record.Inside(ctx, t)
		text, usage, err = i.of.box.Eval(ctx, i.module, names, expr)
		return err
	})
	return text, usage, err
}

// A Set is a host with its plugins.
type Set struct {
	Host *starhost.Host
	// Plugins are all that were found, in path order.
	Plugins []Plugin
	// Problems are paths that should be plugins and are none.
	Problems []*Error
	Warnings []Warning
	Config   *Config

	inputs    Inputs
	workspace *effects.Files
	secrets   *effects.Secrets
}

// Inputs are the files that decide what Load gives, by absolute paths.
type Inputs struct {
	// Files are the config's and plugins that are single files.
	Files []string
	// Folders are folders of plugins, plugins that are folders, and libraries: all
	// that is in them counts.
	Folders []string
}

// Inputs returns what the set was loaded from.
func (s *Set) Inputs() Inputs { return s.inputs }

// Err returns the first error in path order: of a path, of a plugin, of a plugin
// that is required and not loaded. Nil means that all is well.
func (s *Set) Err() error {
	if len(s.Problems) > 0 {
		return s.Problems[0]
	}
	for i := range s.Plugins {
		if s.Plugins[i].Err != nil {
			return s.Plugins[i].Err
		}
	}
	return s.Missing()
}

// Missing returns an error for the first plugin that the config requires and
// that is not loaded. Whoever enforces decisions must not work without it.
func (s *Set) Missing() error {
	for _, name := range s.Config.Plugins.Required {
		if s.status(name) != StatusLoaded {
			return s.missing(name)
		}
	}
	return nil
}

// missing returns the error of a required plugin that is not loaded.
func (s *Set) missing(name string) *Error {
	return errorAt(s.Config.Place("plugins", "required", name), "E0609", "required plugin %s is not loaded%s", name, s.near(name))
}

// near returns which plugin a name that none bears may mean.
func (s *Set) near(name string) string {
	names := make([]string, len(s.Plugins))
	for i := range s.Plugins {
		names[i] = s.Plugins[i].Name
	}
	if slices.Contains(names, name) {
		return ""
	}
	slices.Sort(names)
	return near.DidYouMean(name, names)
}

// status returns the status of a plugin, "" if there is none of that name.
func (s *Set) status(name string) string {
	if i := s.index(name); i >= 0 {
		return s.Plugins[i].Status
	}
	return ""
}

// index returns where a plugin is, -1 if there is none of that name.
func (s *Set) index(name string) int {
	for i := range s.Plugins { // the others may be under way
		if s.Plugins[i].Name == name {
			return i
		}
	}
	return -1
}

// Redact takes the values of secrets out of a text: of those that were read, which
// at least those are that plugins may use.
func (s *Set) Redact(text string) string { return s.secrets.Redact(text) }

// Close frees what the set holds open.
func (s *Set) Close() error {
	if s.workspace == nil {
		return nil
	}
	return s.workspace.Close()
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
	l, err := newLoading(o)
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
type loading struct {
	Options
	config    *Config
	set       *Set
	sandbox   func() (*starlark.Sandbox, error) // of all plugins, made when the first is parsed
	sources   []*Source
	libraries map[string]*Source
	granted   map[string][]string     // by flags, by plugin
	settings  map[string][]assignment // likewise
}

// An assignment is one --set.
type assignment struct{ key, value string }

// newLoading finds the plugins and makes an empty host. Its result has a set
// that must be closed, also beside an error.
func newLoading(o Options) (*loading, error) {
	o.Dir = cmp.Or(o.Dir, ".")
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
	if o.Host.Log == nil {
		o.Host.Log = func(starhost.LogLine) {}
	}
	l := &loading{Options: o, config: o.Config, libraries: map[string]*Source{}, granted: map[string][]string{}, settings: map[string][]assignment{}}
	if l.config == nil {
		l.config = newConfig()
	}
	l.set = &Set{Config: l.config}
	l.sandbox = sync.OnceValues(l.newSandbox)
	for name, folder := range l.config.Libraries {
		l.libraries[name] = NewLibrary(name, folder, l.config.Limits.Source)
		l.libraries[name].maxSource = l.config.LimitsOf(l.libraries[name]).Source
		if folder.Project && l.config.trusted != nil {
			l.libraries[name].pins = l.config.trusted.files
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
func (l *loading) run(ctx context.Context) error {
	used, disabled, warnings := l.config.Select(l.sources)
	l.set.Warnings = append(l.set.Warnings, warnings...)
	if err := l.flags(used); err != nil {
		return err
	}
	off := map[*Source]bool{}
	for _, s := range disabled {
		off[s] = true
	}
	defer l.holdFolders()()
	l.set.Plugins = make([]Plugin, len(l.sources))
	prepared := make([]evaluation, len(l.sources)) // one by one they take more memory
	for i, s := range l.sources {
		l.set.Plugins[i] = Plugin{Name: s.Name, Path: s.Path, Status: StatusDisabled, Mode: cmp.Or(l.config.pluginOf(s.Name).Mode, modeEnforce)}
		prepared[i].loading, prepared[i].source, prepared[i].plugin = l, s, &l.set.Plugins[i]
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
	for ready = inOrder(ready); len(ready) > 0 && ctx.Err() == nil; {
		wave := ready[:independent(ready)]
		ready = ready[len(wave):]
		l.each(len(wave), func(i int) { wave[i].err = wave[i].evaluate(ctx) })
		l.register(wave)
	}
	return ctx.Err()
}

// maxHeld is the most folders that are held open while plugins are loaded.
const maxHeld = 16

// holdFolders keeps folders open that several plugins lie in, until release is called.
func (l *loading) holdFolders() (release func()) {
	var held []func()
	plugins := map[*folder]int{}
	for _, s := range l.sources {
		if plugins[s.shared]++; s.shared == nil || plugins[s.shared] != 2 || len(held) == maxHeld {
			continue
		}
		if root, err := s.shared.hold(s.dir); err == nil { // else reading tells
			held = append(held, func() { s.shared.release(root) })
		}
	}
	return func() {
		for _, release := range held {
			release()
		}
	}
}

// independent returns how many evaluations, from the first, require none of each other.
func independent(list []*evaluation) int {
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
func (l *loading) register(list []*evaluation) {
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
		good[i].added(err)
	}
}

// each calls do for the numbers below n, on several goroutines at the same time. What
// do writes for one number it keeps apart from the others, so that the order in which
// they come does not matter. A panic of do is one of each.
func (l *loading) each(n int, do func(i int)) {
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
func (l *loading) find() error {
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

func (l *loading) inputs(paths []Path) Inputs {
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

// vocabulary returns a sandbox with everything that a plugin file can say. It is made
// once: whatever its functions do, they do for the thread that calls them.
var vocabulary = sync.OnceValues(func() (*starlark.Sandbox, error) {
	box := starlark.New(starlark.Options{})
	for _, t := range builtins.Topics(box) {
		for i := range t.Entries {
			e := &t.Entries[i]
			if e.Value == nil { // the language's own
				continue
			}
			if err := box.Define(e.Name, e.Value, e.Cost); err != nil {
				return nil, err
			}
		}
	}
	return box, nil
})

// newSandbox makes the sandbox of all plugins.
func (l *loading) newSandbox() (*starlark.Sandbox, error) {
	words, err := vocabulary()
	if err != nil {
		return nil, err
	}
	return words.With(starlark.Options{
		Limits: limits(l.config.Limits),
		Print: func(ctx context.Context, pos starlark.Pos, text string) {
			builtins.PrintTo(ctx, pos.File, pos.Line, pos.Col, text)
		},
		Cache:    l.Cache,
		Coverage: l.Coverage,
		Profile:  l.Profile,
	}), nil
}

// boxOf returns the sandbox of a plugin.
func (l *loading) boxOf(s *Source) (*starlark.Sandbox, error) {
	box, err := l.sandbox()
	if err != nil || l.config.Plugin[s.Name] == nil && !l.config.limitsApart(s) {
		return box, err
	}
	return box.WithLimits(limits(l.config.LimitsOf(s))), nil
}

func limits(c LimitsConfig) starlark.Limits {
	return starlark.Limits{Steps: c.Steps, Memory: c.Memory, Timeout: c.Timeout, Source: c.Source, Output: c.Output, Raised: c.Raised}
}

// newHost makes the host with its own references.
func (l *loading) newHost() error {
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

// flags gives the permissions and settings of the flags to the plugins they name.
func (l *loading) flags(used []*Source) error {
	for _, text := range l.Grants {
		name, permission, err := parseGrant(text)
		if err != nil {
			return err
		}
		if name == starhost.HostPlugin {
			continue // see hostWorld
		}
		if name, err = only(used, name, "--grant "+text, "--grant PLUGIN="+permission.String()); err != nil {
			return err
		}
		l.granted[name] = append(l.granted[name], permission.String())
	}
	for _, text := range l.Set {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return errorAt(Place{}, "E0610", "--set %s: got no =, want [PLUGIN.]KEY=VALUE", text)
		}
		name, rest, named := strings.Cut(key, ".")
		if !named {
			name, rest = "", key
		}
		name, err := only(used, name, "--set "+text, "--set PLUGIN."+text)
		if err != nil {
			return err
		}
		if host, _, _ := strings.Cut(rest, "."); builtins.HostSetting(host) {
			return errorAt(Place{}, "E0610", "--set %s: %s is the host's, no setting of the plugin: want it below [plugin.%s] in the config", text, host, name)
		}
		l.settings[name] = append(l.settings[name], assignment{rest, value})
	}
	return nil
}

// parseGrant reads [PLUGIN=]PERMISSION; name is "" if no plugin is named.
func parseGrant(text string) (name string, p effects.Permission, err error) {
	name, rest, named := strings.Cut(text, "=")
	if !named || !isPluginName(name) {
		name, rest = "", text
	}
	if p, err = effects.ParsePermission(rest); err != nil {
		return "", p, errorAt(Place{}, "E0502", "--grant %s: %v", text, err)
	}
	return name, p, nil
}

// only returns the name of the plugin that a flag is for: the one it names, else
// the only one there is.
func only(used []*Source, name, flag, want string) (string, error) {
	var names []string
	for _, s := range used {
		names = append(names, s.Name)
	}
	switch {
	case name == "" && len(names) == 1:
		return names[0], nil
	case name == "":
		return "", errorAt(Place{}, "E0610", "%s: there are %d plugins, want %s", flag, len(names), want)
	case !slices.Contains(names, name):
		return "", errorAt(Place{}, "E0610", "%s: no plugin is named %s%s", flag, name, near.DidYouMean(name, names))
	}
	return name, nil
}
