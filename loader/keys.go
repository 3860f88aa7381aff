package loader

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// A Key describes one key of the config, for the reference.
type Key struct {
	// Name is the key with its tables: "plugin.NAME.mode". Parts in capitals stand
	// for any name.
	Name string
	// Wants says what a value is: "one of enforce, warn".
	Wants string
	// Default is the built-in value as TOML; "" means none.
	Default string
	// Project says whether the config of a project that is not trusted may set it.
	Project string
	// Doc says what the key does, in sentences.
	Doc string
	// Example is a line of TOML that sets it, with the tables in front of the key.
	Example string
}

// Keys describes all keys of the config, in the order of the reference.
func Keys() []Key {
	keys := slices.Clone(keyDocs)
	for i := range keys {
		s := settingOf(keys[i].Name)
		keys[i].Wants, keys[i].Project = s.wants(), projects[s.right]
	}
	return keys
}

// projects says in words what a project may set.
var projects = map[projectRight]string{
	ifTrusted: "no", userOnly: "no, also once it is trusted", always: "yes", ownPlugins: "for its own plugins",
	ownLimits: "for its own plugins, lower only", onlyOwnPlugins: "for its own plugins, also once it is trusted",
}

// settingOf returns the setting that a key of the reference describes, nil if
// there is none.
func settingOf(name string) *setting {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		if p == strings.ToUpper(p) {
			parts[i] = "*"
		}
	}
	i := slices.IndexFunc(settings, func(s *setting) bool { return slices.Equal(s.key, parts) })
	if i < 0 {
		return nil
	}
	return settings[i]
}

// wants says what a value of the setting is, in the words of the error that meets
// a date, which no setting takes.
func (s *setting) wants() string {
	err := s.set(newConfig(), layerSetting{setting: s, key: s.key, value: time.Time{}, layer: &layer{}})
	if err == nil {
		err = errors.New("any value")
	}
	return err.Error()
}

