package agents

import "time"

// gemini has the events of docs/hooks/reference.md of google-gemini/gemini-cli at 06c0d8103ddd. At
// exit code 0 it reads JSON. A code over 1, as a shell's for a missing program, denies with the
// text on standard error. Version 0.61.0 was measured.
var gemini = &Agent{
	Name: "gemini", Title: "Gemini CLI", ToolPrefix: "mcp_starhost_", MCPPrefix: "mcp_", MCPSeparator: "_",
	Served: true, Timeout: 30 * time.Second, BlockCode: 0, FailCode: 1,
	ForeignFields: []string{"turn_id", "hookEventName", "sessionId", "toolName", "toolArgs", "tool_result", "permission_mode"},
	Rewrites:      "BeforeTool", Redacts: "AfterTool", RefusesPrompts: true, TakesContext: true,
	Missing: "refuses; runs the call if it is late", Seen: "0.61.0, run",
	// docs/hooks/index.md and docs/reference/configuration.md of google-gemini/gemini-cli at
	// 5411f113cafa.
	Files: Files{
		Program: "gemini", ProjectEnv: "GEMINI_PROJECT_DIR", Folder: "~/.gemini", User: "settings.json", Project: ".gemini/settings.json",
		Linux:   "/etc/gemini-cli/settings.json",
		MacOS:   "/Library/Application Support/GeminiCli/settings.json",
		Windows: `C:/ProgramData/gemini-cli/settings.json`,
		Off:     "hooksConfig.enabled=false hooksConfig.disabled=LINE", ManagedOn: "hooksConfig.enabled=true",
	},
	Transcripts: Transcripts{
		Folder: "~/.gemini", Env: "GEMINI_CLI_HOME/.gemini", Files: "tmp/*/chats/session-*.jsonl tmp/*/chats/*/*.jsonl", VagueFailures: true, ShowsRan: true,
	},
	AllEvents: true,
	Events: []Event{
		{Name: "SessionStart", Ours: "session_start"},
		{Name: "SessionEnd", Ours: "session_end", Served: true},
		{Name: "BeforeAgent", Ours: "turn_start", Served: true},
		{Name: "BeforeTool", Ours: "pre_tool_call", Served: true},
		{Name: "AfterTool", Ours: "post_tool_call", Served: true},
		{Name: "AfterAgent", Ours: "turn_end", Served: true},
		{Name: "PreCompress", Served: true, Compacts: true},
		{Name: "BeforeModel", Ours: "pre_send"}, {Name: "AfterModel", Ours: "post_llm_call"}, {Name: "BeforeToolSelection"},
		{Name: "Notification"},
	},
	Tools: []Tool{
		{Names: "run_shell_command", Kind: "shell", Command: "command", CWD: "directory dir_path"},
		{Names: "read_file", Kind: "read", Paths: "file_path"},
		{Names: "read_many_files", Kind: "read", Paths: "include"},
		{Names: "list_directory", Kind: "read", Paths: "dir_path"},
		{Names: "write_file", Kind: "write", Paths: "file_path", Content: "content"},
		{Names: "replace", Kind: "write", Paths: "file_path", Content: "new_string"},
		{Names: "grep_search search_file_content", Kind: "search", Query: "pattern", Paths: "dir_path path", Globs: "include_pattern include"},
		{Names: "glob", Kind: "search", Query: "pattern", Paths: "dir_path path", Globs: "pattern"},
		{Names: "google_web_search", Kind: "search", Query: "query"},
		{Names: "web_fetch", Kind: "fetch", URL: "prompt"},
		{Names: "invoke_agent", Kind: "agent", Prompt: "prompt"},
		{Names: "activate_skill", Kind: "agent", Prompt: "name"},
	},
	ReportsRan: true,
	Canary: `{"session_id":@SESSION@,"cwd":@FOLDER@,"hook_event_name":"BeforeTool","tool_name":@TOOL@,` +
		`"tool_input":@ARGS@}`,
	lifts: []lift{
		{By: "another hook that answers `tool_input`", Ours: comparesRan, Attacks: "another hook"},
		{By: "`hooksConfig.enabled = false` of the user or the project", StoppedBy: "`hooksConfig.enabled`", Ours: doctorSaysIt,
			Attacks: "hooksConfig of the user, hooksConfig of the project"},
		{By: "`hooksConfig.disabled` with starhost's line", Ours: doctorSaysIt, Attacks: "hooksConfig.disabled with the line"},
		{By: "`GEMINI_CLI_HOME`", StoppedBy: managedHooks, Ours: doctorBlind, Attacks: "GEMINI_CLI_HOME"},
		{By: "`GEMINI_CLI_SYSTEM_SETTINGS_PATH`, which replaces the managed file", Ours: doctorBlind, Attacks: "GEMINI_CLI_SYSTEM_SETTINGS_PATH"},
	},
}
