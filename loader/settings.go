package loader

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/timetext"
)

// A setting is a key that a config file may have.
type setting struct {
	key   []string // the parts of the setting's name; "*" stands for any name
	about Key      // the description, without what [Keys] adds
	right projectRight
	access
}

// row returns a setting. Capitals in its name stand for any name, builtIn is the built-in value as TOML or
// "", and doc describes the setting.
func row(name string, right projectRight, field access, builtIn, example, doc string) *setting {
	key := strings.Split(name, ".")
	for i, part := range key {
		if part == strings.ToUpper(part) {
			key[i] = "*"
		}
	}
	return &setting{key, Key{Name: name, Default: builtIn, Example: example, Doc: doc}, right, field}
}

// An access reads and writes a setting in a config.
type access struct {
	// set checks the value, and stores it in the config. The error says which values are valid.
	set func(*Config, layerSetting) error
	// get returns the value of a key without "*", in a type that [settingValue] accepts. It returns nil for a
	// value that follows from another key.
	get func(c *Config, key []string) any
}

// A projectRight says when a project's config may make a setting.
type projectRight int

const (
	ifTrusted      projectRight = iota // only if the project is trusted
	always                             // for all plugins; the setting itself bounds the value
	ownPlugins                         // for the project's plugins; for all plugins if the project is trusted
	ownLimits                          // for the project's plugins; only lower values if the project is untrusted
	onlyOwnPlugins                     // for the project's plugins, trusted or not
	ownFolder                          // in its folder for the project's plugins; anywhere if the project is trusted
	userOnly                           // never, because it is the user's
	managedOnly                        // never, and the user's config neither
)