// keyDocs are the parts of [Keys] that no code knows.
var keyDocs = []Key{
	{
		Name: "plugins.paths", Default: `[]`, Example: `plugins.paths = ["plugins", "../ops/plugins"]`,
		Doc: "Where plugins are: .star files, plugin folders, and folders that hold these, relative to the config file. Without any it is ./plugins, else ./*.star. A project adds to the user's paths; one that is not trusted adds only what lies in its own folder.",
	},
	{
		Name: "plugins.enabled", Default: `[]`, Example: `plugins.enabled = ["oncall", "policy"]`,
		Doc: "The plugins to use; none means all that are found. A plugin that a PATH argument names is used in any case. A project chooses among its own plugins alone.",
	},
	{
		Name: "plugins.disabled", Default: `[]`, Example: `plugins.disabled = ["incident"]`,
		Doc: "The plugins not to use, which wins over everything else. Files of all layers add to it, and that of a project disables its own plugins alone.",
	},
	{
		Name: "plugins.required", Default: `[]`, Example: `plugins.required = ["policy"]`,
		Doc: "The plugins without which nothing that enforces decisions may work. Files of all layers add to it.",
	},
	{
		Name: "libraries.NAME", Example: `libraries.lib = "lib"`,
		Doc: `The folder behind load("@NAME//FILE", ...), relative to the config file.`,
	},
	{
		Name: "plugin.NAME.KEY", Example: `plugin.oncall.team = "checkout"`,
		Doc: "A setting of the plugin's own, which it reads as config.KEY. The plugin declares it in plugin(config = {...}), with a default of the type that is wanted. Tables merge.",
	},
	{
		Name: "plugin.NAME.mode", Default: `"enforce"`, Example: `plugin.policy.mode = "warn"`,
		Doc: "warn: the plugin's denials are logged and not enforced, so that a policy can be rolled out.",
	},
	{
		Name: "plugin.NAME.limits.steps", Example: `plugin.oncall.limits.steps = 200_000`,
		Doc: "As limits.steps, for one plugin. The lower of the two holds.",
	},
	{
		Name: "plugin.NAME.limits.memory", Example: `plugin.oncall.limits.memory = "16MiB"`,
		Doc: "As limits.memory, for one plugin. The lower of the two holds.",
	},
	{
		Name: "plugin.NAME.limits.timeout", Example: `plugin.oncall.limits.timeout = "500ms"`,
		Doc: "As limits.timeout, for one plugin. The lower of the two holds.",
	},
	{
		Name: "grants.NAME", Example: `grants.oncall = ["fs.read:runbooks/**", "env:CLUSTER"]`,
		Doc: "The permissions that the plugin gets, as far as it declares them. Nothing is granted by default. " +
			"grants.host is for the references that users type: with http:HOST they may lead to an address that is not public.",
	},
	{
		Name: "secrets.NAME.file", Example: `secrets.PAGER_TOKEN.file = "/run/secrets/pager"`,
		Doc: "The file that holds the secret. A secret that is not configured is the environment variable of its name, or stands in the file that NAME_FILE names.",
	},
	{
		Name: "secrets.NAME.command", Example: `secrets.PAGER_TOKEN.command = ["pass", "show", "pager"]`,
		Doc: "The program that prints the secret, with its arguments.",
	},
	{
		Name: "limits.steps", Default: `1_000_000`, Example: `limits.steps = 500_000`,
		Doc: "The most interpreter steps of a load, and of each call of a handler. A project sets it for its own plugins alone, and may only lower it until it is trusted.",
	},
	{
		Name: "limits.memory", Default: `"64MiB"`, Example: `limits.memory = "32MiB"`,
		Doc: "The most bytes that a load, or a call of a handler, may allocate. A project sets it for its own plugins alone, and may only lower it until it is trusted.",
	},
	{
		Name: "limits.timeout", Default: `"2s"`, Example: `limits.timeout = "1s"`,
		Doc: "The most time of a load, and of each call of a handler, effects not counted. A project sets it for its own plugins alone, and may only lower it until it is trusted.",
	},
	{
		Name: "limits.event", Example: `limits.event = 5_000_000`,
		Doc: "The most interpreter steps of all hooks of one plugin within one event. Without this key it is ten times the plugin's limits.steps. Ten times limits.timeout is the most time of an event, effects counted. A project sets it for its own plugins alone, and may only lower it until it is trusted.",
	},
	{
		Name: "limits.source", Default: `"256KiB"`, Example: `limits.source = "1MiB"`,
		Doc: "The most bytes of one .star file. A project sets it for its own plugins alone, and may only lower it until it is trusted.",
	},
	{
		Name: "limits.output", Default: `"1MiB"`, Example: `limits.output = "64KiB"`,
		Doc: "The most bytes that a load, or a call of a handler, may print. A project sets it for its own plugins alone, and may only lower it until it is trusted.",
	},
	{
		Name: "prompt.dedup", Default: `"session"`, Example: `prompt.dedup = "prompt"`,
		Doc: "session: a fragment that the session has seen is not sent again. prompt: it is left out only within one prompt.",
	},
	{
		Name: "prompt.render", Default: `"plain"`, Example: `prompt.render = "markdown"`,
		Doc: "How fragments stand in the prompt.",
	},
	{
		Name: "prompt.max_bytes", Default: `"1MiB"`, Example: `prompt.max_bytes = "512KiB"`,
		Doc: "The most text of all fragments of a turn. What is over is dropped by priority.",
	},
	{
		Name: "prompt.max_fragment", Default: `"256KiB"`, Example: `prompt.max_fragment = "64KiB"`,
		Doc: "The most text of one fragment.",
	},
	{
		Name: "prompt.max_plugin", Default: `"512KiB"`, Example: `prompt.max_plugin = "128KiB"`,
		Doc: "The most text of one plugin's fragments.",
	},
	{
		Name: "prompt.max_attachments", Default: `20`, Example: `prompt.max_attachments = 5`,
		Doc: "The most attachments.",
	},
	{
		Name: "prompt.max_attachment", Default: `"8MiB"`, Example: `prompt.max_attachment = "4MiB"`,
		Doc: "The most data of one attachment.",
	},
	{
		Name: "prompt.max_pixels", Default: `40_000_000`, Example: `prompt.max_pixels = 20_000_000`,
		Doc: "The most pixels of an image: its width times its height.",
	},
	{
		Name: "prompt.max_tokens", Default: `0`, Example: `prompt.max_tokens = 100_000`,
		Doc: "The most tokens of all fragments' text, as they are estimated; 0 means no bound.",
	},
	{
		Name: "tools.allow", Default: `["*"]`, Example: `tools.allow = ["memory_*", "who_is_on_call"]`,
		Doc: "Globs on the names of the tools that are offered.",
	},
	{
		Name: "tools.deny", Default: `[]`, Example: `tools.deny = ["delete_*"]`,
		Doc: "Globs on the names of the tools that are not offered, which wins over tools.allow.",
	},
	{
		Name: "model.default", Default: `""`, Example: `model.default = "acme/small"`,
		Doc: "The model to ask where nothing else names one. The environment variable STARHOST_MODEL wins over it.",
	},
	{
		Name: "store.url", Default: `"sqlite:"`, Example: `store.url = "none"`,
		Doc: "Where sessions and fragments are kept. The environment variable STARHOST_STORE wins over it.",
	},
	{
		Name: "mcp.NAME.command", Example: `mcp.github.command = ["github-mcp-server", "stdio"]`,
		Doc: "The program of an MCP server, with its arguments. Its tools are mounted as NAME_TOOL.",
	},
	{
		Name: "mcp.NAME.env", Example: `mcp.github.env = ["GITHUB_TOKEN"]`,
		Doc: "The environment variables that the program gets, by name, beside PATH and LANG.",
	},
	{
		Name: "mcp.NAME.approval", Default: `"ask"`, Example: `mcp.github.approval = "auto"`,
		Doc: "ask: a person must approve each call of the server's tools.",
	},
	{
		Name: "mcp.NAME.url", Example: `mcp.tickets.url = "https://tickets.internal/mcp"`,
		Doc: "Where an MCP server is reached that is no program of this machine, in place of the command.",
	},
	{
		Name: "mcp.NAME.token", Example: `mcp.tickets.token = "TICKETS_TOKEN"`,
		Doc: "The secret, by its name as in secrets.NAME, that the URL gets as a bearer token. It is sent over https, or to this machine, alone.",
	},
}
