package loader

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
)

// ConfigName is the name of a project's config file.
const ConfigName = "starhost.toml"

// A Config has the settings of all layers. The caller may change its fields, so that flags win over
// files.
type Config struct {
	Plugins PluginsConfig
	// Libraries are the folders behind load("@NAME//..."), by NAME.
	Libraries map[string]Path
	// Plugin has the settings of each plugin, by the plugin's name; see [Config.PluginOf].
	Plugin map[string]*PluginConfig
	// Grants are the permissions that the operator grants, by plugin; see [Config.GrantsOf].
	Grants map[string][]string
	// Secrets are the sources of secrets, by name. A secret that is not listed comes from the
	// environment variable of its name, or from the file that NAME_FILE names.
	Secrets map[string]*SecretConfig
	// Limits bound the loading of a plugin and each call of a handler; see [Config.LimitsOf]. The limits of a
	// project are not here, because they apply to the project's own plugins only.
	Limits LimitsConfig
	Prompt PromptConfig
	Tools  ToolsConfig
	Model  ModelConfig
	Store  StoreConfig
	Log    LogConfig
	// Shell are runners, as their first words, that count as harmless for shell.parse and shell.runs.
	Shell []string
	// Kinds describe tools that no agent's table has, by the tool's name. A tool has the kind of its calls
	// under "kind", and under command, paths and so on the places of these fields in its arguments.
	Kinds map[string]map[string]string
	// MCP are servers whose tools starhost offers, by the prefix of the tools' names.
	MCP map[string]*MCPConfig
	// Processes are programs that hook events, by NAME of their plugins process-NAME.
	Processes map[string]*ProcessConfig
	Serve     ServeConfig
	// Bundles are the bundles that this machine keeps current, by NAME; only the managed config has any.
	Bundles map[string]*BundleConfig
	// Status is the file in which starhost sync writes what it did. The bundles are beside it.
	Status Path
	// Pins are globs on files of the project. Trust pins these files, because commands of the config run
	// them.
	Pins []string

	places   map[string]Place // by toml.Key.String(); for an element of a united list, by both
	warnings []Warning
	project  string         // absolute folder of the project layer, "" without one
	unread   string         // path of a project's config that LoadConfig ignores for a mistake; or ""
	unreadAt Place          // the place of the mistake
	caseRoot string         // the folder that // means in the config of a golden case: see [Config.ShareFiles]
	pending  []layerSetting // settings of the project for single plugins, until Select finds the plugins

	layers  map[string]string // names of layers, by Place.File
	found   []layerSetting    // the settings that readManaged reads from the managed config
	managed *managedLayer     // nil without a managed config

	ignoredGrants map[string]projectGrant // grants of an untrusted project, by plugin
	untrusted     string                  // why the project of ignoredGrants is not trusted
	ownLibraries  map[string]bool         // libraries of an untrusted project, for its own plugins
	projectGrants map[string]projectGrant // grants of a trusted project, by plugin
	projectLimits projectLimits
	options       *ConfigOptions // the options of LoadConfig; nil for a config that a caller made
	projectFile   string         // the real path of the project's file, "" without one
	projectShown  string         // the path of the project's file for messages
	files         []string       // absolute paths of the files that LoadConfig read
	trustedFiles  *trustedFiles  // the files of a trusted project; nil if it is not trusted
}

// A projectGrant has the permissions that a project grants to one of its plugins.
type projectGrant struct {
	permissions []string
	place       Place
}

// PluginsConfig chooses the plugins.
type PluginsConfig struct {
	Paths []Path
	// Enabled are the names of the plugins to use; empty means all.
	Enabled []string
	// Disabled are the names of the plugins not to use; they win over Enabled.
	Disabled []string
	// Required are the names of the plugins without which the host must not work.
	Required []string
}

// PluginConfig is the [plugin.NAME] of one plugin.
type PluginConfig struct {
	// Mode is "enforce", the default, or "warn": starhost only logs the plugin's decisions.
	Mode string
	// Limits are lower limits for this plugin; 0 means the host's limit.
	Limits LimitsConfig
	// Values overlay the defaults that the plugin declares.
	Values map[string]Value
}

// A Value is one setting of a plugin.
type Value struct {
	// V is string, int64, float64 (finite), bool, []any or map[string]any of these.
	V any
	// Place is the place of the key.
	Place Place
}

// PromptConfig is the form of a prompt, with bounds for the fragments of a turn.
type PromptConfig struct {
	// Dedup is "session" or "prompt".
	Dedup string
	// Render is "plain", "xml" or "markdown".
	Render string
	// MaxBytes, MaxFragment and MaxPlugin bound the text of all fragments, of one
	// fragment and of one plugin's fragments, in bytes.
	MaxBytes, MaxFragment, MaxPlugin int64
	// MaxAttachments is a number of attachments, MaxAttachment is in bytes, MaxPixels is the width
	// times the height of an image.
	MaxAttachments           int
	MaxAttachment, MaxPixels int64
	// MaxTokens bounds the text of all fragments; 0 means no bound.
	MaxTokens int
}

