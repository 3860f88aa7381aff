package agents

import "time"

// kiro has the events of Amazon Q: docs/hooks.md of aws/amazon-q-developer-cli at 35b526600ff2, and
// kiro.dev/docs/cli/hooks. Events do not name their session.
var kiro = &Agent{
	Name: "kiro", Title: "Kiro", ToolPrefix: "@starhost/", MCPPrefix: "@", MCPSeparator: "/",
	Served: true, Timeout: 30 * time.Second, BlockCode: 2, FailCode: 1,
	ForeignFields: []string{"hookEventName", "sessionId", "toolName", "toolArgs", "tool_result", "permission_mode", "turn_id"},
	TakesContext:  true,
	Missing:       "runs the call", Seen: "docs at 35b526600ff2",
	// The operator chooses the file of one of the agents in this folder.
	Files: Files{Program: "kiro-cli", Folder: "~/.kiro"},
	Events: []Event{
		{Name: "agentSpawn", Ours: "session_start"},
		{Name: "userPromptSubmit", Ours: "turn_start", Served: true},
		{Name: "preToolUse", Ours: "pre_tool_call", Served: true},
		{Name: "postToolUse", Ours: "post_tool_call", Served: true},
		{Name: "stop", Ours: "turn_end", Served: true},
	},
	Tools: []Tool{
		{Names: "execute_bash shell", Kind: "shell", Command: "command"},
		{Names: "fs_read", Kind: "read", Paths: "path operations.path"},
		{Names: "fs_write", Kind: "write", Paths: "path", Content: "file_text content new_str"},
		{Names: "grep", Kind: "search", Query: "pattern", Paths: "path", Globs: "include"},
		{Names: "glob", Kind: "search", Query: "pattern", Paths: "path", Globs: "pattern"},
		{Names: "web_search", Kind: "search", Query: "query"},
		{Names: "web_fetch", Kind: "fetch", URL: "url"},
		{Names: "use_subagent", Kind: "agent", Prompt: "prompt"},
	},
	Canary: `{"hook_event_name":"preToolUse","cwd":@FOLDER@,"tool_name":@TOOL@,"tool_input":@ARGS@}`,
}
