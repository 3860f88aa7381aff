package agents

import "time"

// opencode runs hooks in its own process: packages/plugin/src/index.ts of opencode, in @opencode-ai/plugin
// 1.18.33. The bridge of serve/hook passes its events on. opencode names the tools of servers SERVER_TOOL.
var opencode = &Agent{
	Name: "opencode", Title: "opencode", ToolPrefix: "mcp__starhost__", MCPPrefix: "mcp__", MCPSeparator: "__",
	Served: true, Timeout: 30 * time.Second, BlockCode: 2, FailCode: 1,
	ForeignFields: []string{"hook_event_name", "hookEventName", "session_id", "sessionId", "tool_name", "toolName"},
	Rewrites:      "tool.execute.before", Redacts: "tool.execute.after", RefusesPrompts: true, TakesContext: true,
	Missing: "refuses", Seen: "1.18.33, run",
	// opencode.ai/docs/plugins.
	Files: Files{
		Program: "opencode", Env: "XDG_CONFIG_HOME", Folder: "~/.config", User: "opencode/plugins/starhost.js",
		Project: ".opencode/plugins/starhost.js",
	},
	Transcripts: Transcripts{Folder: "~/.local/share/opencode", Env: "XDG_DATA_HOME/opencode", Files: "opencode.db", HasIDs: true, VagueFailures: true, ShowsRan: true},
	AllEvents:   true,
	Events: []Event{
		{Name: "chat.message", Ours: "turn_start", Served: true},
		{Name: "tool.execute.before", Ours: "pre_tool_call", Served: true},
		{Name: "tool.execute.after", Ours: "post_tool_call", Served: true},
		{Name: "experimental.session.compacting", Served: true, Compacts: true},
	},
	Tools: []Tool{
		{Names: "bash", Kind: "shell", Command: "command", CWD: "workdir"},
		{Names: "read list", Kind: "read", Paths: "filePath path"},
		{Names: "write", Kind: "write", Paths: "filePath", Content: "content"},
		{Names: "edit", Kind: "write", Paths: "filePath", Content: "newString"},
		{Names: "apply_patch patch", Kind: "write", Patch: "patchText"},
		{Names: "grep", Kind: "search", Query: "pattern", Paths: "path", Globs: "include"},
		{Names: "glob", Kind: "search", Query: "pattern", Paths: "path", Globs: "pattern"},
		{Names: "websearch", Kind: "search", Query: "query"},
		{Names: "webfetch", Kind: "fetch", URL: "url"},
		{Names: "task", Kind: "agent", Prompt: "prompt"},
	},
	ReportsRan: true,
	Canary: `{"event":"tool.execute.before","session":@SESSION@,"cwd":@FOLDER@,"call_id":"c",` +
		`"tool":@TOOL@,"args":@ARGS@}`,
	lifts: []lift{
		{By: "another plugin that changes the arguments", Ours: comparesRan, Attacks: "another plugin"},
		{By: "`XDG_CONFIG_HOME`", Ours: doctorBlind, Attacks: "XDG_CONFIG_HOME"},
	},
}
