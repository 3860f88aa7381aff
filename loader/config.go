package loader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/near"
)

// ConfigName is the name of a project's config file.
const ConfigName = "starhost.toml"

// A Config is what an operator decided, decoded once from all layers. The caller
// may change fields afterwards: that is how flags win over files.
type Config struct {
	Plugins PluginsConfig
	// Libraries are the folders behind load("@NAME//..."), by NAME.
	Libraries map[string]Path
	// Plugin holds what concerns one plugin, by its name; see [Config.PluginOf].
	Plugin map[string]*PluginConfig
	// Grants are the permissions given, by plugin; see [Config.GrantsOf].
	Grants map[string][]string
	// Secrets says where a secret comes from; one that is not listed comes from the
	// environment variable of its name, or the file that NAME_FILE names.
	Secrets map[string]*SecretConfig
	// Limits hold for a load and for each call; see [Config.LimitsOf]. Those of a project, which
	// concern its own plugins, are not among them.
	Limits LimitsConfig
	Prompt PromptConfig
	Tools  ToolsConfig
	Model  ModelConfig
	Store  StoreConfig
	// MCP are servers whose tools are mounted, by the prefix of their names.
	MCP map[string]*MCPConfig

	places   map[string]Place // by toml.Key.String(), and by key and element of united lists
	warnings []Warning
	project  string  // absolute folder of the project layer, "" without one
	held     []given // what the project says of single plugins, until Select knows whose they are

	projectGrants map[string]projectGrant // of a trusted project, by plugin
	projectLimits projectLimits
	files         []string // that were read, absolute
	trusted       *trusted // the files of a trusted project; nil if it is not trusted
}

// A projectGrant is what a project gives to a plugin of its own.
type projectGrant struct {
	permissions []string
	place       Place
}

// projectLimits are the [limits] of a project, which concern its own plugins.
type projectLimits struct {
	LimitsConfig                  // 0 is none
	places       map[string]Place // by key: "steps"
}

// over returns the limits of a plugin of the project. Flags win over the project.
func (p *projectLimits) over(limits LimitsConfig) LimitsConfig {
	overlay(&limits.Steps, p.Steps, limits.Raised["steps"])
	overlay(&limits.Memory, p.Memory, limits.Raised["memory"])
	overlay(&limits.Timeout, p.Timeout, limits.Raised["time"])
	overlay(&limits.Event, p.Event, "")
	overlay(&limits.Source, p.Source, "")
	overlay(&limits.Output, p.Output, "")
	return limits
}

// overlay sets a limit that the project has and no flag.
func overlay[T comparable](limit *T, project T, flag string) {
	var none T
	if project != none && flag == "" {
		*limit = project
	}
}

// PluginsConfig says which plugins there are.
type PluginsConfig struct {
	Paths []Path
	// Enabled are the names to use; empty means all that are found.
	Enabled []string
	// Disabled are the names not to use; they win over Enabled.
	Disabled []string
	// Required are the names without which the host must not work.
	Required []string
}

// PluginConfig is the [plugin.NAME] of one plugin.
type PluginConfig struct {
	// Mode is "enforce", the default, or "warn": denials are only logged.
	Mode string
	// Limits are lower ones for this plugin; 0 means the host's.
	Limits LimitsConfig
	// Values overlay the defaults that the plugin declares.
	Values map[string]Value
}

// A Value is one setting of a plugin.
type Value struct {
	// V is string, int64, float64 (finite), bool, []any or map[string]any of these.
	V any
	// Place is that of the key.
	Place Place
}

// LimitsConfig bounds an evaluation.
type LimitsConfig struct {
	// Steps are interpreter steps.
	Steps uint64
	// Memory is in bytes.
	Memory uint64
	// Timeout is wall-clock time.
	Timeout time.Duration
	// Event is the most steps of all hooks of one plugin within one event; 0 means ten times Steps.
	// The host has it, a plugin has none of its own.
	Event uint64
	// Source and Output are the most bytes of one .star file, and of what one
	// evaluation prints; the host has them, a plugin has none of its own.
	Source, Output int64
	// Raised says what raises steps, memory and time (the timeout), where that is not
	// [limits] and a flag alike: a flag that was given, a plugin's own table.
	Raised map[string]string
}