// coreSettings returns the keys about plugins, prompts and tools.
func coreSettings() []*setting {
	return []*setting{
		row("plugins.paths", always, access{setPaths, getPaths},
			`[]`, `plugins.paths = ["plugins", "../ops/plugins"]`,
			"The paths of plugins: .star files, plugin folders, and folders that contain these, relative to the config file. Without any path starhost uses ./plugins, else ./*.star. A project adds to the user's paths; if you do not trust it, it adds only paths in its folder."),
		row("plugins.enabled", onlyOwnPlugins, list(func(c *Config, _ string) *[]string { return &c.Plugins.Enabled }),
			`[]`, `plugins.enabled = ["oncall", "policy"]`,
			"The plugins to use; an empty list means all that starhost finds. starhost always uses a plugin that a PATH argument names. In a project's file, the list chooses among the project's plugins and leaves all others on."),
		row("plugins.disabled", onlyOwnPlugins, union(func(c *Config) *[]string { return &c.Plugins.Disabled }),
			`[]`, `plugins.disabled = ["incident"]`,
			"The plugins not to use. It wins over everything else. The files of all layers add to the list."),
		row("plugins.required", always, union(func(c *Config) *[]string { return &c.Plugins.Required }),
			`[]`, `plugins.required = ["policy"]`,
			"The plugins that must run. If one is missing, each command that enforces decisions refuses to work. The files of all layers add to the list. "+
				"`check`, `eval`, `list`, `test`, `bench` and `repl` work without a listed plugin if their PATHs leave it out."),
		row("libraries.NAME", ownFolder, access{setLibrary, func(c *Config, key []string) any { return c.Libraries[key[1]].Shown }},
			"", `libraries.lib = "lib"`,
			`The folder behind load("@NAME//FILE", ...), relative to the config file.`),
		row("plugin.NAME.mode", onlyOwnPlugins, value(parseWord(modeEnforce, modeWarn), func(c *Config, name string) *string { return &c.PluginOf(name).Mode }),
			`"enforce"`, `plugin.policy.mode = "warn"`,
			"warn: starhost does not enforce the plugin's decisions (deny, ask, approve, respond, modify, abort). It logs them as \"would deny\" and so on, so that you can try out a policy."),
		row("plugin.NAME.limits.steps", onlyOwnPlugins, limit(parseSteps, func(c *Config, name string) *uint64 { return &c.PluginOf(name).Limits.Steps }),
			"", `plugin.oncall.limits.steps = 200_000`,
			"As limits.steps, for one plugin. The lower of the two applies."),
		row("plugin.NAME.limits.memory", onlyOwnPlugins, inBytes(limit(parseMemory, func(c *Config, name string) *uint64 { return &c.PluginOf(name).Limits.Memory })),
			"", `plugin.oncall.limits.memory = "16MiB"`,
			"As limits.memory, for one plugin. The lower of the two applies."),
		row("plugin.NAME.limits.timeout", onlyOwnPlugins, limit(parseDuration, func(c *Config, name string) *time.Duration { return &c.PluginOf(name).Limits.Timeout }),
			"", `plugin.oncall.limits.timeout = "500ms"`,
			"As limits.timeout, for one plugin. The lower of the two applies."),
		row("plugin.NAME.KEY", ownPlugins, access{setPluginValue, func(c *Config, key []string) any { return c.PluginOf(key[1]).Values[key[2]].V }},
			"", `plugin.oncall.team = "checkout"`,
			"A setting that the plugin reads as config.KEY. The plugin declares it in plugin(config = {...}), with a default of the right type. Tables merge."),
		row("grants.NAME", ifTrusted, access{setGrants, func(c *Config, key []string) any { return c.Grants[key[1]] }},
			"", `grants.oncall = ["fs.read:runbooks/**", "env:CLUSTER"]`,
			"The permissions that the plugin gets if it declares them. By default a plugin gets none. "+
				"grants.host is not for a plugin: with http:HOST there, a reference that a user types may lead to an address that is not public."),
		row("secrets.NAME.file", ifTrusted, access{setSecretFile, func(c *Config, key []string) any { return ensureEntry(c.Secrets, key[1]).File.Shown }},
			"", `secrets.PAGER_TOKEN.file = "/run/secrets/pager"`,
			"The file that contains the secret. If no key configures a secret, starhost reads the environment variable NAME, or the file that the variable NAME_FILE names."),
		row("secrets.NAME.command", ifTrusted, inFolder(
			list(func(c *Config, name string) *[]string { return &ensureEntry(c.Secrets, name).Command }),
			func(c *Config, name string) *string { return &c.Secrets[name].Dir },
		),
			"", `secrets.PAGER_TOKEN.command = ["pass", "show", "pager"]`,
			"The program that prints the secret, with its arguments. It runs in the folder of the config."),
		row("limits.steps", ownLimits, hostLimit(parseSteps, func(c *LimitsConfig) *uint64 { return &c.Steps }),
			`1_000_000`, `limits.steps = 500_000`,
			"The most interpreter steps of a load, and of each call of a handler."),
		row("limits.memory", ownLimits, inBytes(hostLimit(parseMemory, func(c *LimitsConfig) *uint64 { return &c.Memory })),
			`"64MiB"`, `limits.memory = "32MiB"`,
			"The most bytes that a load, or a call of a handler, may allocate."),
		row("limits.timeout", ownLimits, hostLimit(parseDuration, func(c *LimitsConfig) *time.Duration { return &c.Timeout }),
			`"2s"`, `limits.timeout = "1s"`,
			"The most time of a load, and of each call of a handler, without effects."),
		row("limits.event", ownLimits, eventLimit(hostLimit(parseSteps, func(c *LimitsConfig) *uint64 { return &c.Event })),
			"", `limits.event = 5_000_000`,
			"The most interpreter steps of all hooks of one plugin within one event. The default is ten times the plugin's limits.steps. An event takes at most ten times limits.timeout, with effects."),
		row("limits.source", ownLimits, inBytes(hostLimit(parseSize, func(c *LimitsConfig) *int64 { return &c.Source })),
			`"256KiB"`, `limits.source = "1MiB"`,
			"The most bytes of one .star file."),
		row("limits.output", ownLimits, inBytes(hostLimit(parseSize, func(c *LimitsConfig) *int64 { return &c.Output })),
			`"1MiB"`, `limits.output = "64KiB"`,
			"The most bytes that a load, or a call of a handler, may print."),
		row("limits.rounds", ifTrusted, value(parseCount[int](1), func(c *Config, _ string) *int { return &c.Model.Rounds }),
			`25`, `limits.rounds = 10`,
			"The most requests with tools in a turn. After these, starhost makes one more request without tools, so that there is an answer."),
		row("limits.answer", ifTrusted, inBytes(value(parseSize, func(c *Config, _ string) *int64 { return &c.Model.Answer })),
			`"4MiB"`, `limits.answer = "1MiB"`,
			"The most bytes of one answer of a model: text, reasoning, and the arguments of tool calls."),
		row("prompt.dedup", always, value(parseWord("session", "prompt"), func(c *Config, _ string) *string { return &c.Prompt.Dedup }),
			`"session"`, `prompt.dedup = "prompt"`,
			"session: starhost sends a fragment once in a session. prompt: starhost sends a fragment once in each prompt."),
		row("prompt.render", always, value(parseWord(fragments.Renderings()...), func(c *Config, _ string) *string { return &c.Prompt.Render }),
			`"plain"`, `prompt.render = "markdown"`,
			"The format of fragments in the prompt."),
		row("prompt.max_bytes", always, inBytes(value(parseSize, func(c *Config, _ string) *int64 { return &c.Prompt.MaxBytes })),
			`"1MiB"`, `prompt.max_bytes = "512KiB"`,
			"The most text of all fragments of a turn. If there is more, starhost drops the fragments with the highest priority number first."),
		row("prompt.max_fragment", always, inBytes(value(parseSize, func(c *Config, _ string) *int64 { return &c.Prompt.MaxFragment })),
			`"256KiB"`, `prompt.max_fragment = "64KiB"`,
			"The most text of one fragment."),
		row("prompt.max_plugin", always, inBytes(value(parseSize, func(c *Config, _ string) *int64 { return &c.Prompt.MaxPlugin })),
			`"512KiB"`, `prompt.max_plugin = "128KiB"`,
			"The most text of one plugin's fragments."),
		row("prompt.max_attachments", always, value(parseCount[int](1), func(c *Config, _ string) *int { return &c.Prompt.MaxAttachments }),
			`20`, `prompt.max_attachments = 5`,
			"The most attachments."),
		row("prompt.max_attachment", always, inBytes(value(parseSize, func(c *Config, _ string) *int64 { return &c.Prompt.MaxAttachment })),
			`"8MiB"`, `prompt.max_attachment = "4MiB"`,
			"The most data of one attachment."),
		row("prompt.max_pixels", always, value(parseCount[int64](1), func(c *Config, _ string) *int64 { return &c.Prompt.MaxPixels }),
			`40_000_000`, `prompt.max_pixels = 20_000_000`,
			"The most pixels of an image: its width times its height."),
		row("prompt.max_tokens", always, value(parseCount[int](0), func(c *Config, _ string) *int { return &c.Prompt.MaxTokens }),
			`0`, `prompt.max_tokens = 100_000`,
			"The most tokens of the text of all fragments, by an estimate; 0 means no bound."),
		row("tools.allow", ifTrusted, value(parseGlobs, func(c *Config, _ string) *[]string { return &c.Tools.Allow }),
			`["*"]`, `tools.allow = ["memory_*", "who_is_on_call"]`,
			"Globs on the names of the tools that starhost offers."),
		row("tools.deny", ifTrusted, value(parseGlobs, func(c *Config, _ string) *[]string { return &c.Tools.Deny }),
			`[]`, `tools.deny = ["delete_*"]`,
			"Globs on the names of the tools that starhost does not offer. They win over tools.allow."),
		row("tools.max_result", ifTrusted, inBytes(value(parseSize, func(c *Config, _ string) *int64 { return &c.Tools.MaxResult })),
			`"256KiB"`, `tools.max_result = "1MiB"`,
			"The most bytes of a tool's result that the model gets, also of a failure's message. starhost cuts a longer result and says so in its last line."),
	}
}

