package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/afero"
	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
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
	// is for the only plugin.
	Grants []string
	// Set are further settings, each [PLUGIN.]KEY=VALUE. Without PLUGIN it is for
	// the only plugin.
	Set []string
	// Workspace are the files that plugins may be granted; nil means those of the
	// workspace that Dir is in.
	Workspace *effects.Files
	// FS holds the files that references name; nil means the machine's.
	FS afero.Fs
	// LookupEnv tells about environment variables; nil means that none is set.
	LookupEnv func(string) (string, bool)
	// Stdin is what the reference "-" reads; nil is empty.
	Stdin io.Reader
	// Host configures the host; Prompt and Tools come from the config.
	Host starhost.Options
}

// The statuses of a plugin.
const (
	StatusLoaded      = "loaded"
	StatusFailed      = "failed"      // Err says why
	StatusDisabled    = "disabled"    // by the config
	StatusUnavailable = "unavailable" // a variable of requires_env is not set
)

// A Plugin is what became of one plugin that was found.
type Plugin struct {
	Name, Version, Description, Owner string
	// Path is as messages show it.
	Path string
	// Digest is the SHA-256 of the lines that sha256sum prints for the plugin's
	// files, sorted by name: those that were read while it was loaded.
	Digest fragments.Hash
	Status string
	// Err says why a plugin failed; it is a *starlark.Error, an *Error or one of
	// package starhost.
	Err error
	// Declared and Granted are permissions, as their authors wrote them.
	Declared, Granted []string
	// Registered is what the plugin offers; nil unless it is loaded.
	Registered *starhost.Plugin
	// Steps and Bytes are what its evaluation spent.
	Steps, Bytes uint64
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

	workspace *effects.Files
}

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
		loaded := func(p Plugin) bool { return p.Name == name && p.Status == StatusLoaded }
		if !slices.ContainsFunc(s.Plugins, loaded) {
			return errorAt(s.Config.Place("plugins", "required", name), "E0609", "required plugin %s is not loaded", name)
		}
	}
	return nil
}

// Close frees what the set holds open.
func (s *Set) Close() error {
	if s.workspace == nil {
		return nil
	}
	return s.workspace.Close()
}

// Load finds, evaluates and registers plugins. A plugin that fails is reported
// in the set and the others load. The error says that nothing can be loaded at
// all: no path, or a setting that makes no sense.
func Load(ctx context.Context, o Options) (*Set, error) {
	l, err := newLoading(o)
	if err != nil {
		return nil, err
	}
	used, disabled, warnings := l.config.Select(l.sources)
	l.set.Warnings = append(l.set.Warnings, warnings...)
	if err := l.flags(used); err != nil {
		return nil, errors.Join(err, l.set.Close())
	}
	for _, s := range l.sources {
		if slices.Contains(disabled, s) {
			l.set.Plugins = append(l.set.Plugins, Plugin{Name: s.Name, Path: s.Path, Status: StatusDisabled})
			continue
		}
		l.set.Plugins = append(l.set.Plugins, l.plugin(ctx, s))
	}
	return l.set, nil
}

// A loading is one call of Load.
type loading struct {
	Options
	config    *Config
	set       *Set
	box       *starlark.Sandbox
	sources   []*Source
	libraries map[string]*Source
	granted   map[string][]string     // by flags, by plugin
	settings  map[string][]assignment // likewise
}

// An assignment is one --set.
type assignment struct{ key, value string }

func newLoading(o Options) (*loading, error) {
	o.Dir = cmp.Or(o.Dir, ".")
	if o.LookupEnv == nil {
		o.LookupEnv = func(string) (string, bool) { return "", false }
	}
	l := &loading{Options: o, config: o.Config, libraries: map[string]*Source{}, granted: map[string][]string{}, settings: map[string][]assignment{}}
	if l.config == nil {
		l.config = newConfig()
	}
	l.set = &Set{Config: l.config}
	if err := l.find(); err != nil {
		return nil, err
	}
	for name, folder := range l.config.Libraries {
		l.libraries[name] = NewLibrary(name, folder, 0)
	}
	if err := l.openWorkspace(); err != nil {
		return nil, err
	}
	if err := l.newSandbox(); err != nil {
		return nil, err
	}
	return l, l.newHost()
}

