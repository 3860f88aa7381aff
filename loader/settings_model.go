package loader

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
)

// settings returns all keys. If two keys are equally similar to an unknown one, starhost suggests the first.
// The first call makes the list, because few runs need it.
var settings = sync.OnceValue(func() []*setting {
	return slices.Concat(coreSettings(), modelSettings(), outsideSettings(), logSettings(), bundleSettings())
})

// modelSettings returns the keys about language models.
func modelSettings() []*setting {
	return []*setting{
		row("model.default", ifTrusted, value(parseText, func(c *Config, _ string) *string { return &c.Model.Default }),
			`""`, `model.default = "acme/small"`,
			"The model to ask if no flag and no plugin names another one. The environment variable STARHOST_MODEL wins over it."),
		row("model.timeout", ifTrusted, value(parseDuration, func(c *Config, _ string) *time.Duration { return &c.Model.Timeout }),
			`"10m0s"`, `model.timeout = "2m"`,
			"The most time of one answer of a model, with all tries. starhost also ends an answer after 60 seconds of silence."),
		row("model.NAME.base_url", ifTrusted, value(parseBaseURL, func(c *Config, name string) *string { return &c.endpoint(name).BaseURL }),
			"", `model.local.base_url = "http://127.0.0.1:11434/v1"`,
			"The address of an endpoint of language models, in the form that the provider's own client expects: with /v1 for openai and responses, without it for anthropic. The users choose its models as NAME/MODEL. The endpoints openai and anthropic need no base_url; a setting changes it."),
		row("model.NAME.api", ifTrusted, value(parseWord(host.EndpointAPIs...), func(c *Config, name string) *string { return &c.endpoint(name).API }),
			`"openai"`, `model.local.api = "openai"`,
			"The protocol of the endpoint: openai (Chat Completions, which most servers have), responses, or anthropic (Messages)."),
		row("model.NAME.models", ifTrusted, value(parseNames, func(c *Config, name string) *[]string { return &c.endpoint(name).Models }),
			`["*"]`, `model.local.models = ["llama3.2", "qwen3"]`,
			`The models of the endpoint; the first one is its default. starhost refuses other names, unless the list contains "*".`),
		row("model.NAME.api_key", ifTrusted, value(parseSecretName, func(c *Config, name string) *string { return &c.endpoint(name).APIKey }),
			"", `model.local.api_key = "LOCAL_KEY"`,
			"The name of the secret, as in secrets.NAME, that starhost sends as the key. The endpoints openai and anthropic use OPENAI_API_KEY and ANTHROPIC_API_KEY; others have none by default."),
		row("model.NAME.context", ifTrusted, value(parseCount[int](1), func(c *Config, name string) *int { return &c.endpoint(name).Context }),
			"", `model.local.context = 128_000`,
			"The most tokens of a request. starhost warns about a prompt that is probably longer."),
		row("model.NAME.fallback", ifTrusted, value(parseNames, func(c *Config, name string) *[]string { return &c.endpoint(name).Fallback }),
			"", `model.local.fallback = ["qwen3", "openai/gpt-x"]`,
			"The models to ask, in order, if a model does not answer: names of the same endpoint, or NAME/MODEL. Each gets all its tries. starhost never changes the model after the first byte of an answer."),
	}
}