// value returns the access to a field in the table that the second part of the key names.
func value[T any](parse func(any) (T, error), field func(*Config, string) *T) access {
	set := func(c *Config, g layerSetting) error {
		v, err := parse(g.value)
		if err != nil {
			return err
		}
		*field(c, g.name()) = v
		return nil
	}
	return access{set, func(c *Config, key []string) any { return *field(c, key[1]) }}
}

// kindField returns the access to a text in [kinds.NAME].
func kindField(parse func(any) (string, error)) access {
	set := func(c *Config, g layerSetting) error {
		text, err := parse(g.value)
		if err != nil {
			return err
		}
		if c.Kinds[g.name()] == nil {
			c.Kinds[g.name()] = map[string]string{}
		}
		c.Kinds[g.name()][g.key[2]] = text
		return nil
	}
	return access{set, func(c *Config, key []string) any { return c.Kinds[key[1]][key[2]] }}
}

// inFolder returns an access that also stores the folder of the config that sets a command, because the
// command runs there.
func inFolder(a access, folder func(*Config, string) *string) access {
	assign := a.set
	a.set = func(c *Config, g layerSetting) error {
		err := assign(c, g)
		if err == nil {
			*folder(c, g.name()) = g.layer.folder()
		}
		return err
	}
	return a
}

