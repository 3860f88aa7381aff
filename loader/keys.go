package loader

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// A Key describes one key of the config, for the reference.
type Key struct {
	// Name is the key with its tables: "plugin.NAME.mode". Parts in capitals stand for any name.
	Name string
	// Wants describes the valid values: "one of enforce, warn".
	Wants string
	// Default is the built-in value as TOML; "" means none.
	Default string
	// Project says when a project's config may set the key, and for which plugins.
	Project string
	// Doc describes the key in sentences.
	Doc string
	// Example is a line of TOML that sets it, with the tables in front of the key.
	Example string
	// Task is the purpose of the key: a title, and a sentence about all keys of the task.
	Task struct{ Title, Doc string }
}

// Keys describes all keys of the config, in the order of the reference.
func Keys() []Key {
	keys := keyDocs()
	for i := range keys {
		s := settingOf(keys[i].Name)
		keys[i].Wants, keys[i].Project = s.wants(), projects[s.right]
		table, _, _ := strings.Cut(keys[i].Name, ".")
		for _, task := range tasks() {
			if slices.Contains(task.tables, table) {
				keys[i].Task.Title, keys[i].Task.Doc = task.title, task.doc
			}
		}
	}
	return keys
}

// projects describes the rights of a project's config in words.
var projects = [...]string{
	ifTrusted: "if you trust it", userOnly: "never", always: "always", ownPlugins: "for its own plugins; if you trust it, for all",
	ownLimits: "for its own plugins; without trust, lower only", onlyOwnPlugins: "for its own plugins",
	ownFolder: "in its folder, for its own plugins; if you trust it, for all",
}

// A task is a purpose for which a user sets keys of the config.
type task struct {
	title, doc string
	tables     []string // the first parts of the keys
}

// tasks returns the tasks. Each table of the config serves one.
func tasks() []task {
	return []task{
		{"Choose plugins", "These keys say which plugins starhost loads, and where their libraries lie.", []string{"plugins", "libraries"}},
		{"Set up a plugin", "These keys give a plugin its settings, try it out with `mode`, and bound it.", []string{"plugin"}},
		{"Grant permissions and secrets", "A plugin reaches nothing outside of the sandbox without a grant. [Permissions](permissions.md) lists what you can grant.", []string{"grants", "secrets", "trust"}},
		{"Bound prompts", "These keys say how fragments become text, when starhost sends a fragment again, and how much fits.", []string{"prompt"}},
		{"Bound plugins and turns", "Work beyond one of these limits fails, and the error names the key.", []string{"limits"}},
		{"Guard calls", "`kinds` lets a guard see what a tool does that no agent's table has. `process` asks a program that is no plugin.", []string{"kinds", "process"}},
		{"Offer tools", "These keys choose the tools that a model gets, and add those of MCP servers.", []string{"tools", "mcp", "serve"}},
		{"Ask models", "`starhost run`, `chat` and `serve --proxy` ask these models. [Run](run.md) describes them.", []string{"model"}},
		{"Keep values and fragments", "`ctx.store`, aliases and `sha256:` references use one database. [Store](store.md) describes it.", []string{"store"}},
		{"Record decisions", "The decision log has a record of each event that a plugin heard. [Replay](replay.md) describes it.", []string{"log", "redact"}},
	}
}

// settingOf returns the setting that a key of the reference describes, or nil.
func settingOf(name string) *setting {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		if p == strings.ToUpper(p) {
			parts[i] = "*"
		}
	}
	i := slices.IndexFunc(settings(), func(s *setting) bool { return slices.Equal(s.key, parts) })
	if i < 0 {
		return nil
	}
	return settings()[i]
}

// wants describes the valid values of the setting. It takes the words from the error for a date,
// because no setting is a date.
func (s *setting) wants() string {
	err := s.set(newConfig(), layerSetting{setting: s, key: s.key, value: time.Time{}, layer: &layer{}})
	if err == nil {
		err = errors.New("any value")
	}
	return err.Error()
}