// eventCalls is how many calls of a handler fill the budget of an event.
const eventCalls = 10

// EventSteps returns the most steps of all hooks of one plugin within one event.
func (c *LimitsConfig) EventSteps() uint64 {
	if c.Event > 0 {
		return c.Event
	}
	return eventCalls * min(c.Steps, math.MaxUint64/eventCalls)
}

// EventTimeout returns the most time of one event.
func (c *LimitsConfig) EventTimeout() time.Duration {
	return eventCalls * min(c.Timeout, math.MaxInt64/eventCalls)
}

// Raise notes what raises a limit, without a change to copies of c.
func (c *LimitsConfig) Raise(limit, by string) {
	c.Raised = maps.Clone(c.Raised)
	if c.Raised == nil {
		c.Raised = map[string]string{}
	}
	c.Raised[limit] = by
}

// PromptConfig says how a prompt is put together and bounds what a turn adds.
type PromptConfig struct {
	// Dedup is "session" or "prompt".
	Dedup string
	// Render is "plain", "xml" or "markdown".
	Render string
	// MaxBytes, MaxFragment and MaxPlugin bound the text of all fragments, of one
	// fragment and of one plugin's fragments, in bytes.
	MaxBytes, MaxFragment, MaxPlugin int64
	// MaxAttachments is a number, MaxAttachment is in bytes, MaxPixels is width
	// times height of an image.
	MaxAttachments           int
	MaxAttachment, MaxPixels int64
	// MaxTokens bounds the text of all fragments; 0 means no bound.
	MaxTokens int
}

// ToolsConfig limits the tools that are offered, by globs on their names.
type ToolsConfig struct{ Allow, Deny []string }

// SecretConfig says where a secret comes from: a file or the output of a command.
type SecretConfig struct {
	File    Path
	Command []string
}

// ModelConfig names the model to ask, "" for none.
type ModelConfig struct{ Default string }

// StoreConfig is where sessions and fragments are kept.
type StoreConfig struct{ URL string }

// MCPConfig is a server whose tools are mounted: either a program or a URL.
type MCPConfig struct {
	Command []string
	// Env are the environment variables that the program gets, by name.
	Env []string
	URL string
	// Token is the name of the secret that the URL gets as a bearer token, "" for none.
	Token string
	// Approval is "ask" or "auto"; empty means ask.
	Approval string
}

// A Path is a file or folder that someone named.
type Path struct {
	// Shown is as messages show it: relative where its author wrote it so, with /.
	Shown string
	// Real is absolute.
	Real string
	// Place is where the config names it; zero for an argument.
	Place Place
	// Project is true for a path that no operator named: the config of a project did,
	// or it is a default. The operator's own grants do not reach plugins found there.
	Project bool
}

// NewPath returns what name means in the folder dir.
func NewPath(dir, name string) Path {
	real := filepath.FromSlash(name)
	if !filepath.IsAbs(real) {
		real = filepath.Join(dir, real)
	}
	if abs, err := filepath.Abs(real); err == nil {
		real = abs
	}
	return Path{Shown: path.Clean(filepath.ToSlash(name)), Real: real}
}

// ConfigOptions say where configs are. The zero value reads the current folder's
// project and no user file.
type ConfigOptions struct {
	// Dir is the current folder; "" means ".".
	Dir string
	// File is a config that is read instead of the user's and the project's, as the
	// user's own; "" means the file that STARHOST_CONFIG names, if it does.
	File string
	// None reads no file at all.
	None bool
	// Strict makes an error of a mistake in the config of an untrusted project, for a caller that
	// checks or shows the config. Without it LoadConfig warns, and ignores that config as a whole.
	Strict bool
	// Getenv returns environment variables: HOME, XDG_CONFIG_HOME, STARHOST_CONFIG,
	// XDG_STATE_HOME, STARHOST_MODEL, STARHOST_STORE. Nil means an empty environment.
	Getenv func(string) string
}

