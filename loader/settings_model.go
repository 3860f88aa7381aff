package loader

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
)

// settings returns all keys. If two names are equally near to an unknown one, starhost suggests the
// first. The list is made when it is needed, because few runs need it.
var settings = sync.OnceValue(func() []*setting {
	return slices.Concat(coreSettings(), modelSettings(), outsideSettings(), serveSettings(), logSettings())
})

// modelSettings returns the keys about language models.
func modelSettings() []*setting {
	return []*setting{
		{splitKey("model.default"), ifTrusted, value(parseText, func(c *Config, _ string) *string { return &c.Model.Default })},
		{splitKey("model.timeout"), ifTrusted, value(parseDuration, func(c *Config, _ string) *time.Duration { return &c.Model.Timeout })},
		{splitKey("model.*.base_url"), ifTrusted, value(parseBaseURL, func(c *Config, name string) *string { return &c.endpoint(name).BaseURL })},
		{splitKey("model.*.api"), ifTrusted, value(parseWord("openai", "responses", "anthropic"), func(c *Config, name string) *string { return &c.endpoint(name).API })},
		{splitKey("model.*.models"), ifTrusted, value(parseNames, func(c *Config, name string) *[]string { return &c.endpoint(name).Models })},
		{splitKey("model.*.api_key"), ifTrusted, value(parseSecretName, func(c *Config, name string) *string { return &c.endpoint(name).APIKey })},
		{splitKey("model.*.context"), ifTrusted, value(parseCount[int](1), func(c *Config, name string) *int { return &c.endpoint(name).Context })},
		{splitKey("model.*.fallback"), ifTrusted, value(parseNames, func(c *Config, name string) *[]string { return &c.endpoint(name).Fallback })},
	}
}

// outsideSettings returns the keys about databases, tools of agents, and other servers.
func outsideSettings() []*setting {
	return []*setting{
		{splitKey("store.url"), userOnly, withoutPassword(value(parseStore, func(c *Config, _ string) *string { return &c.Store.URL }))},
		{splitKey("store.fragments"), userOnly, value(parseFragmentStore, func(c *Config, _ string) *string { return &c.Store.Fragments })},
		{splitKey("store.max_plugin"), userOnly, inBytes(value(parseSize, func(c *Config, _ string) *int64 { return &c.Store.MaxPlugin }))},
		{splitKey("store.keep"), userOnly, inDays(value(parseSpan, func(c *Config, _ string) *time.Duration { return &c.Store.Keep }))},
		{splitKey("kinds.*.kind"), userOnly, kindField(parseWord("shell", "write", "fetch", "read", "search", "agent", "mcp", "other"))},
		{splitKey("kinds.*.command"), userOnly, kindField(parseText)},
		{splitKey("kinds.*.paths"), userOnly, kindField(parseText)},
		{splitKey("kinds.*.content"), userOnly, kindField(parseText)},
		{splitKey("kinds.*.url"), userOnly, kindField(parseText)},
		{splitKey("kinds.*.query"), userOnly, kindField(parseText)},
		{splitKey("kinds.*.prompt"), userOnly, kindField(parseText)},
		{splitKey("mcp.*.command"), ifTrusted, inFolder(
			list(func(c *Config, name string) *[]string { return &ensureEntry(c.MCP, name).Command }),
			func(c *Config, name string) *string { return &c.MCP[name].Dir },
		)},
		{splitKey("mcp.*.env"), ifTrusted, list(func(c *Config, name string) *[]string { return &ensureEntry(c.MCP, name).Env })},
		{splitKey("mcp.*.url"), ifTrusted, value(parseURL, func(c *Config, name string) *string { return &ensureEntry(c.MCP, name).URL })},
		{splitKey("mcp.*.token"), ifTrusted, value(parseSecretName, func(c *Config, name string) *string { return &ensureEntry(c.MCP, name).Token })},
		{splitKey("mcp.*.timeout"), ifTrusted, value(parseDuration, func(c *Config, name string) *time.Duration { return &ensureEntry(c.MCP, name).Timeout })},
		{splitKey("mcp.*.approval"), ifTrusted, value(parseWord("ask", "auto"), func(c *Config, name string) *string { return &ensureEntry(c.MCP, name).Approval })},
		{splitKey("process.*.command"), userOnly, inFolder(
			list(func(c *Config, name string) *[]string { return &c.process(name).Command }),
			func(c *Config, name string) *string { return &c.process(name).Dir },
		)},
		{splitKey("process.*.env"), userOnly, list(func(c *Config, name string) *[]string { return &c.process(name).Env })},
		{splitKey("process.*.intercept"), userOnly, value(parseWords(interceptWords), func(c *Config, name string) *[]string { return &c.process(name).Intercept })},
		{splitKey("process.*.mode"), userOnly, value(parseWord(modeEnforce, modeWarn), func(c *Config, name string) *string { return &c.process(name).Mode })},
		{splitKey("process.*.observe"), userOnly, value(parseWords(observeWords), func(c *Config, name string) *[]string { return &c.process(name).Observe })},
		{splitKey("process.*.timeout"), userOnly, value(parseDuration, func(c *Config, name string) *time.Duration { return &c.process(name).Timeout })},
	}
}

// The words of [process.NAME]. They are PicoClaw's.
var (
	interceptWords = []string{"before_llm", "after_llm", "before_tool", "after_tool", "approve_tool"}
	observeWords   = []string{"agent.turn.start", "agent.turn.end"}
)

// ModelConfig says which language models there are, and bounds their answers.
type ModelConfig struct {
	// Default names the default model; "" means none.
	Default string
	// Timeout bounds one answer with all tries.
	Timeout time.Duration
	// Rounds is the most requests of a turn that offer tools.
	Rounds int
	// Answer is the most bytes of an answer.
	Answer int64
	// Endpoints are the endpoints of [model.NAME], by NAME. Load completes and checks them.
	Endpoints map[string]*starhost.Endpoint
}

func newModelConfig() ModelConfig {
	return ModelConfig{
		Timeout: 10 * time.Minute, Rounds: 25, Answer: 4 << 20, Endpoints: map[string]*starhost.Endpoint{},
	}
}

// endpoint returns the endpoint of [model.NAME].
func (c *Config) endpoint(name string) *starhost.Endpoint {
	return ensureEntry(c.Model.Endpoints, name)
}

// endpoints returns the endpoints of the config by name. An endpoint without models offers any.
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

// exampleURL gives an address for the error about a missing one.
var exampleURL = map[string]string{"openai": "http://127.0.0.1:11434/v1", "anthropic": "https://api.anthropic.com"}

// isEndpointName reports whether a host accepts the name of an endpoint.
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