// errIgnored means that the config as a whole does not get a setting: either a warning says that starhost
// ignores the setting, or only the project's plugins get it.
var errIgnored = errors.New("ignored")

// limit returns the access to a limit, which an untrusted project may only lower.
func limit[T cmp.Ordered](parse func(any) (T, error), field func(*Config, string) *T) access {
	a := value(parse, field)
	assign := a.set
	a.set = func(c *Config, g layerSetting) error {
		v, err := parse(g.value)
		if f := field(newConfig(), g.name()); err == nil && g.layer.bundle != "" && tighter(*f, v) != v {
			return fmt.Errorf("at most %v, the default: only the managed config of the machine raises a limit", *f)
		}
		if f := field(c, g.name()); err == nil && g.layer.untrusted() && tighter(*f, v) != v {
			c.ignore(g, "a project that is not trusted can only lower limits, %v applies", *f)
			return errIgnored
		}
		return assign(c, g)
	}
	return a
}

// eventLimit returns the access to limits.event, whose value follows from limits.steps until a config sets
// it.
func eventLimit(a access) access {
	assign := a.set
	a.set = func(c *Config, g layerSetting) error {
		if n, err := parseSteps(g.value); err == nil && g.layer.bundle != "" && n > newConfig().Limits.EventSteps() {
			return fmt.Errorf("at most %v, the default: only the managed config of the machine raises a limit", newConfig().Limits.EventSteps())
		} else if err == nil && g.layer.untrusted() && n > c.Limits.EventSteps() {
			c.ignore(g, "a project that is not trusted can only lower limits, %v applies", c.Limits.EventSteps())
			return errIgnored
		}
		return assign(c, g)
	}
	get := a.get
	a.get = func(c *Config, key []string) any {
		if c.Limits.Event == 0 {
			return nil
		}
		return get(c, key)
	}
	return a
}

// hostLimit returns the access to a limit in [limits]. The limits of a project apply to the project's own
// plugins only.
func hostLimit[T cmp.Ordered](parse func(any) (T, error), field func(*LimitsConfig) *T) access {
	a := limit(parse, func(c *Config, _ string) *T { return field(&c.Limits) })
	assign := a.set
	a.set = func(c *Config, g layerSetting) error {
		if !g.layer.project {
			return assign(c, g)
		}
		own := newConfig()
		own.Limits = c.Limits
		if err := assign(own, g); err != nil {
			c.warnings = append(c.warnings, own.warnings...)
			return err
		}
		*field(&c.projectLimits.LimitsConfig) = *field(&own.Limits)
		c.projectLimits.places[g.key[1]] = g.place
		return errIgnored
	}
	return a
}