// LoadConfig reads the config. Later layers win: built-in, the user's file, the
// project's ([ConfigName], in Dir or above it up to the repository root), the
// environment. Tables merge, arrays replace, but disabled and required unite,
// and a project adds to paths. The project's is read fully if the operator trusts
// it as it is now; see [TrustOptions]. It never disables plugins of the user's config, sets them
// to warn or limits them, trusted or not.
//
// The error joins one [*Error] for each mistake. A mistake in the config of an untrusted project
// is a warning and no error, so that the user's plugins stay in use: see [ConfigOptions.Strict].
func LoadConfig(o ConfigOptions) (*Config, []Warning, error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	return o.load(func(c *Config, l *layer, src []byte) { c.recall(l, src, o.Getenv) })
}

// load reads all layers. trust is asked about that of a project before it counts.
func (o ConfigOptions) load(trust func(c *Config, project *layer, src []byte)) (*Config, []Warning, error) {
	o.Dir = cmp.Or(o.Dir, ".")
	files, err := o.files()
	if err != nil {
		return nil, nil, err
	}
	c := newConfig()
	for _, file := range files {
		src, unreadable := readConfigFile(file.real, file.shown)
		if file.project {
			trust(c, file, src)
		}
		var err error
		if unreadable != nil {
			err = unreadable
		} else {
			err = c.read(file, src)
		}
		switch {
		case err == nil:
		case file.untrusted() && !o.Strict:
			c.ignoreFile(file, err)
		default:
			return nil, c.warnings, err
		}
	}
	if err := c.environment(o.Getenv); err != nil {
		return nil, c.warnings, err
	}
	c.checkPluginLimits()
	return c, c.warnings, nil
}

// maxQuoted is the most bytes that a warning quotes of a mistake.
const maxQuoted = 200

// ignoreFile ignores the config of an untrusted project, and warns of its first mistake.
func (c *Config) ignoreFile(l *layer, err error) {
	c.files = append(c.files, l.real)
	first, ok := errors.AsType[*Error](err)
	if !ok {
		first = errorAt(Place{File: l.shown}, "", "%v", err)
	}
	msg := first.Msg
	if len(msg) > maxQuoted {
		msg = strings.ToValidUTF8(msg[:maxQuoted], "") + "..."
	}
	c.warn(first.Place, "%s: this config is ignored, because the project %s", msg, l.why)
}

// ParseConfig reads a config from its text, as the operator's own and over the
// built-in layer alone. file names it in messages; paths are relative to the
// folder dir.
func ParseConfig(file, dir string, src []byte) (*Config, []Warning, error) {
	c := newConfig()
	l := layer{shown: file, real: filepath.Join(dir, file)}
	if err := c.read(&l, src); err != nil {
		return nil, c.warnings, err
	}
	c.checkPluginLimits()
	return c, c.warnings, nil
}

// newConfig returns the built-in layer.
func newConfig() *Config {
	return &Config{
		Libraries: map[string]Path{},
		Plugin:    map[string]*PluginConfig{},
		Grants:    map[string][]string{},
		Secrets:   map[string]*SecretConfig{},
		Limits:    LimitsConfig{Steps: 1_000_000, Memory: 64 << 20, Timeout: 2 * time.Second, Source: DefaultMaxSource, Output: 1 << 20},
		Prompt: PromptConfig{
			Dedup: "session", Render: "plain",
			MaxBytes: 1 << 20, MaxFragment: 256 << 10, MaxPlugin: 512 << 10,
			MaxAttachments: 20, MaxAttachment: 8 << 20, MaxPixels: 40_000_000,
		},
		Tools:  ToolsConfig{Allow: []string{"*"}},
		Store:  StoreConfig{URL: "sqlite:"},
		MCP:    map[string]*MCPConfig{},
		places: map[string]Place{},

		projectGrants: map[string]projectGrant{},
		projectLimits: projectLimits{places: map[string]Place{}},
	}
}