// ModelConfig says which language models there are, and bounds their answers.
type ModelConfig struct {
	// Default names the default model; "" means none.
	Default string
	// Timeout bounds the time for one answer, with all attempts.
	Timeout time.Duration
	// Rounds is the most requests of a turn that offer tools.
	Rounds int
	// Answer is the most bytes of an answer.
	Answer int64
	// Endpoints are the endpoints of [model.NAME], by NAME. Load sets their missing fields and checks them.
	Endpoints map[string]*starhost.Endpoint
}

// ServeConfig configures servers.
type ServeConfig struct {
	// ToolRoles are the roles for which programs can register tools.
	ToolRoles []string
}

// ToolsConfig selects the tools that starhost offers, by globs on their names, and bounds their
// results.
type ToolsConfig struct {
	Allow, Deny []string
	// MaxResult is the most bytes of a result that the model gets.
	MaxResult int64
}

// SecretConfig is the source of a secret: a file or the output of a command.
type SecretConfig struct {
	File    Path
	Command []string
	// Dir is the folder that Command runs in: the config's, whose files an operator trusts.
	Dir string
}

// StoreConfig names the database of ctx.store and fragments.
type StoreConfig struct {
	URL       string
	Fragments string        // llm:PATH, or "" for the database at URL
	MaxPlugin int64         // bytes of a plugin's keys and values
	Keep      time.Duration // the age at which contents without an alias expire
}

// MCPConfig is a server whose tools starhost offers: either a program or a URL.
type MCPConfig struct {
	Command []string
	// Dir is the folder that Command runs in: the config's, whose files an operator trusts.
	Dir string
	// Env are the names of the environment variables that the program gets.
	Env []string
	URL string
	// Token is the name of the secret that starhost sends to the URL as a bearer token, or "".
	Token string
	// Approval is "ask" or "auto"; empty means ask.
	Approval string
	// Timeout is the longest time of a call; 0 means one minute.
	Timeout time.Duration
}

// ProcessConfig is a program that hooks events by PicoClaw's protocol.
type ProcessConfig struct {
	Command []string
	// Dir is the folder that Command runs in: the config's.
	Dir string `json:"-"` // no part of [Set.Revision]
	// Env are the names of the environment variables that the program gets.
	Env []string
	// Intercept lists the questions that starhost asks, and Observe the events that it sends.
	Intercept, Observe []string
	// Mode is "enforce", or "warn": starhost only logs the program's decisions.
	Mode string
	// Timeout is the longest time for an answer.
	Timeout time.Duration
}

func newProcessConfig() *ProcessConfig {
	return &ProcessConfig{Intercept: []string{"before_tool"}, Mode: modeEnforce, Timeout: 5 * time.Second}
}

// process returns the settings of the program with a name. If there are none, it adds them.
func (c *Config) process(name string) *ProcessConfig {
	if c.Processes[name] == nil {
		c.Processes[name] = newProcessConfig()
	}
	return c.Processes[name]
}

// A Path is a file or folder that an argument or a config names.
type Path struct {
	// Shown is the path for messages, with "/". It is relative if its author wrote it so.
	Shown string
	// Real is the absolute path.
	Real string
	// Place is the place in the config; zero for an argument.
	Place Place
	// Project is true if a project's config names the path, or if the path is a default. The operator's
	// grants do not apply to plugins at such a path.
	Project bool
	// Managed is true if the managed config names the path.
	Managed bool
}

// NewPath returns the path that name has relative to the folder dir.
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

// ConfigOptions are the places of configs. The zero value reads the project of the current folder
// and no config of the user.
type ConfigOptions struct {
	// Dir is the current folder; "" means ".".
	Dir string
	// File is a config that LoadConfig reads as the user's, instead of the user's and the
	// project's. "" means the file that STARHOST_CONFIG names, if any.
	File string
	// None makes LoadConfig read no file but the managed config.
	None bool
	// Managed is the absolute path of the managed config, whose settings win over all other layers
	// and over changes of the caller; "" means none. LoadConfig returns an error if the file
	// exists, and others than root and the current user may write it.
	Managed string
	// Strict makes LoadConfig return an error for a mistake in the config of an untrusted project. Callers
	// that check or show the config set it. Without Strict, LoadConfig warns of the mistake and ignores the
	// whole file.
	Strict bool
	// Getenv returns environment variables: HOME, XDG_CONFIG_HOME, STARHOST_CONFIG,
	// XDG_STATE_HOME, STARHOST_MODEL, STARHOST_STORE. Nil means an empty environment.
	Getenv func(string) string

	// Try is a bundle that counts as the active one of its name, so that a caller can check it before it
	// is installed, with the managed config around it; the zero value tries none.
	Try TryBundle

	projectFile string // the project's file to read in place of the one that Dir leads to
}