// outsideSettings returns the keys about databases, tools of agents, other servers, and trust.
func outsideSettings() []*setting {
	return []*setting{
		row("store.url", userOnly, withoutPassword(value(parseStore, func(c *Config, _ string) *string { return &c.Store.URL })),
			`"sqlite:"`, `store.url = "none"`,
			"The database of ctx.store, of aliases and of sha256: ids. The environment variable STARHOST_STORE wins over it. sqlite: is the file starhost/starhost.db in XDG_DATA_HOME; a relative PATH starts at the folder that starhost runs in. starhost opens the database when something first uses it. With none, each use of ctx.store is an error. llm:PATH stands for sqlite: with store.fragments = llm:PATH."),
		row("store.fragments", userOnly, value(parseFragmentStore, func(c *Config, _ string) *string { return &c.Store.Fragments }),
			`""`, `store.fragments = "llm:/home/me/.config/io.datasette.llm/logs.db"`,
			"The database of fragments and their aliases, if it is not that of store.url: logs.db of the program llm, whose path llm logs path shows. llm and starhost then know each other's fragments. starhost makes no such file and removes nothing from it. A relative PATH starts at the folder that starhost runs in."),
		row("store.max_plugin", userOnly, inBytes(value(parseSize, func(c *Config, _ string) *int64 { return &c.Store.MaxPlugin })),
			`"64MiB"`, `store.max_plugin = "1MiB"`,
			"The most bytes of all keys and values of a plugin in ctx.store."),
		row("store.keep", userOnly, inDays(value(parseSpan, func(c *Config, _ string) *time.Duration { return &c.Store.Keep })),
			`"90d"`, `store.keep = "30d"`,
			"How long the store keeps a fragment that no alias names, after the last prompt with it. Prompts and starhost fragments gc remove older ones."),
		row("kinds.NAME.kind", userOnly, kindField(parseWord("shell", "write", "fetch", "read", "search", "agent", "mcp", "other")),
			"", `kinds.mcp__desktop__run.kind = "shell"`,
			"The kind of the calls of the tool NAME, for guards with kind = .... NAME is the agent's name for a tool that starhost's table for the agent lacks. Without this key the names of the arguments decide."),
		placeRow("command", "shell command", "cmd"),
		placeRow("paths", "paths", "target"),
		placeRow("content", "new text of a file", "text"),
		placeRow("url", "address", "address"),
		placeRow("query", "pattern of a search", "pattern"),
		placeRow("prompt", "task of a subagent", "task"),
		row("mcp.NAME.command", ifTrusted, inFolder(
			list(func(c *Config, name string) *[]string { return &ensureEntry(c.MCP, name).Command }),
			func(c *Config, name string) *string { return &c.MCP[name].Dir },
		),
			"", `mcp.github.command = ["github-mcp-server", "stdio"]`,
			"The program of an MCP server, with its arguments. starhost offers its tools as NAME_TOOL. It runs in the folder of the config."),
		row("mcp.NAME.env", ifTrusted, list(func(c *Config, name string) *[]string { return &ensureEntry(c.MCP, name).Env }),
			"", `mcp.github.env = ["GITHUB_TOKEN"]`,
			"The names of the environment variables that the program gets in addition to PATH and LANG."),
		row("mcp.NAME.url", ifTrusted, value(parseURL, func(c *Config, name string) *string { return &ensureEntry(c.MCP, name).URL }),
			"", `mcp.tickets.url = "https://tickets.internal/mcp"`,
			"The address of an MCP server that is no program of this machine; use it instead of the command."),
		row("mcp.NAME.token", ifTrusted, value(parseSecretName, func(c *Config, name string) *string { return &ensureEntry(c.MCP, name).Token }),
			"", `mcp.tickets.token = "TICKETS_TOKEN"`,
			"The name of the secret, as in secrets.NAME, that starhost sends to the URL as a bearer token. starhost sends it over https or to this machine only."),
		row("mcp.NAME.timeout", ifTrusted, value(parseDuration, func(c *Config, name string) *time.Duration { return &ensureEntry(c.MCP, name).Timeout }),
			`"1m0s"`, `mcp.tickets.timeout = "5m"`,
			"The longest time of a call of one of the server's tools."),
		row("mcp.NAME.approval", ifTrusted, value(parseWord("ask", "auto"), func(c *Config, name string) *string { return &ensureEntry(c.MCP, name).Approval }),
			`"ask"`, `mcp.tickets.approval = "auto"`,
			"ask: a person must approve each call of the server's tools."),
		row("process.NAME.command", userOnly, inFolder(
			list(func(c *Config, name string) *[]string { return &c.process(name).Command }),
			func(c *Config, name string) *string { return &c.process(name).Dir },
		),
			"", `process.review.command = ["review-hook", "--strict"]`,
			"A program, with its arguments, that starhost asks about events in PicoClaw's protocol: see docs/run.md. It counts as the plugin process-NAME, and runs in the folder of the config."),
		row("process.NAME.env", userOnly, list(func(c *Config, name string) *[]string { return &c.process(name).Env }),
			"", `process.review.env = ["REVIEW_TOKEN"]`,
			"The names of the environment variables that the program gets in addition to PATH and LANG."),
		row("process.NAME.intercept", userOnly, value(parseWords(interceptWords), func(c *Config, name string) *[]string { return &c.process(name).Intercept }),
			`["before_tool"]`, `process.review.intercept = ["before_tool", "after_tool"]`,
			"The questions that starhost asks the program: before_llm, after_llm, before_tool, after_tool and approve_tool. Without an answer, starhost denies the call, or ends the turn."),
		row("process.NAME.mode", userOnly, value(parseWord(modeEnforce, modeWarn), func(c *Config, name string) *string { return &c.process(name).Mode }),
			`"enforce"`, `process.review.mode = "warn"`,
			"warn: starhost logs the program's decisions as \"would deny\" and so on, and does not enforce them, as plugin.NAME.mode says. A program that does not answer then blocks nothing."),
		row("process.NAME.observe", userOnly, value(parseWords(observeWords), func(c *Config, name string) *[]string { return &c.process(name).Observe }),
			`[]`, `process.review.observe = ["agent.turn.end"]`,
			"The events that starhost only sends to the program: agent.turn.start and agent.turn.end."),
		row("process.NAME.timeout", userOnly, value(parseDuration, func(c *Config, name string) *time.Duration { return &c.process(name).Timeout }),
			`"5s"`, `process.review.timeout = "2s"`,
			"The longest time for an answer of the program."),
		row("serve.tools.roles", ifTrusted, list(func(c *Config, _ string) *[]string { return &c.Serve.ToolRoles }),
			`["default"]`, `serve.tools.roles = ["default", "night"]`,
			"The roles for which programs can register tools at serve --tools. Only a session with the role gets a tool that is registered for one role."),
		row("trust.pin", always, value(parsePins, func(c *Config, _ string) *[]string { return &c.Pins }),
			`[]`, `trust.pin = ["srv/**", "package.json"]`,
			"Globs on files of the project that trust pins beside the config, the plugins, the libraries, and the files and folders that commands name. Programs such as sh, node, npm and make run files that no argument names: without pin, starhost trust says that it does not pin them."),
	}
}

