package agents

import "time"

// cursor names tools in preToolUse as Claude Code does, and in snake case elsewhere. The events are
// those of cursor.com/docs/hooks, and of the program cursor-agent 2026.09.18 as others read it.
var cursor = &Agent{
	Name: "cursor", Title: "Cursor", MCPPrefix: "MCP:",
	Served: true, Timeout: 30 * time.Second, BlockCode: 0, FailCode: 1,
	ForeignFields: []string{"turn_id", "hookEventName", "sessionId", "toolName", "toolArgs", "tool_result", "permission_mode"},
	Asks:          "beforeShellExecution beforeMCPExecution", Rewrites: "preToolUse", Redacts: "postToolUse",
	RefusesPrompts: true, TakesContext: true,
	Missing: "refuses (`failClosed: true`)", Seen: "docs and program 2026.09.18, read",
	// cursor.com/docs/hooks.
	Files: Files{
		Program: "cursor-agent", ProjectEnv: "CURSOR_PROJECT_DIR", Folder: "~/.cursor", User: "hooks.json", Project: ".cursor/hooks.json",
		Linux:   "/etc/cursor/hooks.json",
		MacOS:   "/Library/Application Support/Cursor/hooks.json",
		Windows: `C:/ProgramData/Cursor/hooks.json`,
	},
	Events: []Event{
		{Name: "sessionStart", Ours: "session_start"},
		{Name: "sessionEnd", Ours: "session_end", Served: true},
		{Name: "beforeSubmitPrompt", Ours: "turn_start", Served: true},
		{Name: "preToolUse", Ours: "pre_tool_call", Served: true},
		{Name: "beforeShellExecution", Ours: "pre_tool_call", Served: true},
		{Name: "beforeMCPExecution", Ours: "pre_tool_call", Served: true},
		{Name: "beforeReadFile", Ours: "pre_tool_call", Served: true},
		{Name: "postToolUse", Ours: "post_tool_call", Served: true},
		{Name: "postToolUseFailure", Ours: "post_tool_call", Served: true},
		{Name: "stop", Ours: "turn_end", Served: true},
		{Name: "preCompact", Served: true, Compacts: true},
		{Name: "afterShellExecution"}, {Name: "afterMCPExecution"}, {Name: "afterFileEdit"}, {Name: "beforeTabFileRead"},
		{Name: "afterTabFileEdit"}, {Name: "afterAgentResponse"}, {Name: "afterAgentThought"}, {Name: "subagentStart"},
		{Name: "subagentStop"}, {Name: "workspaceOpen"},
	},
	Tools: []Tool{
		{Names: "Shell run_terminal_cmd", Kind: "shell", Command: "command", CWD: "working_directory cwd"},
		{Names: "Read read_file", Kind: "read", Paths: "file_path target_file path"},
		{Names: "Write Edit StrReplace TabWrite edit_file", Kind: "write", Paths: "file_path target_file path", Content: "content contents new_string code_edit edits.new_string"},
		{Names: "Delete", Kind: "write", Paths: "file_path target_file path"},
		{Names: "Grep grep_search file_search", Kind: "search", Query: "pattern query", Paths: "path"},
		{Names: "web_search", Kind: "search", Query: "query search_term"},
		{Names: "Task", Kind: "agent", Prompt: "prompt"},
	},
	Canary: `{"conversation_id":@SESSION@,"model":"","hook_event_name":"preToolUse",` +
		`"workspace_roots":[@FOLDER@],"tool_name":@TOOL@,"tool_input":@ARGS@,"tool_use_id":"t"}`,
}