// PluginOf returns what concerns the plugin, for reading and changing.
func (c *Config) PluginOf(name string) *PluginConfig { return entry(c.Plugin, name) }

// pluginOf returns the plugin's part of the config as it is, the zero one where there is
// none.
func (c *Config) pluginOf(name string) PluginConfig {
	if p := c.Plugin[name]; p != nil {
		return *p
	}
	return PluginConfig{}
}

// LimitsOf returns the limits of the plugin: the lower ones of the host's and its own. For a
// plugin of the project, [limits] of the project replace the host's.
func (c *Config) LimitsOf(s *Source) LimitsConfig {
	host := c.Limits
	if c.limitsApart(s) {
		host = c.projectLimits.over(host)
	}
	limits, name := host, s.Name
	p := c.Plugin[name]
	if p == nil {
		return limits
	}
	limits.Steps = tighter(limits.Steps, p.Limits.Steps)
	limits.Memory = tighter(limits.Memory, p.Limits.Memory)
	limits.Timeout = tighter(limits.Timeout, p.Limits.Timeout)
	for _, own := range []struct {
		limit, key string
		holds      bool
	}{
		{"steps", "steps", limits.Steps != host.Steps},
		{"memory", "memory", limits.Memory != host.Memory},
		{"time", "timeout", limits.Timeout != host.Timeout},
	} {
		if own.holds {
			limits.Raise(own.limit, fmt.Sprintf("[plugin.%s] limits.%s", name, own.key))
		}
	}
	return limits
}

// tighter returns the lower limit, where 0 is none.
func tighter[T cmp.Ordered](a, b T) T {
	var none T
	if a == none || b != none && b < a {
		return b
	}
	return a
}

// limitsApart reports whether [limits] of the project concern the plugin.
func (c *Config) limitsApart(s *Source) bool {
	return len(c.projectLimits.places) > 0 && c.governs(s, confined)
}

// governs reports whether the project's config may make a setting for the plugin. It may if the
// project led to the plugin. If an argument named a plugin of the project, an untrusted project
// may only give it values. A plugin that the user's config names is the user's, wherever it lies.
func (c *Config) governs(s *Source, setting trust) bool {
	switch {
	case c.project == "":
		return false
	case s.named():
		return c.trusted.covers(s) || setting == ownPlugins && s.within(c.project)
	}
	return s.Project
}

// vouched reports whether somebody whom the operator trusts brings the plugin: the operator, by
// the user's config or an argument, or a trusted project.
func (c *Config) vouched(s *Source) bool { return !s.Project || c.trusted.covers(s) }

// GrantsOf returns the permissions given to the plugin: the operator's where the
// operator named its path, those of a trusted project where it is a plugin of that
// project.
func (c *Config) GrantsOf(s *Source) []string {
	var grants []string
	if !s.Project {
		grants = c.Grants[s.Name]
	}
	if c.trusted.covers(s) {
		grants = slices.Concat(grants, c.projectGrants[s.Name].permissions)
	}
	return grants
}

// Place returns where the setting was made last, the zero Place for a built-in
// one. Names in plugins.disabled and plugins.required have places of their own:
// Place("plugins", "required", "policy").
func (c *Config) Place(key ...string) Place { return c.places[toml.Key(key).String()] }

// Paths returns where plugins are looked for: at the arguments; without any,
// where the config says; without that, in ./plugins, else ./*.star.
func (c *Config) Paths(dir string, args []string) ([]Path, error) {
	if len(args) > 0 {
		paths := make([]Path, len(args))
		for i, arg := range args {
			paths[i] = NewPath(dir, arg)
		}
		return paths, nil
	}
	if len(c.Plugins.Paths) > 0 {
		return c.Plugins.Paths, nil
	}
	return defaultPaths(dir)
}

