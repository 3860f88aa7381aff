package builtins

import (
	"cmp"
	"encoding/json"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/internal/jsontext"
)

// DescribeCalls returns a function for [host.Options.Describe], which finds the kinds and fields of a call in
// the tables of agents. mapped describes further tools, by name: a row has the kind under "kind", and the
// places of fields such as "command" and "paths".
func DescribeCalls(mapped map[string]map[string]string) func(*starhost.Event) *starhost.CallInfo {
	var rows map[string]agents.Tool // nil, because most configs have none
	for name, places := range mapped {
		if rows == nil {
			rows = map[string]agents.Tool{}
		}
		rows[name] = agents.Tool{
			Kind: places["kind"], Command: places["command"], Paths: places["paths"], Content: places["content"],
			URL: places["url"], Query: places["query"], Prompt: places["prompt"],
		}
	}
	return func(e *starhost.Event) *starhost.CallInfo {
		given := agents.Call{
			Agent: e.Agent, Tool: cmp.Or(e.ToolAlias, e.Tool), Arguments: e.Arguments, Workspace: e.Workspace,
			Own: e.Plugin != "" && !e.Foreign, OwnKinds: e.ToolKinds, Decode: jsontext.DecodeValue,
		}
		if name, isMounted := strings.CutPrefix(e.Plugin, "mcp-"); isMounted && given.Own {
			given.Server = name
		}
		c := given
		c.Describe(rows)
		return &starhost.CallInfo{
			Agent: c.Agent, Kinds: c.Kinds, Command: c.Command, CWD: c.CWD, Paths: c.Paths,
			Content: c.Content, Contents: c.Contents(), URL: c.URL, Query: c.Query, Prompt: c.Prompt,
			Server: c.Server, ServerTool: c.ServerTool,
			Rewrite: func(name string, values []string) (json.RawMessage, error) {
				c := given // Rewrite changes the decoded arguments of the call
				c.Describe(rows)
				return c.Rewrite(name, values)
			},
		}
	}
}

// callKind describes how handlers see a tool call. A field that the call does not have is None.
var callKind = viewKind[starhost.CallInfo]{
	item: "call_view",
	keys: []field[starhost.CallInfo]{
		textField("kind", func(c *starhost.CallInfo) string { return c.Kinds[0] }),
		{"kinds", func(c *starhost.CallInfo) starlark.Value { return freeze(stringList(c.Kinds)) }},
		optionalField("agent", func(c *starhost.CallInfo) string { return c.Agent }),
		optionalField("command", func(c *starhost.CallInfo) string { return c.Command }),
		optionalField("cwd", func(c *starhost.CallInfo) string { return c.CWD }),
		{"paths", func(c *starhost.CallInfo) starlark.Value {
			if len(c.Paths) == 0 {
				return starlark.None
			}
			return freeze(stringList(c.Paths))
		}},
		optionalField("content", func(c *starhost.CallInfo) string { return c.Content }),
		optionalField("url", func(c *starhost.CallInfo) string { return c.URL }),
		optionalField("query", func(c *starhost.CallInfo) string { return c.Query }),
		optionalField("server", func(c *starhost.CallInfo) string { return c.Server }),
		optionalField("tool", func(c *starhost.CallInfo) string { return c.ServerTool }),
		optionalField("prompt", func(c *starhost.CallInfo) string { return c.Prompt }),
	},
	always: 12,
}

// optionalField returns a field that is a string, or None if it is empty.
func optionalField[T any](name string, get func(*T) string) field[T] {
	return field[T]{name, func(x *T) starlark.Value {
		if s := get(x); s != "" {
			return starlark.String(s)
		}
		return starlark.None
	}}
}

// callView returns what handlers see of a call. It returns None for an event that is not about a call.
func callView(c *starhost.CallInfo) starlark.Value {
	if c == nil {
		return starlark.None
	}
	return &view[starhost.CallInfo]{kind: &callKind, item: c}
}