// inBytes returns an access whose get returns a number of bytes with its unit.
func inBytes(a access) access {
	get := a.get
	a.get = func(c *Config, key []string) any { return withUnit(settingValue(get(c, key)).(int64)) }
	return a
}

// inDays returns an access whose get returns a time span in days, if the days are whole.
func inDays(a access) access {
	get := a.get
	a.get = func(c *Config, key []string) any { return timetext.FormatSpan(get(c, key).(time.Duration)) }
	return a
}

// withoutPassword returns an access whose get hides the password of a URL.
func withoutPassword(a access) access {
	get := a.get
	a.get = func(c *Config, key []string) any {
		text := get(c, key).(string)
		if u, err := url.Parse(text); err == nil && u.User != nil {
			return u.Redacted()
		}
		return text
	}
	return a
}

// list returns the access to a field that is a list of strings.
func list(field func(*Config, string) *[]string) access { return value(parseTexts, field) }

// union returns the access to a list of names that each layer adds to. Each name has a place.
func union(field func(*Config) *[]string) access {
	set := func(c *Config, g layerSetting) error {
		names, err := parseTexts(g.value)
		if err != nil {
			return err
		}
		for _, name := range names {
			if f := field(c); !slices.Contains(*f, name) {
				*f = append(*f, name)
			}
			c.places[append(toml.Key(g.key), name).String()] = g.place
		}
		return nil
	}
	return access{set, func(c *Config, _ []string) any { return *field(c) }}
}

// setGrants sets the permissions of a plugin. If a project sets them, they are for the project's own plugins.
func setGrants(c *Config, g layerSetting) error {
	permissions, err := parseTexts(g.value)
	if err != nil {
		return err
	}
	if _, err := effects.ParseGrants(permissions); err != nil {
		return err
	}
	if g.layer.project {
		c.projectGrants[g.name()] = projectGrant{permissions, g.place}
		return nil
	}
	c.Grants[g.name()] = permissions
	return nil
}

func setLibrary(c *Config, g layerSetting) error {
	folder, err := parseText(g.value)
	if err != nil {
		return err
	}
	library, err := g.path(folder)
	if err != nil {
		return err
	}
	if g.layer.bundle != "" && !isInside(g.layer.folder(), library.Real) {
		return fmt.Errorf("a folder inside of the bundle")
	}
	if g.layer.untrusted() {
		if _, used := c.Libraries[g.name()]; used {
			c.ignore(g, "the user's config has a library of this name")
			return errIgnored
		}
		if !isInside(g.layer.folder(), library.Real) {
			c.ignore(g, "%s leaves the project's folder", folder)
			return errIgnored
		}
	}
	c.Libraries[g.name()], c.ownLibraries[g.name()] = library, g.layer.untrusted()
	return nil
}

func setSecretFile(c *Config, g layerSetting) error {
	file, err := parseText(g.value)
	if err != nil {
		return err
	}
	ensureEntry(c.Secrets, g.name()).File, err = g.path(file)
	return err
}

// setPaths sets the paths of plugins. A project adds its paths to those of others; an untrusted project may
// add only paths in its own folder.
func setPaths(c *Config, g layerSetting) error {
	names, err := parseTexts(g.value)
	if err != nil {
		return err
	}
	var paths []Path
	for _, name := range names {
		p, err := g.path(name)
		switch {
		case err != nil:
			return err
		case g.layer.bundle != "" && !isInside(g.layer.folder(), p.Real):
			return fmt.Errorf("paths inside of the bundle")
		case g.layer.untrusted() && !isInside(filepath.Dir(g.layer.real), p.Real):
			c.ignore(g, "%s leaves the project's folder", name)
		default:
			paths = append(paths, p)
		}
	}
	if g.layer.managed && c.managed != nil {
		return nil // ManagedPaths returns the managed paths
	}
	if g.layer.project || g.layer.managed { // bundles have paths, too
		paths = append(slices.Clip(c.Plugins.Paths), paths...)
	}
	c.Plugins.Paths = paths
	return nil
}

