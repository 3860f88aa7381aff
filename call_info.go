package starhost

import "encoding/json"

// A CallInfo describes a tool call in words that fit the tools of every agent, so that one guard
// works in all of them. A field is empty if the call does not have it.
type CallInfo struct {
	// Agent is the name of the agent whose tool is called, "" if it is no agent's.
	Agent string
	// Kinds are the call's kinds, the most dangerous first: shell, write, fetch, read, search,
	// agent, mcp, other. There is at least one.
	Kinds []string
	// Command is the text of a shell command, and CWD is the folder of the call.
	Command, CWD string
	// Paths are absolute and clean, without following links.
	Paths []string
	// Content is the new text of a file, URL the address of a request, Query the pattern of a
	// search and Prompt the task of a subagent.
	Content, URL, Query, Prompt string
	// Contents are the texts of the arguments that Content joins.
	Contents []string
	// Server and ServerTool name the tool of another MCP server.
	Server, ServerTool string
	// Rewrite returns the call's arguments with another command or other paths. name is "command",
	// with one value, or "paths". It returns an error if the tool's arguments have no place for
	// the values.
	Rewrite func(name string, values []string) (json.RawMessage, error)
}

// CallKinds are the kinds that hooks may name. TestKinds of agents checks that they are the same
// there.
var CallKinds = []string{"shell", "write", "fetch", "read", "search", "agent", "mcp", "other"}