// keyDocs are the parts of [Keys] that the code does not have elsewhere.
func keyDocs() []Key { return slices.Concat(mainKeyDocs, logKeyDocs()) }

var mainKeyDocs = []Key{
	{
		Name: "plugins.paths", Default: `[]`, Example: `plugins.paths = ["plugins", "../ops/plugins"]`,
		Doc: "The paths of plugins: .star files, plugin folders, and folders that contain these, relative to the config file. Without any path starhost uses ./plugins, else ./*.star. A project adds to the user's paths; if you do not trust it, it adds only paths in its folder.",
	},
	{
		Name: "plugins.enabled", Default: `[]`, Example: `plugins.enabled = ["oncall", "policy"]`,
		Doc: "The plugins to use; an empty list means all that starhost finds. starhost always uses a plugin that a PATH argument names. In a project's file, the list chooses among the project's plugins and leaves all others on.",
	},
	{
		Name: "plugins.disabled", Default: `[]`, Example: `plugins.disabled = ["incident"]`,
		Doc: "The plugins not to use. It wins over everything else. The files of all layers add to the list.",
	},
	{
		Name: "plugins.required", Default: `[]`, Example: `plugins.required = ["policy"]`,
		Doc: "The plugins that must run. If one is missing, each command that enforces decisions refuses to work. The files of all layers add to the list. " +
			"`check`, `eval`, `list`, `test`, `bench` and `repl` work without a listed plugin if their PATHs leave it out.",
	},
	{
		Name: "libraries.NAME", Example: `libraries.lib = "lib"`,
		Doc: `The folder behind load("@NAME//FILE", ...), relative to the config file.`,
	},
	{
		Name: "plugin.NAME.KEY", Example: `plugin.oncall.team = "checkout"`,
		Doc: "A setting that the plugin reads as config.KEY. The plugin declares it in plugin(config = {...}), with a default of the right type. Tables merge.",
	},
	{
		Name: "plugin.NAME.mode", Default: `"enforce"`, Example: `plugin.policy.mode = "warn"`,
		Doc: "warn: starhost does not enforce the plugin's decisions (deny, ask, approve, respond, modify, abort). It logs them as \"would deny\" and so on, so that you can try out a policy.",
	},
	{
		Name: "plugin.NAME.limits.steps", Example: `plugin.oncall.limits.steps = 200_000`,
		Doc: "As limits.steps, for one plugin. The lower of the two applies.",
	},
	{
		Name: "plugin.NAME.limits.memory", Example: `plugin.oncall.limits.memory = "16MiB"`,
		Doc: "As limits.memory, for one plugin. The lower of the two applies.",
	},
	{
		Name: "plugin.NAME.limits.timeout", Example: `plugin.oncall.limits.timeout = "500ms"`,
		Doc: "As limits.timeout, for one plugin. The lower of the two applies.",
	},
	{
		Name: "grants.NAME", Example: `grants.oncall = ["fs.read:runbooks/**", "env:CLUSTER"]`,
		Doc: "The permissions that the plugin gets if it declares them. By default a plugin gets none. " +
			"grants.host is not for a plugin: with http:HOST there, a reference that a user types may lead to an address that is not public.",
	},
	{
		Name: "secrets.NAME.file", Example: `secrets.PAGER_TOKEN.file = "/run/secrets/pager"`,
		Doc: "The file that contains the secret. If no key configures a secret, starhost reads the environment variable NAME, or the file that the variable NAME_FILE names.",
	},
	{
		Name: "secrets.NAME.command", Example: `secrets.PAGER_TOKEN.command = ["pass", "show", "pager"]`,
		Doc: "The program that prints the secret, with its arguments. It runs in the folder of the config.",
	},
	{
		Name: "limits.steps", Default: `1_000_000`, Example: `limits.steps = 500_000`,
		Doc: "The most interpreter steps of a load, and of each call of a handler.",
	},
	{
		Name: "limits.memory", Default: `"64MiB"`, Example: `limits.memory = "32MiB"`,
		Doc: "The most bytes that a load, or a call of a handler, may allocate.",
	},
	{
		Name: "limits.timeout", Default: `"2s"`, Example: `limits.timeout = "1s"`,
		Doc: "The most time of a load, and of each call of a handler, without effects.",
	},
	{
		Name: "limits.event", Example: `limits.event = 5_000_000`,
		Doc: "The most interpreter steps of all hooks of one plugin within one event. The default is ten times the plugin's limits.steps. An event takes at most ten times limits.timeout, with effects.",
	},
	{
		Name: "limits.source", Default: `"256KiB"`, Example: `limits.source = "1MiB"`,
		Doc: "The most bytes of one .star file.",
	},
	{
		Name: "limits.output", Default: `"1MiB"`, Example: `limits.output = "64KiB"`,
		Doc: "The most bytes that a load, or a call of a handler, may print.",
	},
	{
		Name: "limits.rounds", Default: `25`, Example: `limits.rounds = 10`,
		Doc: "The most requests with tools in a turn. After these, starhost makes one more request without tools, so that there is an answer.",
	},
	{
		Name: "limits.answer", Default: `"4MiB"`, Example: `limits.answer = "1MiB"`,
		Doc: "The most bytes of one answer of a model: text, reasoning, and the arguments of tool calls.",
	},
	{
		Name: "prompt.dedup", Default: `"session"`, Example: `prompt.dedup = "prompt"`,
		Doc: "session: starhost sends a fragment once in a session. prompt: starhost sends a fragment once in each prompt.",
	},
	{
		Name: "prompt.render", Default: `"plain"`, Example: `prompt.render = "markdown"`,
		Doc: "The format of fragments in the prompt.",
	},
	{
		Name: "prompt.max_bytes", Default: `"1MiB"`, Example: `prompt.max_bytes = "512KiB"`,
		Doc: "The most text of all fragments of a turn. If there is more, starhost drops the fragments with the highest priority number first.",
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
		Doc: "The most tokens of the text of all fragments, by an estimate; 0 means no bound.",
	},
	{
		Name: "tools.allow", Default: `["*"]`, Example: `tools.allow = ["memory_*", "who_is_on_call"]`,
		Doc: "Globs on the names of the tools that starhost offers.",
	},
	{
		Name: "tools.deny", Default: `[]`, Example: `tools.deny = ["delete_*"]`,
		Doc: "Globs on the names of the tools that starhost does not offer. They win over tools.allow.",
	},
	{
		Name: "tools.max_result", Default: `"256KiB"`, Example: `tools.max_result = "1MiB"`,
		Doc: "The most bytes of a tool's result that the model gets, also of a failure's message. starhost cuts a longer result and says so in its last line.",
	},
	{
		Name: "model.default", Default: `""`, Example: `model.default = "acme/small"`,
		Doc: "The model to ask if no flag and no plugin names another one. The environment variable STARHOST_MODEL wins over it.",
	},
	{
		Name: "model.timeout", Default: `"10m0s"`, Example: `model.timeout = "2m"`,
		Doc: "The most time of one answer of a model, with all tries. starhost also ends an answer after 60 seconds of silence.",
	},
	{
		Name: "model.NAME.base_url", Example: `model.local.base_url = "http://127.0.0.1:11434/v1"`,
		Doc: "The address of an endpoint of language models, in the form that the provider's own client expects: with /v1 for openai and responses, without it for anthropic. The users choose its models as NAME/MODEL. The endpoints openai and anthropic need no base_url; a setting changes it.",
	},
	{
		Name: "model.NAME.api", Default: `"openai"`, Example: `model.local.api = "openai"`,
		Doc: "The protocol of the endpoint: openai (Chat Completions, which most servers have), responses, or anthropic (Messages).",
	},
	{
		Name: "model.NAME.models", Default: `["*"]`, Example: `model.local.models = ["llama3.2", "qwen3"]`,
		Doc: `The models of the endpoint; the first one is its default. starhost refuses other names, unless the list contains "*".`,
	},
	{
		Name: "model.NAME.api_key", Example: `model.local.api_key = "LOCAL_KEY"`,
		Doc: "The name of the secret, as in secrets.NAME, that starhost sends as the key. The endpoints openai and anthropic use OPENAI_API_KEY and ANTHROPIC_API_KEY; others have none by default.",
	},
	{
		Name: "model.NAME.context", Example: `model.local.context = 128_000`,
		Doc: "The most tokens of a request. starhost warns about a prompt that is probably longer.",
	},
	{
		Name: "model.NAME.fallback", Example: `model.local.fallback = ["qwen3", "openai/gpt-x"]`,
		Doc: "The models to ask, in order, if a model does not answer: names of the same endpoint, or NAME/MODEL. Each gets all its tries. starhost never changes the model after the first byte of an answer.",
	},
	{
		Name: "store.url", Default: `"sqlite:"`, Example: `store.url = "none"`,
		Doc: "The database of ctx.store, of aliases and of sha256: ids. The environment variable STARHOST_STORE wins over it. sqlite: is the file starhost/starhost.db in XDG_DATA_HOME; a relative PATH starts at the folder that starhost runs in. starhost opens the database when something first uses it. With none, each use of ctx.store is an error. llm:PATH stands for sqlite: with store.fragments = llm:PATH.",
	},
	{
		Name: "store.fragments", Default: `""`, Example: `store.fragments = "llm:/home/me/.config/io.datasette.llm/logs.db"`,
		Doc: "The database of fragments and their aliases, if it is not that of store.url: logs.db of the program llm, whose path llm logs path shows. llm and starhost then know each other's fragments. starhost makes no such file and removes nothing from it. A relative PATH starts at the folder that starhost runs in.",
	},
	{
		Name: "store.max_plugin", Default: `"64MiB"`, Example: `store.max_plugin = "1MiB"`,
		Doc: "The most bytes of all keys and values of a plugin in ctx.store.",
	},
	{
		Name: "store.keep", Default: `"90d"`, Example: `store.keep = "30d"`,
		Doc: "How long the store keeps a fragment that no alias names, after the last prompt with it. Prompts and starhost fragments gc remove older ones.",
	},
	{
		Name: "kinds.NAME.kind", Example: `kinds.mcp__desktop__run.kind = "shell"`,
		Doc: "The kind of the calls of the tool NAME, for guards with kind = .... NAME is the agent's name for a tool that starhost's table for the agent lacks. Without this key the names of the arguments decide.",
	},
	{
		Name: "kinds.NAME.command", Example: `kinds.mcp__desktop__run.command = "cmd"`,
		Doc: "The place of the shell command in the tool's arguments: the name of a member, or several with spaces between them. Points lead into objects: input.cmd.",
	},
	{
		Name: "kinds.NAME.paths", Example: `kinds.mcp__desktop__run.paths = "target"`,
		Doc: "The place of the paths in the tool's arguments: the name of a member, or several with spaces between them. Points lead into objects: input.cmd.",
	},
	{
		Name: "kinds.NAME.content", Example: `kinds.mcp__desktop__run.content = "text"`,
		Doc: "The place of the new text of a file in the tool's arguments: the name of a member, or several with spaces between them. Points lead into objects: input.cmd.",
	},
	{
		Name: "kinds.NAME.url", Example: `kinds.mcp__desktop__run.url = "address"`,
		Doc: "The place of the address in the tool's arguments: the name of a member, or several with spaces between them. Points lead into objects: input.cmd.",
	},
	{
		Name: "kinds.NAME.query", Example: `kinds.mcp__desktop__run.query = "pattern"`,
		Doc: "The place of the pattern of a search in the tool's arguments: the name of a member, or several with spaces between them. Points lead into objects: input.cmd.",
	},
	{
		Name: "kinds.NAME.prompt", Example: `kinds.mcp__desktop__run.prompt = "task"`,
		Doc: "The place of the task of a subagent in the tool's arguments: the name of a member, or several with spaces between them. Points lead into objects: input.cmd.",
	},
	{
		Name: "mcp.NAME.command", Example: `mcp.github.command = ["github-mcp-server", "stdio"]`,
		Doc: "The program of an MCP server, with its arguments. starhost offers its tools as NAME_TOOL. It runs in the folder of the config.",
	},
	{
		Name: "mcp.NAME.env", Example: `mcp.github.env = ["GITHUB_TOKEN"]`,
		Doc: "The names of the environment variables that the program gets in addition to PATH and LANG.",
	},
	{
		Name: "mcp.NAME.approval", Default: `"ask"`, Example: `mcp.github.approval = "auto"`,
		Doc: "ask: a person must approve each call of the server's tools.",
	},
	{
		Name: "mcp.NAME.timeout", Default: `"1m0s"`, Example: `mcp.github.timeout = "5m"`,
		Doc: "The longest time of a call of one of the server's tools.",
	},
	{
		Name: "mcp.NAME.url", Example: `mcp.tickets.url = "https://tickets.internal/mcp"`,
		Doc: "The address of an MCP server that is no program of this machine; use it instead of the command.",
	},
	{
		Name: "mcp.NAME.token", Example: `mcp.tickets.token = "TICKETS_TOKEN"`,
		Doc: "The name of the secret, as in secrets.NAME, that starhost sends to the URL as a bearer token. starhost sends it over https or to this machine only.",
	},
	{
		Name: "process.NAME.command", Example: `process.review.command = ["review-hook", "--strict"]`,
		Doc: "A program, with its arguments, that starhost asks about events in PicoClaw's protocol: see docs/run.md. It counts as the plugin process-NAME, and runs in the folder of the config.",
	},
	{
		Name: "process.NAME.env", Example: `process.review.env = ["REVIEW_TOKEN"]`,
		Doc: "The names of the environment variables that the program gets in addition to PATH and LANG.",
	},
	{
		Name: "process.NAME.intercept", Default: `["before_tool"]`, Example: `process.review.intercept = ["before_tool", "after_tool"]`,
		Doc: "The questions that starhost asks the program: before_llm, after_llm, before_tool, after_tool and approve_tool. Without an answer, starhost denies the call, or ends the turn.",
	},
	{
		Name: "process.NAME.mode", Default: `"enforce"`, Example: `process.review.mode = "warn"`,
		Doc: "warn: starhost logs the program's decisions as \"would deny\" and so on, and does not enforce them, as plugin.NAME.mode says. A program that does not answer then blocks nothing.",
	},
	{
		Name: "process.NAME.observe", Default: `[]`, Example: `process.review.observe = ["agent.turn.end"]`,
		Doc: "The events that starhost only sends to the program: agent.turn.start and agent.turn.end.",
	},
	{
		Name: "process.NAME.timeout", Default: `"5s"`, Example: `process.review.timeout = "2s"`,
		Doc: "The longest time for an answer of the program.",
	},
	{
		Name: "serve.tools.roles", Default: `["default"]`, Example: `serve.tools.roles = ["default", "night"]`,
		Doc: "The roles for which programs can register tools at serve --tools. Only a session with the role gets a tool that is registered for one role.",
	},
	{
		Name: "trust.pin", Default: `[]`, Example: `trust.pin = ["srv/**", "package.json"]`,
		Doc: "Globs on files of the project that trust pins beside the config, the plugins, the libraries, and the files and folders that commands name. Programs such as sh, node, npm and make run files that no argument names: without pin, starhost trust says that it does not pin them.",
	},
}