// ErrNoPlugins is the cause of the error of [Config.Paths] if nobody named a plugin and the
// current folder has none.
var ErrNoPlugins = errors.New("no plugins")

func defaultPaths(dir string) ([]Path, error) {
	if info, err := os.Stat(filepath.Join(dir, "plugins")); err == nil && info.IsDir() {
		p := NewPath(dir, "plugins")
		p.Project = true
		return []Path{p}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, errorAt(Place{File: filepath.ToSlash(dir)}, "E0607", "%s", reason(err))
	}
	var paths []Path
	for _, e := range entries {
		p := NewPath(dir, e.Name())
		p.Project = true
		switch {
		case e.Name() == mainFile: // the folder is one plugin, its other files are modules
			return []Path{p}, nil
		case strings.HasSuffix(e.Name(), ".star") && !strings.HasPrefix(e.Name(), "."):
			paths = append(paths, p)
		}
	}
	if len(paths) == 0 {
		err := errorAt(Place{}, "E0604", "no plugins: got no PATH, no [plugins] paths in %s, no ./plugins and no ./*.star "+
			"(name some: starhost eval PATH; or begin one: starhost new plugin NAME)", ConfigName)
		err.err = ErrNoPlugins
		return nil, err
	}
	return paths, nil
}

// Select returns which of the found plugins are used and which are disabled, in
// the order given. What the project's config says of single plugins takes effect
// here, for plugins of the project alone; so flags must be applied after it. Names in the config that no plugin bears are warned of, unless the
// plugins were named by arguments.
func (c *Config) Select(found []*Source) (used, disabled []*Source, warnings []Warning) {
	c.warnings = nil
	names := sync.OnceValue(func() map[string]*Source { // seldom asked for
		names := make(map[string]*Source, len(found))
		for _, s := range found {
			names[s.Name] = s
		}
		return names
	})
	byName := slices.ContainsFunc(found, (*Source).named)
	project := c.release(names, byName)
	for _, s := range found {
		if c.trusted.covers(s) {
			s.pins = c.trusted.files
		}
		if c.uses(s, project) {
			used = append(used, s)
		} else {
			disabled = append(disabled, s)
		}
	}
	if !byName {
		c.checkNames(names())
	}
	return used, disabled, c.warnings
}

// release applies what the project says of its own plugins, and returns its
// enabled and disabled ones. Names that no plugin bears it warns of unless some were
// asked for byName.
func (c *Config) release(names func() map[string]*Source, byName bool) (project PluginsConfig) {
	if len(c.held) == 0 {
		return project
	}
	found := names()
	own := func(g given, name string) bool { return found[name] != nil && c.governs(found[name], g.trust) }
	refuse := func(g given, name string) {
		switch s := found[name]; {
		case s == nil && !byName:
			governed := slices.DeleteFunc(sortedKeys(found), func(name string) bool { return !own(g, name) })
			c.warn(g.place, "%s: no plugin is named %s%s", toml.Key(g.key), name, near.DidYouMean(name, governed))
		case s == nil:
		case s.named() && s.within(c.project):
			c.ignore(g, "an argument names %s", name)
		case g.trust == confined: // trust changes nothing
			c.warn(g.place, "%s is ignored: %s is no plugin of this project", toml.Key(g.key), name)
		default:
			c.ignore(g, "%s is no plugin of this project", name)
		}
	}
	for _, g := range c.held {
		if g.key[0] == "plugin" {
			if name := g.key[1]; own(g, name) {
				c.set(g) // its type was checked when it was held
			} else {
				refuse(g, name)
			}
			continue
		}
		list, _ := texts(g.value) // checked when it was held
		for _, name := range list {
			switch {
			case !own(g, name):
				refuse(g, name)
			case g.key[1] == "enabled":
				project.Enabled = append(project.Enabled, name)
			default:
				project.Disabled = append(project.Disabled, name)
			}
		}
	}
	return project
}