func getPaths(c *Config, _ []string) any {
	all := slices.Concat(c.ManagedPaths(), c.Plugins.Paths)
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Shown
	}
	return names
}

// path returns the path that name means in a config file. Paths are relative to the file.
func (g layerSetting) path(name string) (Path, error) {
	p := NewPath(filepath.Dir(g.layer.real), name)
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		if g.layer.managed {
			return p, fmt.Errorf("a path without ~: the managed config is for all users")
		}
		if g.layer.home == "" {
			return p, fmt.Errorf("a path without ~: HOME is not set")
		}
		p.Real = filepath.Join(g.layer.home, filepath.FromSlash(rest))
	} else if !filepath.IsAbs(name) {
		p.Shown = path.Join(path.Dir(g.layer.shown), p.Shown)
	}
	p.Place, p.Project, p.Managed = g.place, g.layer.project, g.layer.managed
	return p, nil
}

// setPluginValue sets a value that a plugin declares; tables merge.
func setPluginValue(c *Config, g layerSetting) error {
	v, err := plainValue(g.value)
	if err != nil {
		return err
	}
	p, key := c.PluginOf(g.name()), g.key[2]
	if p.Values == nil {
		p.Values = map[string]Value{}
	}
	p.Values[key] = Value{V: mergeValues(p.Values[key].V, v), Place: g.place}
	return nil
}

// mergeValues returns v. If v and old are both tables, it returns a table that also has the keys of old that
// v does not have.
func mergeValues(old, v any) any {
	under, ok := old.(map[string]any)
	over, both := v.(map[string]any)
	if !ok || !both {
		return v
	}
	m := make(map[string]any, len(under)+len(over))
	maps.Copy(m, under)
	for key, v := range over {
		m[key] = mergeValues(m[key], v)
	}
	return m
}

// wrongType returns an error that names the value of a setting, and says which values are valid.
func wrongType(at Place, key []string, got any, want string) *Error {
	return errorAt(at, "E0603", "%s: got %s, want %s", toml.Key(key), describe(got), want)
}

// describe returns the text of a short value, or the type of a long one.
func describe(v any) string {
	switch v := v.(type) {
	case string:
		if len(v) > 40 {
			return "a string"
		}
		return strconv.Quote(v)
	case bool, int64, float64:
		return fmt.Sprint(v)
	case map[string]any:
		return "a table"
	case []any, []map[string]any:
		return "a list"
	}
	return "a date or time"
}

func parseText(v any) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	return "", errors.New("a string")
}

// parseURL parses the URL of a server.
func parseURL(v any) (string, error) {
	s, _ := v.(string)
	if u, err := url.Parse(s); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil {
		return s, nil
	}
	return "", errors.New("a URL with http or https, without a user")
}

// storeForms are the forms of the URLs of databases.
var storeForms = []string{"sqlite:", "sqlite:PATH", "postgres://...", "llm:PATH", "none"}

// parseStore parses the URL of the database of sessions. The error hides the value, because it may
// contain a password.
func parseStore(v any) (string, error) {
	s, _ := v.(string)
	for _, form := range storeForms {
		if scheme := strings.TrimRight(form, "PATH."); s == form || scheme != form && len(s) > len(scheme) && strings.HasPrefix(s, scheme) {
			return s, nil
		}
	}
	return "", hiddenValueError(errtext.Or(storeForms))
}

// A hiddenValueError says which values are valid, and does not show the wrong one.
type hiddenValueError string

func (p hiddenValueError) Error() string { return string(p) }

// parseSecretName parses the name of a secret. The error hides the value, because it may be the
// secret itself.
func parseSecretName(v any) (string, error) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
	name, _ := v.(string)
	if name == "" || len(name) > 64 || strings.Trim(name, letters) != "" {
		return "", hiddenValueError("the name of a secret, 1 to 64 of A-Z 0-9 _")
	}
	return name, nil
}

