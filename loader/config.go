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
	// Limits hold for a load and for each call; see [Config.LimitsOf].
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
	files         []string                // that were read, absolute
	trusted       *trusted                // the files of a trusted project; nil if it is not trusted
}

// A projectGrant is what a project gives to a plugin of its own.
type projectGrant struct {
	permissions []string
	place       Place
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
	// Getenv returns environment variables: HOME, XDG_CONFIG_HOME, STARHOST_CONFIG,
	// XDG_STATE_HOME, STARHOST_MODEL, STARHOST_STORE. Nil means an empty environment.
	Getenv func(string) string
}

// LoadConfig reads the config. Later layers win: built-in, the user's file, the
// project's ([ConfigName], in Dir or above it up to the repository root), the
// environment. Tables merge, arrays replace, but disabled and required unite,
// and a project adds to paths. The project's is read fully if the operator trusts
// it as it is now; see [TrustOptions].
//
// The error joins one [*Error] for each mistake.
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
		src, err := readConfigFile(file.real, file.shown)
		if err != nil {
			return nil, nil, err
		}
		if file.project {
			trust(c, file, src)
		}
		if err := c.read(file, src); err != nil {
			return nil, c.warnings, err
		}
	}
	if err := c.environment(o.Getenv); err != nil {
		return nil, c.warnings, err
	}
	c.checkPluginLimits()
	return c, c.warnings, nil
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

// LimitsOf returns the limits that hold for the plugin: the lower ones of the
// host's and its own.
func (c *Config) LimitsOf(name string) LimitsConfig {
	limits := c.Limits
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
		{"steps", "steps", limits.Steps != c.Limits.Steps},
		{"memory", "memory", limits.Memory != c.Limits.Memory},
		{"time", "timeout", limits.Timeout != c.Limits.Timeout},
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
		return nil, errorAt(Place{}, "E0604", "no plugins: got no PATH, no [plugins] paths in %s, no ./plugins and no ./*.star "+
			"(name some: starhost eval PATH; or begin one: starhost new plugin NAME)", ConfigName)
	}
	return paths, nil
}

// Select returns which of the found plugins are used and which are disabled, in
// the order given. What the project's config says of single plugins takes effect
// here, for plugins inside the project's folder alone; so flags must be applied
// after it. Names in the config that no plugin bears are warned of, unless the
// plugins were named by arguments.
func (c *Config) Select(found []*Source) (used, disabled []*Source, warnings []Warning) {
	c.warnings = nil
	own := sync.OnceValue(func() map[string]bool { // seldom asked for
		own := make(map[string]bool, len(found))
		for _, s := range found {
			own[s.Name] = s.within(c.project)
		}
		return own
	})
	byName := slices.ContainsFunc(found, (*Source).named)
	project := c.release(own, byName)
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
		c.checkNames(own())
	}
	return used, disabled, c.warnings
}

// release applies what the project says of its own plugins, and returns its
// enabled and disabled ones. Names that no plugin bears it warns of unless some were
// asked for byName.
func (c *Config) release(names func() map[string]bool, byName bool) (project PluginsConfig) {
	if len(c.held) == 0 {
		return project
	}
	own := names()
	refuse := func(g given, name string) {
		if _, found := own[name]; found { // it would hold if the project were trusted
			c.ignore(g, "%s is no plugin of this project", name)
		} else if !byName {
			c.warn(g.place, "%s: no plugin is named %s%s", toml.Key(g.key), name, didYouMean(name, slices.DeleteFunc(sortedKeys(own), func(name string) bool { return !own[name] })))
		}
	}
	for _, g := range c.held {
		if g.key[0] == "plugin" {
			if name := g.key[1]; own[name] {
				c.set(g) // its type was checked when it was held
			} else {
				refuse(g, name)
			}
			continue
		}
		list, _ := texts(g.value) // checked when it was held
		for _, name := range list {
			switch {
			case !own[name]:
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
	if len(project.Enabled) > 0 && s.within(c.project) {
		enabled = project.Enabled
	}
	if slices.Contains(c.Plugins.Disabled, s.Name) || slices.Contains(project.Disabled, s.Name) {
		return false
	}
	return len(enabled) == 0 || s.named() || slices.Contains(enabled, s.Name)
}

// checkNames warns of names that no plugin bears.
func (c *Config) checkNames(found map[string]bool) {
	check := func(name string, key ...string) {
		if _, ok := found[name]; !ok {
			c.warn(c.Place(key...), "%s: no plugin is named %s%s", toml.Key(key[:2]), name, didYouMean(name, sortedKeys(found)))
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
		own, holds := c.Plugin[name].Limits, c.LimitsOf(name)
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