// LoadConfig reads the config. Later layers win: the built-in one, the user's file, the project's
// file ([ConfigName], in Dir or above it up to the repository root), the environment, the managed
// file. Tables merge, and arrays replace others, except that disabled and required unite and a
// project and the managed file add to paths.
// LoadConfig uses all settings of the project only if the operator trusts its current bytes; see
// [TrustOptions]. A project, trusted or not, never disables plugins of the user's config, sets them
// to warn or limits them.
//
// The error joins one [*Error] for each mistake. A mistake in the config of an untrusted project
// is a warning and no error, so that the user's plugins stay in use: see [ConfigOptions.Strict].
// [ErrManaged] is the cause of errors about the managed file.
func LoadConfig(o ConfigOptions) (*Config, []Warning, error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	return o.load(func(c *Config, l *layer, src []byte) { c.trustProject(l, src, o.Getenv) })
}

// load reads all layers. Before it reads the layer of a project, it calls trust, which decides whether the
// operator trusts that layer.
func (o ConfigOptions) load(trust func(c *Config, project *layer, src []byte)) (*Config, []Warning, error) {
	o.Dir = cmp.Or(o.Dir, ".")
	files, err := o.configFiles()
	if err != nil {
		return nil, nil, err
	}
	c := newConfig()
	c.options = &o
	if err := c.readManaged(o.Managed, o.Try); err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		src, unreadable := readConfigFile(file.real, file.shown)
		if file.project {
			c.projectFile, c.projectShown = filepath.Join(file.folder(), ConfigName), file.shown
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
	c.applyManaged()
	c.checkPluginLimits()
	return c, c.warnings, nil
}

// maxQuoted is the most bytes of an error text in a warning.
const maxQuoted = 200

// ignoreFile makes c ignore the config of an untrusted project, and warns of the first mistake in it.
func (c *Config) ignoreFile(l *layer, err error) {
	c.files = append(c.files, l.real)
	c.unread = l.real
	first, ok := errors.AsType[*Error](err)
	if !ok {
		first = errorAt(Place{File: l.shown}, "", "%v", err)
	}
	c.unreadAt = first.Place
	c.warn(first.Place, "%s: this config is ignored, because the project %s", errtext.CutTo(first.Msg, maxQuoted, "..."), l.why)
}

// ParseConfig parses the text of a user's config over the built-in layer. file is the text's name for
// messages. Paths in the text are relative to the folder dir.
func ParseConfig(file, dir string, src []byte) (*Config, []Warning, error) {
	c := newConfig()
	l := layer{shown: file, real: filepath.Join(dir, file)}
	if err := c.read(&l, src); err != nil {
		return nil, c.warnings, err
	}
	c.checkPluginLimits()
	return c, c.warnings, nil
}

// newConfig returns a config that has the built-in settings only.
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
		Tools: ToolsConfig{Allow: []string{"*"}, MaxResult: 256 << 10},
		Serve: ServeConfig{ToolRoles: []string{"default"}},
		Store: StoreConfig{URL: "sqlite:", MaxPlugin: 64 << 20, Keep: 90 * 24 * time.Hour},
		Model: ModelConfig{
			Timeout: 10 * time.Minute, Rounds: 25, Answer: 4 << 20, Endpoints: map[string]*starhost.Endpoint{},
		},
		Log:   LogConfig{Enabled: true, Mask: []string{DefaultMask}, Keep: 30 * 24 * time.Hour, Max: 1 << 30},
		Kinds: map[string]map[string]string{},
		MCP:   map[string]*MCPConfig{},

		Processes: map[string]*ProcessConfig{},
		Bundles:   map[string]*BundleConfig{},
		Status:    Path{Shown: defaultStatus, Real: defaultStatus},

		places: map[string]Place{},
		layers: map[string]string{},

		ignoredGrants: map[string]projectGrant{},
		ownLibraries:  map[string]bool{},
		projectGrants: map[string]projectGrant{},
		projectLimits: projectLimits{places: map[string]Place{}},
	}
}

// PluginOf returns the settings of a plugin, which the caller may change. If there are none, PluginOf adds
// them.
func (c *Config) PluginOf(name string) *PluginConfig { return ensureEntry(c.Plugin, name) }

// pluginOf returns a copy of the settings of a plugin, or the zero value if there are none.
func (c *Config) pluginOf(name string) PluginConfig {
	if p := c.Plugin[name]; p != nil {
		return *p
	}
	return PluginConfig{}
}

// Place returns the place where the last layer makes the setting, or the zero Place for a built-in setting.
// Each name in plugins.disabled and plugins.required has a place of its own: Place("plugins", "required",
// "policy").
func (c *Config) Place(key ...string) Place { return c.places[toml.Key(key).String()] }

func (c *Config) warn(at Place, format string, args ...any) {
	c.warnings = append(c.warnings, Warning{Place: at, Msg: fmt.Sprintf(format, args...)})
}

// ensureEntry returns the table with a name. If there is none, it adds one.
func ensureEntry[T any](tables map[string]*T, name string) *T {
	if tables[name] == nil {
		tables[name] = new(T)
	}
	return tables[name]
}
