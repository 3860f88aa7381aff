package agents

import "time"

// picoclaw has short names in its documentation and in its settings, and long ones on the wire.
// It keeps one process for all events, so the exit code blocks nothing.
var picoclaw = &Agent{
	Name: "picoclaw", Title: "PicoClaw", ToolPrefix: "mcp_starhost_",
	Timeout: 5 * time.Second, BlockCode: 0, FailCode: 1,
	Served: true, MCPPrefix: "mcp_", MCPSeparator: "_",
	Rewrites: "*", Redacts: "*", RefusesPrompts: true, TakesContext: true, ReplacesWords: true,
	Missing: "runs the call", Seen: "docs of 2026-11",
	// docs/configuration of sipeed/picoclaw, as others cite it.
	Files: Files{Program: "picoclaw", Env: "PICOCLAW_HOME", Folder: "~/.picoclaw", User: "config.json", Off: "hooks.enabled=false"},
	Events: []Event{
		{Name: "before_llm", Ours: "pre_llm_call"},
		{Name: "after_llm", Ours: "post_llm_call"},
		{Name: "before_tool", Ours: "pre_tool_call"},
		{Name: "after_tool", Ours: "post_tool_call"},
		{Name: "approve_tool", Ours: "approve_tool_call"},
		{Name: "hook.before_llm", Ours: "pre_llm_call", Served: true},
		{Name: "hook.after_llm", Ours: "post_llm_call", Served: true},
		{Name: "hook.before_tool", Ours: "pre_tool_call", Served: true},
		{Name: "hook.after_tool", Ours: "post_tool_call", Served: true},
		{Name: "hook.approve_tool", Ours: "approve_tool_call", Served: true},
	},
	Tools: []Tool{
		{Names: "exec", Kind: "shell", Command: "command", CWD: "working_dir"},
		{Names: "read_file list_dir", Kind: "read", Paths: "path"},
		{Names: "write_file append_file", Kind: "write", Paths: "path", Content: "content"},
		{Names: "edit_file", Kind: "write", Paths: "path", Content: "new_text"},
		{Names: "web_search", Kind: "search", Query: "query"},
		{Names: "web_fetch", Kind: "fetch", URL: "url"},
		{Names: "spawn", Kind: "agent", Prompt: "prompt task"},
	},
	Canary: `{"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{"name":"starhost","version":1,` +
		`"modes":["tool"]}}
` +
		`{"jsonrpc":"2.0","id":2,"method":"hook.before_tool","params":{"meta":{},"tool":@TOOL@,` +
		`"arguments":@ARGS@}}`,
}
