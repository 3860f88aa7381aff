package loader

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
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
	project  string         // absolute folder of the project layer, "" without one
	pending  []layerSetting // what the project says of single plugins, until Select knows whose they are

	projectGrants map[string]projectGrant // of a trusted project, by plugin
	projectLimits projectLimits
	files         []string      // that were read, absolute
	trustedFiles  *trustedFiles // the files of a trusted project; nil if it is not trusted
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
	return o.load(func(c *Config, l *layer, src []byte) { c.trustProject(l, src, o.Getenv) })
}

// load reads all layers. trust is asked about that of a project before it counts.
func (o ConfigOptions) load(trust func(c *Config, project *layer, src []byte)) (*Config, []Warning, error) {
	o.Dir = cmp.Or(o.Dir, ".")
	files, err := o.configFiles()
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
func (c *Config) PluginOf(name string) *PluginConfig { return ensureEntry(c.Plugin, name) }

// pluginOf returns the plugin's part of the config as it is, the zero one where there is
// none.
func (c *Config) pluginOf(name string) PluginConfig {
	if p := c.Plugin[name]; p != nil {
		return *p
	}
	return PluginConfig{}
}

// Place returns where the setting was made last, the zero Place for a built-in
// one. Names in plugins.disabled and plugins.required have places of their own:
// Place("plugins", "required", "policy").
func (c *Config) Place(key ...string) Place { return c.places[toml.Key(key).String()] }

func (c *Config) warn(at Place, format string, args ...any) {
	c.warnings = append(c.warnings, Warning{Place: at, Msg: fmt.Sprintf(format, args...)})
}

// ensureEntry returns the table of that name, a new one if there is none.
func ensureEntry[T any](tables map[string]*T, name string) *T {
	if tables[name] == nil {
		tables[name] = new(T)
	}
	return tables[name]
}