// find looks for the plugins.
func (l *loading) find() error {
	if l.sources = l.Sources; l.sources != nil {
		return nil
	}
	paths, err := l.config.Paths(l.Dir, l.Args)
	if err != nil {
		return err
	}
	l.sources, l.set.Problems = Discover(paths, 0)
	return nil
}

func (l *loading) openWorkspace() error {
	if l.Workspace != nil {
		return nil
	}
	dir, err := Workspace(l.Dir)
	if err != nil {
		return err
	}
	l.Workspace, err = effects.OpenFiles(dir, effects.FileOptions{})
	l.set.workspace = l.Workspace
	return err
}

// newSandbox makes the sandbox with everything that a plugin file can say.
func (l *loading) newSandbox() error {
	l.box = starlark.New(starlark.Options{
		Limits: limits(l.config.Limits),
		Print: func(ctx context.Context, pos starlark.Pos, text string) {
			builtins.PrintTo(ctx, pos.File, pos.Line, pos.Col, text)
		},
	})
	for _, e := range builtins.Table(l.box) {
		if e.Value == nil { // the language's own
			continue
		}
		if err := l.box.Define(e.Name, e.Value, e.Cost); err != nil {
			return err
		}
	}
	return nil
}

func limits(c LimitsConfig) starlark.Limits {
	return starlark.Limits{Steps: c.Steps, Memory: c.Memory, Timeout: c.Timeout}
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
			MaxTokens: int64(p.MaxTokens), Count: starhost.AboutTokens,
		},
	}
	l.Host.Tools = starhost.ToolFilter{Allow: l.config.Tools.Allow, Deny: l.config.Tools.Deny}
	l.set.Host = starhost.New(l.Host)
	return l.set.Host.Add(effects.HostPlugin(effects.RefOptions{Dir: l.Dir, FS: l.FS, Stdin: l.Stdin}))
}

// flags gives the permissions and settings of the flags to the plugins they name.
func (l *loading) flags(used []*Source) error {
	for _, text := range l.Grants {
		name, permission, named := strings.Cut(text, "=")
		if !named || !pluginName.MatchString(name) {
			name, permission = "", text
		}
		if _, err := effects.ParsePermission(permission); err != nil {
			return errorAt(Place{}, "E0610", "--grant %s: %v", text, err)
		}
		name, err := only(used, name, "--grant "+text, "--grant PLUGIN="+permission)
		if err != nil {
			return err
		}
		l.granted[name] = append(l.granted[name], permission)
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
		l.settings[name] = append(l.settings[name], assignment{rest, value})
	}
	return nil
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
		return "", errorAt(Place{}, "E0610", "%s: no plugin is named %s%s", flag, name, didYouMean(name, names))
	}
	return name, nil
}

// plugin evaluates one plugin and adds it to the host.
func (l *loading) plugin(ctx context.Context, s *Source) Plugin {
	p := Plugin{Name: s.Name, Path: s.Path, Status: StatusFailed}
	e := evaluation{loading: l, source: s, plugin: &p, box: l.box.WithLimits(limits(l.config.LimitsOf(s.Name)))}
	p.Err = e.run(ctx)
	if p.Err == errUnavailable {
		p.Err = nil
	}
	p.Digest = s.Digest()
	return p
}

// An evaluation is what loads one plugin.
type evaluation struct {
	*loading
	source *Source
	plugin *Plugin
	box    *starlark.Sandbox
}

// errUnavailable says that the plugin is not to be evaluated, and why is told.
var errUnavailable = errors.New("unavailable")

func (e *evaluation) run(ctx context.Context) error {
	src, err := e.source.Read(e.source.Main)
	if err != nil {
		return err
	}
	file, err := e.box.Parse(e.source.Display, src)
	if err != nil {
		return err
	}
	locate := func(err error) error {
		return starlark.Locate(err, func(string) string { return string(src) })
	}
	manifest, err := builtins.ReadManifest(file.Syntax())
	if err != nil {
		return locate(err)
	}
	if err := manifest.CheckName(e.source.Name); err != nil {
		return locate(err)
	}
	e.describe(manifest)
	if !e.available(manifest.RequiresEnv) {
		return errUnavailable
	}
	config, err := manifest.Configure(e.settingsOf(manifest))
	if err != nil {
		return err
	}
	world, err := e.world(manifest)
	if err != nil {
		return err
	}
	registered := &starhost.Plugin{Name: e.source.Name, Version: manifest.Version, Description: manifest.Description, Owner: manifest.Owner}
	for _, g := range world.Granted {
		if g.Kind == "respond" {
			registered.RespondsTo = append(registered.RespondsTo, g.Pattern)
		}
	}
	record := builtins.Record(registered, e.box, world, config)
	_, usage, err := e.box.Run(record.Attach(ctx), file, starlark.Exec{Env: record.Env(), Load: e.load, Check: record.Check, Kept: record.Kept})
	e.plugin.Steps, e.plugin.Bytes = usage.Steps, usage.Bytes
	for _, line := range record.Logs() {
		if e.Host.Log != nil {
			e.Host.Log(line)
		}
	}
	if err != nil {
		return err
	}
	if err := e.set.Host.Add(*registered); err != nil {
		return err
	}
	e.plugin.Registered, e.plugin.Status = registered, StatusLoaded
	return nil
}