// uses tells whether a plugin is to be used. Its name as an argument enables it,
// but nothing wins over disabled.
func (c *Config) uses(s *Source, project PluginsConfig) bool {
	enabled := c.Plugins.Enabled
	if len(project.Enabled) > 0 && c.governs(s, confined) {
		enabled = project.Enabled
	}
	if slices.Contains(c.Plugins.Disabled, s.Name) || slices.Contains(project.Disabled, s.Name) {
		return false
	}
	return len(enabled) == 0 || s.named() || slices.Contains(enabled, s.Name)
}

// checkNames warns of names that no plugin bears.
func (c *Config) checkNames(found map[string]*Source) {
	check := func(name string, key ...string) {
		if _, ok := found[name]; !ok {
			c.warn(c.Place(key...), "%s: no plugin is named %s%s", toml.Key(key[:2]), name, near.DidYouMean(name, sortedKeys(found)))
		}
	}
	for _, name := range c.Plugins.Enabled {
		check(name, "plugins", "enabled")
	}
	for _, name := range c.Plugins.Disabled {
		check(name, "plugins", "disabled", name)
	}
	for _, name := range c.Plugins.Required {
		check(name, "plugins", "required", name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Plugin)) {
		check(name, "plugin", name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Grants)) {
		if name != starhost.HostPlugin {
			check(name, "grants", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.projectGrants)) {
		if c.Grants[name] == nil {
			check(name, "grants", name)
		}
	}
}

// checkPluginLimits warns of a plugin's limit that the host's makes void.
func (c *Config) checkPluginLimits() {
	for _, name := range slices.Sorted(maps.Keys(c.Plugin)) {
		own, holds := c.Plugin[name].Limits, c.LimitsOf(&Source{Name: name})
		void := map[string]bool{
			"memory":  own.Memory > holds.Memory,
			"steps":   own.Steps > holds.Steps,
			"timeout": own.Timeout > holds.Timeout,
		}
		for _, limit := range slices.Sorted(maps.Keys(void)) {
			if void[limit] {
				key := []string{"plugin", name, "limits", limit}
				c.warn(c.Place(key...), "%s is over [limits] %s, which holds", toml.Key(key), limit)
			}
		}
	}
}

func (c *Config) warn(at Place, format string, args ...any) {
	c.warnings = append(c.warnings, Warning{Place: at, Msg: fmt.Sprintf(format, args...)})
}

// Workspace returns the folder that plugins may be granted files of: that of the
// nearest config, else the repository root, else dir itself. It is absolute.
func Workspace(dir string) (string, error) {
	folders, repository, err := ancestry(dir)
	if err != nil {
		return "", err
	}
	if file := nearestConfig(folders); file != "" {
		return filepath.Dir(file), nil
	}
	return cmp.Or(repository, folders[0]), nil
}

// ancestry returns dir and the folders above it up to the repository root, which
// holds .git; outside of a repository only dir.
func ancestry(dir string) (folders []string, repository string, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, "", errorAt(Place{File: dir}, "E0607", "%s", reason(err))
	}
	for at := abs; ; at = filepath.Dir(at) {
		folders = append(folders, at)
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return folders, at, nil
		}
		if at == filepath.Dir(at) {
			return folders[:1], "", nil
		}
	}
}

// nearestConfig returns the first config file in the folders, "" if there is none.
func nearestConfig(folders []string) string {
	for _, folder := range folders {
		file := filepath.Join(folder, ConfigName)
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			return file
		}
	}
	return ""
}

// entry returns the table of that name, a new one if there is none.
func entry[T any](tables map[string]*T, name string) *T {
	if tables[name] == nil {
		tables[name] = new(T)
	}
	return tables[name]
}
