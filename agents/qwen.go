package agents

import "time"

// qwen has Claude Code's events: docs/users/features/hooks.md of QwenLM/qwen-code at 00d06c80eae1.
// Version 0.24.4 was measured.
var qwen = &Agent{
	Name: "qwen", Title: "Qwen Code", ToolPrefix: "mcp__starhost__", MCPPrefix: "mcp__", MCPSeparator: "__",
	Served: true, Timeout: 30 * time.Second, BlockCode: 2, FailCode: 1,
	ForeignFields: []string{"turn_id", "hookEventName", "sessionId", "toolName", "toolArgs", "tool_result"},
	Asks:          "PreToolUse", RefusesPrompts: true, TakesContext: true,
	Missing: "runs the call", Seen: "0.24.4, run",
	// docs/users/configuration/settings.md and docs/users/features/hooks.md of QwenLM/qwen-code.
	Files: Files{
		Program: "qwen", ProjectEnv: "QWEN_PROJECT_DIR", Folder: "~/.qwen", User: "settings.json", Project: ".qwen/settings.json",
		Linux:   "/etc/qwen-code/settings.json",
		MacOS:   "/Library/Application Support/QwenCode/settings.json",
		Windows: `C:/ProgramData/qwen-code/settings.json`,
		Off:     "disableAllHooks=true", ManagedOn: "disableAllHooks=false",
	},
	Transcripts: Transcripts{
		Folder: "~/.qwen", Env: "QWEN_HOME QWEN_RUNTIME_DIR", Files: "projects/*/chats/*.jsonl projects/*/subagents/*/agent-*.jsonl",
	},
	AllEvents: true,
	Events: []Event{
		{Name: "SessionStart", Ours: "session_start"},
		{Name: "SessionEnd", Ours: "session_end", Served: true},
		{Name: "UserPromptSubmit", Ours: "turn_start", Served: true},
		{Name: "PreToolUse", Ours: "pre_tool_call", Served: true},
		{Name: "PermissionRequest", Ours: "approve_tool_call", Served: true},
		{Name: "PostToolUse", Ours: "post_tool_call", Served: true},
		{Name: "PostToolUseFailure", Ours: "post_tool_call", Served: true},
		{Name: "Stop", Ours: "turn_end", Served: true},
		{Name: "PostCompact", Served: true, Compacts: true},
		{Name: "StopFailure"}, {Name: "SessionDelete"}, {Name: "MessageDisplay"}, {Name: "SubagentStart"}, {Name: "SubagentStop"}, {Name: "PreCompact"},
		{Name: "Notification"}, {Name: "PermissionDenied"}, {Name: "TodoCreated"}, {Name: "TodoCompleted"},
	},
	Tools: []Tool{
		{Names: "run_shell_command", Kind: "shell", Command: "command", CWD: "directory dir_path"},
		{Names: "read_file", Kind: "read", Paths: "file_path absolute_path"},
		{Names: "list_directory", Kind: "read", Paths: "path"},
		{Names: "write_file", Kind: "write", Paths: "file_path", Content: "content"},
		{Names: "edit replace", Kind: "write", Paths: "file_path", Content: "new_string"},
		{Names: "notebook_edit", Kind: "write", Paths: "notebook_path", Content: "new_source"},
		{Names: "grep_search search_file_content", Kind: "search", Query: "pattern", Paths: "path", Globs: "glob include"},
		{Names: "glob", Kind: "search", Query: "pattern", Paths: "path", Globs: "pattern"},
		{Names: "web_search", Kind: "search", Query: "query"},
		{Names: "web_fetch", Kind: "fetch", URL: "url"},
		{Names: "agent task", Kind: "agent", Prompt: "prompt"},
	},
	ReportsRan: true,
	Canary:     claudeCanary,
	lifts: []lift{
		{By: "another hook that answers `allow`", Ours: recordsRan, Attacks: "another hook that allows"},
		{By: "`disableAllHooks` in the settings of the user or the project", StoppedBy: "`disableAllHooks`", Ours: doctorSaysIt,
			Attacks: "disableAllHooks of the project"},
		{By: "`QWEN_CODE_SYSTEM_SETTINGS_PATH`, which replaces the managed file", Ours: doctorBlind, Attacks: "QWEN_CODE_SYSTEM_SETTINGS_PATH"},
	},
}