// describe takes over what the plugin says of itself.
func (e *evaluation) describe(m *builtins.Manifest) {
	p := e.plugin
	p.Version, p.Description, p.Owner = m.Version, m.Description, m.Owner
	p.Declared = m.Permissions
	p.Granted = slices.Concat(e.config.GrantsOf(e.source), e.granted[e.source.Name])
}

// available reports whether the plugin's environment is there, and warns if not.
func (e *evaluation) available(variables []string) bool {
	for _, name := range variables {
		if _, set := e.LookupEnv(name); !set {
			e.plugin.Status = StatusUnavailable
			e.set.Warnings = append(e.set.Warnings, Warning{Place: Place{File: e.source.Display}, Msg: fmt.Sprintf("plugin %s is unavailable: the environment variable %s is not set", e.source.Name, name)})
			return false
		}
	}
	return true
}

// settingsOf returns the operator's settings of the plugin, those of flags last.
func (e *evaluation) settingsOf(m *builtins.Manifest) []builtins.Setting {
	var list []builtins.Setting
	values := e.config.PluginOf(e.source.Name).Values
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, builtins.Setting{Key: key, Value: values[key].V, Place: values[key].Place.String()})
	}
	for _, s := range e.settings[e.source.Name] {
		list = append(list, flagSetting(m, s))
	}
	return list
}

// flagSetting reads a --set: as TOML writes values where the plugin takes that,
// else as text.
func flagSetting(m *builtins.Manifest, s assignment) builtins.Setting {
	place := "--set " + s.key
	var value struct{ V any }
	if _, err := toml.Decode("V = "+s.value, &value); err == nil {
		typed := builtins.Setting{Key: s.key, Value: value.V, Place: place}
		if _, err := m.Configure([]builtins.Setting{typed}); err == nil {
			return typed
		}
	}
	return builtins.Setting{Key: s.key, Value: s.value, Place: place}
}

// world returns what the plugin may reach.
func (e *evaluation) world(m *builtins.Manifest) (*effects.World, error) {
	w := &effects.World{Plugin: e.source.Name, Workspace: e.Workspace}
	if e.source.Folder {
		w.Own = e.source
	}
	var err error
	if w.Declared, err = effects.ParseGrants(m.Permissions); err != nil {
		return nil, err
	}
	if w.Granted, err = effects.ParseGrants(e.plugin.Granted); err != nil {
		return nil, errorAt(e.config.Place("grants", e.source.Name), "E0603", "grants.%s: %v", e.source.Name, err)
	}
	return w, nil
}

// load resolves a load() label: "lib/x.star" in the folder that the loading file
// is from, "@NAME//x.star" in a library of the config.
func (e *evaluation) load(from, label string) (string, []byte, error) {
	source, file := e.source, label
	if strings.HasPrefix(from, "@") {
		name, _, _ := strings.Cut(from[1:], "//")
		source = e.libraries[name]
	}
	if rest, ok := strings.CutPrefix(label, "@"); ok {
		name, path, ok := strings.Cut(rest, "//")
		if source = e.libraries[name]; !ok || source == nil {
			return "", nil, e.noLibrary(label, name)
		}
		file = path
	}
	src, err := source.Read(file)
	return source.File(file), src, err
}

func (e *evaluation) noLibrary(label, name string) error {
	if !strings.Contains(label, "//") {
		return fmt.Errorf("load: got %q, want @NAME//FILE", label)
	}
	return fmt.Errorf("load: %q: no library is named %s%s: [libraries] of the config names them", label, name, didYouMean(name, slices.Sorted(maps.Keys(e.libraries))))
}