// placeRow returns a key of [kinds.NAME] that says where a tool's arguments have what.
func placeRow(name, what, example string) *setting {
	return row("kinds.NAME."+name, userOnly, kindField(parseText), "", fmt.Sprintf("kinds.mcp__desktop__run.%s = %q", name, example),
		"The place of the "+what+" in the tool's arguments: the name of a member, or several with spaces between them. Points lead into objects: input.cmd.")
}

// These are the words that [process.NAME] accepts. They are PicoClaw's.
var (
	interceptWords = []string{"before_llm", "after_llm", "before_tool", "after_tool", "approve_tool"}
	observeWords   = []string{"agent.turn.start", "agent.turn.end"}
)

// endpoint returns the endpoint of [model.NAME]. If there is none, it adds one.
func (c *Config) endpoint(name string) *starhost.Endpoint {
	return ensureEntry(c.Model.Endpoints, name)
}

// endpoints returns the endpoints of the config, sorted by name. An endpoint that lists no models offers any
// model.
func (c *Config) endpoints() ([]starhost.Endpoint, error) {
	var list []starhost.Endpoint
	for _, name := range slices.Sorted(maps.Keys(c.Model.Endpoints)) {
		e := *c.Model.Endpoints[name]
		at := c.Place("model", name)
		e.Name, e.Pos = name, starhost.Pos{File: filepath.ToSlash(at.File), Line: at.Line, Col: 1}
		if len(e.Models) == 0 {
			e.Models = []string{"*"}
		}
		if !isEndpointName(name) {
			return nil, errorAt(at, "E0603", "model.%s: want a name of 1 to 64 of A-Z a-z 0-9 _ -", errtext.Quote(name))
		}
		if e.BaseURL == "" && name != "openai" && name != "anthropic" {
			return nil, errorAt(at, "E0603", "model.%s: got no base_url, want the address of the endpoint, as %q", name, cmp.Or(exampleURL[e.API], exampleURL["openai"]))
		}
		list = append(list, e)
	}
	return list, nil
}

// exampleURL has an example of an address for the error about a missing one, by API.
var exampleURL = map[string]string{"openai": "http://127.0.0.1:11434/v1", "anthropic": "https://api.anthropic.com"}

// isEndpointName reports whether the host accepts the name for an endpoint.
func isEndpointName(name string) bool {
	for _, r := range name {
		if r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// parseBaseURL parses the address of an endpoint. The error hides an address with a user, which has
// a password.
func parseBaseURL(v any) (string, error) {
	const want = "http or https, a host and a path, without user, query and fragment"
	text, _ := v.(string)
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", hiddenValueError(want)
	case u.User != nil:
		return "", hiddenValueError(want + ": api_key names the secret that starhost sends")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.RawQuery != "", u.Fragment != "":
		return "", errors.New(want)
	}
	return text, nil
}

// parseNames parses a list of at least one name.
func parseNames(v any) ([]string, error) {
	names, err := parseTexts(v)
	if err == nil && (len(names) == 0 || slices.Contains(names, "")) {
		err = errors.New("a list of names, at least one")
	}
	return names, err
}