func parseTexts(v any) ([]string, error) {
	items, ok := v.([]any)
	if !ok {
		return nil, errors.New("a list of strings")
	}
	out := make([]string, len(items))
	for i, item := range items {
		if out[i], ok = item.(string); !ok {
			return nil, fmt.Errorf("a list of strings (item %d is %s)", i+1, describe(item))
		}
	}
	return out, nil
}

// parseGlobs parses a list of globs on names.
func parseGlobs(v any) ([]string, error) {
	list, err := parseTexts(v)
	for i, glob := range list {
		if _, err := path.Match(glob, ""); err != nil {
			return nil, fmt.Errorf("a list of globs, as restart_* (item %d is %q)", i+1, glob)
		}
	}
	return list, err
}

func parseWord(words ...string) func(any) (string, error) {
	return func(v any) (string, error) {
		s, _ := v.(string)
		if slices.Contains(words, s) {
			return s, nil
		}
		return "", fmt.Errorf("one of %s%s", strings.Join(words, ", "), near.DidYouMean(s, words))
	}
}

// parseCount returns a function that parses whole numbers of at least least.
func parseCount[T int | int64 | uint64](least int64) func(any) (T, error) {
	return func(v any) (T, error) {
		if n, ok := v.(int64); ok && n >= least {
			return T(n), nil
		}
		return 0, fmt.Errorf("a whole number from %d", least)
	}
}

var parseSteps = parseCount[uint64](1)

func parseMemory(v any) (uint64, error) {
	n, err := parseSize(v)
	return uint64(n), err
}

// units are powers of two: 1 MB has two meanings, 1 MiB has one.
var units = []struct {
	name  string
	shift int
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"B", 0}}

// ParseSize parses a number of bytes of the command line: 1048576 or 1MiB.
func ParseSize(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return parseSize(n)
	}
	return parseSize(text)
}

// parseSize parses a number of bytes of at least 1, such as 1048576 or "1MiB".
func parseSize(v any) (int64, error) {
	if n, ok := v.(int64); ok && n > 0 {
		return n, nil
	}
	s, _ := v.(string)
	for _, unit := range units {
		digits, ok := strings.CutSuffix(s, unit.name)
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if ok && err == nil && n > 0 && n <= math.MaxInt64>>unit.shift {
			return n << unit.shift, nil
		}
	}
	return 0, errors.New(`bytes from 1, as 1048576 or "1MiB" (units B, KiB, MiB, GiB)`)
}

// withUnit returns the shortest text of a number of bytes that parseSize accepts.
func withUnit(n int64) any {
	for _, unit := range slices.Backward(units[:3]) {
		if n > 0 && n%(1<<unit.shift) == 0 {
			return strconv.FormatInt(n>>unit.shift, 10) + unit.name
		}
	}
	return n
}

// parseDuration parses a time span above 0.
func parseDuration(v any) (time.Duration, error) {
	s, _ := v.(string)
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return d, nil
	}
	return 0, errors.New(`a time span over 0, as "500ms" or "2s"`)
}

// parseFragmentStore parses the setting that says where fragments are stored.
func parseFragmentStore(v any) (string, error) {
	s, ok := v.(string)
	if ok && (s == "" || strings.HasPrefix(s, "llm:") && len(s) > len("llm:")) {
		return s, nil
	}
	return "", errors.New(`llm:PATH, or "" for the database of store.url`)
}

// parseSpan parses a time span that may be in days.
func parseSpan(v any) (time.Duration, error) {
	s, _ := v.(string)
	d, err := timetext.ParseSpan(s)
	if err != nil {
		return 0, errors.New(`a time span over 0, as "90d" or "12h"`)
	}
	return d, nil
}

// parsePins parses a list of patterns of files in a project.
func parsePins(v any) ([]string, error) {
	patterns, err := parseTexts(v)
	for _, pattern := range patterns {
		if err == nil {
			err = NewLibrary("", Path{}, 0).checkPattern(pattern)
		}
	}
	if err != nil {
		return nil, errors.New(`a list of globs on files in the project, as ["srv/**"]`)
	}
	return patterns, nil
}
