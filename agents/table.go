package agents

import "time"

// codex sends the name Bash for its shell tools to hooks; models use the other names. It has Claude
// Code's events, and refuses an answer with a member that its schemas do not have: codex-rs/hooks/
// schema/generated of openai/codex. Version 0.169 was measured.
var codex = &Agent{
	Name: "codex", Title: "Codex", ToolPrefix: "mcp__starhost__", MCPPrefix: "mcp__", MCPSeparator: "__",
	Served: true, Timeout: 30 * time.Second, BlockCode: 2, FailCode: 1,
	ForeignFields: []string{"hookEventName", "sessionId", "toolName", "toolArgs", "tool_result"},
	Rewrites:      "PreToolUse", Redacts: "PostToolUse", RefusesPrompts: true, TakesContext: true, Unseen: "Bash",
	Missing: "runs the call", Seen: "0.169.0, run",
	// developers.openai.com/codex/hooks: Codex reads hooks.json beside each config.toml, and trusts
	// those of the system.
	Files: Files{
		Program: "codex", Env: "CODEX_HOME", Folder: "~/.codex", User: "hooks.json", Project: ".codex/hooks.json",
		Linux: "/etc/codex/hooks.json", MacOS: "/etc/codex/hooks.json", Windows: `C:/ProgramData/OpenAI/Codex/hooks.json`,
		Off:         "features.hooks=false features.codex_hooks=false",
		OffIn:       []string{"user:config.toml", "project:.codex/config.toml", "managed:config.toml", "managed:requirements.toml"},
		ManagedOnly: "allow_managed_hooks_only=true",
		Next:        "trust the hooks in Codex by /hooks, unless they are managed",
	},
	AllEvents: true,
	Events: []Event{
		{Name: "SessionStart", Ours: "session_start"},
		{Name: "SessionEnd", Ours: "session_end", Served: true},
		{Name: "UserPromptSubmit", Ours: "turn_start", Served: true},
		{Name: "PreToolUse", Ours: "pre_tool_call", Served: true},
		{Name: "PermissionRequest", Ours: "approve_tool_call", Served: true},
		{Name: "PostToolUse", Ours: "post_tool_call", Served: true},
		{Name: "Stop", Ours: "turn_end", Served: true},
		{Name: "PostCompact", Served: true, Compacts: true},
		{Name: "PreCompact"}, {Name: "SubagentStart"}, {Name: "SubagentStop"}, {Name: "StopFailure"}, {Name: "Interrupt"},
	},
	Tools: []Tool{
		{Names: "Bash", Kind: "shell", Command: "command", CWD: "workdir ?"}, // hooks do not get workdir
		{Names: "shell local_shell shell_command", Kind: "shell", Command: "command", CWD: "workdir"},
		{Names: "exec_command", Kind: "shell", Command: "cmd command", CWD: "workdir"},
		{Names: "write_stdin", Kind: "shell", Command: "chars", CWD: "?"},
		{Names: "apply_patch", Kind: "write", Patch: "command input patch"},
		{Names: "view_image", Kind: "read", Paths: "path"},
		{Names: "spawn_agent send_input close_agent resume_agent wait_agent", Kind: "agent", Prompt: "message target targets id"},
	},
}

// vscode has a name for models and an id for each tool, and other names in the samples of its docs.
// The events are those of code.visualstudio.com/docs/agents/reference/hooks-reference, 2026-10-14.
var vscode = &Agent{
	Name: "vscode", Title: "VS Code", ToolPrefix: "mcp_starhost_", MCPPrefix: "mcp_", MCPSeparator: "_",
	Served: true, Timeout: 30 * time.Second, BlockCode: 2, FailCode: 1,
	ForeignFields: []string{"turn_id", "hook_event_name", "session_id", "toolName", "toolArgs", "tool_result", "permission_mode"},
	Asks:          "PreToolUse", Rewrites: "PreToolUse", RefusesPrompts: true,
	Missing: "runs the call", Seen: "docs of 2026-10-14",
	// code.visualstudio.com/docs/agent-customization/hooks, 2026-10-14. Copilot reads the same
	// folders.
	Files: Files{
		Folder: "~/.copilot", User: "hooks/starhost-vscode.json", Project: ".github/hooks/starhost-vscode.json",
		SharedWith: "copilot",
	},
	Events: []Event{
		{Name: "SessionStart", Ours: "session_start"},
		{Name: "UserPromptSubmit", Ours: "turn_start", Served: true},
		{Name: "PreToolUse", Ours: "pre_tool_call", Served: true},
		{Name: "PostToolUse", Ours: "post_tool_call", Served: true},
		{Name: "Stop", Ours: "turn_end", Served: true},
		{Name: "PreCompact", Served: true, Compacts: true},
		{Name: "SubagentStart"}, {Name: "SubagentStop"},
	},
	Tools: []Tool{
		{Names: "run_in_terminal runInTerminal runTerminalCommand", Kind: "shell", Command: "command", CWD: "?"},
		{Names: "create_and_run_task copilot_createAndRunTask", Kind: "shell", Command: "task.command"},
		{Names: "read_file copilot_readFile", Kind: "read", Paths: "filePath"},
		{Names: "list_dir copilot_listDirectory", Kind: "read", Paths: "path"},
		{Names: "create_file createFile copilot_createFile", Kind: "write", Paths: "filePath", Content: "content"},
		{Names: "create_directory copilot_createDirectory", Kind: "write", Paths: "dirPath"},
		{Names: "replace_string_in_file copilot_replaceString", Kind: "write", Paths: "filePath", Content: "newString"},
		{Names: "multi_replace_string_in_file copilot_multiReplaceString", Kind: "write", Paths: "replacements.filePath", Content: "replacements.newString"},
		{Names: "insert_edit_into_file copilot_insertEdit", Kind: "write", Paths: "filePath", Content: "code"},
		{Names: "edit_files editFiles copilot_editFiles", Kind: "write", Paths: "filePath files"},
		{Names: "edit_notebook_file copilot_editNotebook", Kind: "write", Paths: "filePath", Content: "newCode"},
		{Names: "apply_patch copilot_applyPatch", Kind: "write", Patch: "input"},
		{Names: "grep_search copilot_findTextInFiles file_search copilot_findFiles semantic_search copilot_searchCodebase", Kind: "search", Query: "query"},
		{Names: "fetch_webpage copilot_fetchWebPage", Kind: "fetch", URL: "urls"},
		{Names: "open_simple_browser copilot_openSimpleBrowser", Kind: "fetch", URL: "url"},
		{Names: "runSubagent", Kind: "agent", Prompt: "prompt"},
	},
}

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
}

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
}

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
}

// droid has Claude Code's events: docs.factory.ai/reference/hooks-reference, 2026-11. Version 0.225
// runs a call about which a hook asks, also with a person present. Tools of other servers are
// SERVER___TOOL there. It merges new arguments into the old ones. Its exec runs no hook for a
// prompt, its terminal does (read in version 0.225.2).
var droid = &Agent{
	Name: "droid", Title: "Factory Droid", ToolPrefix: "starhost___", MCPSeparator: "___",
	Served: true, Timeout: 30 * time.Second, BlockCode: 2, FailCode: 1,
	ForeignFields: []string{"turn_id", "hookEventName", "sessionId", "toolName", "toolArgs", "tool_result"},
	Rewrites:      "PreToolUse", RefusesPrompts: true, TakesContext: true,
	Missing: "runs the call", Seen: "0.225.2, run",
	// docs.factory.ai/enterprise/hierarchical-settings-and-org-control. Droid does not read
	// hooks.json of a project: issue 3 of Factory-AI/factory.
	Files: Files{
		Program: "droid", ProjectEnv: "FACTORY_PROJECT_DIR", Folder: "~/.factory", User: "settings.json", Project: ".factory/settings.json",
		Linux: "/etc/factory/settings.json", MacOS: "/Library/Application Support/Factory/settings.json",
		Off: "hooks.hooksDisabled=true", OffIn: []string{"user:settings.local.json", "project:.factory/settings.local.json"},
		ManagedOn: "hooks.hooksDisabled=false",
	},
	Events: []Event{
		{Name: "SessionStart", Ours: "session_start"},
		{Name: "SessionEnd", Ours: "session_end", Served: true},
		{Name: "UserPromptSubmit", Ours: "turn_start", Served: true},
		{Name: "PreToolUse", Ours: "pre_tool_call", Served: true},
		{Name: "PostToolUse", Ours: "post_tool_call", Served: true},
		{Name: "Stop", Ours: "turn_end", Served: true},
		{Name: "Notification"}, {Name: "SubagentStop"}, {Name: "PreCompact"},
	},
	Tools: []Tool{
		{Names: "Execute Bash", Kind: "shell", Command: "command"},
		{Names: "Read", Kind: "read", Paths: "file_path"},
		{Names: "LS", Kind: "read", Paths: "directory_path path"},
		{Names: "Create Write", Kind: "write", Paths: "file_path", Content: "content"},
		{Names: "Edit MultiEdit", Kind: "write", Paths: "file_path", Content: "new_str new_string edits.new_str edits.new_string"},
		{Names: "ApplyPatch", Kind: "write", Patch: "input patch"},
		{Names: "Grep", Kind: "search", Query: "pattern", Paths: "path", Globs: "glob_pattern glob"},
		{Names: "Glob", Kind: "search", Query: "patterns pattern", Paths: "folder path", Globs: "patterns pattern"},
		{Names: "WebSearch", Kind: "search", Query: "query"},
		{Names: "FetchUrl WebFetch", Kind: "fetch", URL: "url"},
		{Names: "Task Loop", Kind: "agent", Prompt: "prompt"},
		{Names: "Skill", Kind: "agent", Prompt: "skill"},
	},
}

// goose has only tools of extensions, which are MCP servers. The events and the developer's tools
// are those of docs/guides/context-engineering/hooks.md in documentation/ of block/goose at
// 0825b570490d.
var goose = &Agent{
	Name: "goose", Title: "goose", ToolPrefix: "starhost__", MCPSeparator: "__",
	Served: true, Timeout: 30 * time.Second, BlockCode: 2, FailCode: 1,
	ForeignFields: []string{"hook_event_name", "hookEventName", "sessionId", "toolName", "toolArgs", "tool_result", "permission_mode"},
	Missing:       "refuses (`on_failure: \"block\"` of `PreToolUse`)", Seen: "docs at 0825b570490d",
	Files: Files{
		Program: "goose", Folder: "~/.agents", User: "plugins/starhost/hooks/hooks.json",
		Project: ".agents/plugins/starhost/hooks/hooks.json",
	},
	Events: []Event{
		{Name: "SessionStart", Ours: "session_start"},
		{Name: "SessionEnd", Ours: "session_end", Served: true},
		{Name: "UserPromptSubmit", Ours: "turn_start", Served: true},
		{Name: "PreToolUse", Ours: "pre_tool_call", Served: true},
		{Name: "Stop", Ours: "turn_end", Served: true},
		{Name: "PreToolUseResult"}, {Name: "PostToolUse"}, {Name: "PostToolUseFailure"}, {Name: "BeforeReadFile"},
		{Name: "AfterFileEdit"}, {Name: "BeforeShellExecution"}, {Name: "AfterShellExecution"},
	},
	Tools: []Tool{
		{Names: "developer__shell", Kind: "shell", Command: "command"},
		{Names: "developer__write", Kind: "write", Paths: "path", Content: "content"},
		{Names: "developer__edit", Kind: "write", Paths: "path", Content: "after"},
		{Names: "developer__tree", Kind: "read", Paths: "path"},
		{Names: "developer__read_image", Kind: "read", Paths: "source"},
		{Names: "developer__text_editor", If: "command=view", Kind: "read", Paths: "path"},
		{Names: "developer__text_editor", Kind: "write", Paths: "path", Content: "file_text new_str"},
	},
}

// windsurf has an event for each kind of call. The event names the tool. The events are those of
// docs.windsurf.com/windsurf/cascade/hooks, 2026-11.
var windsurf = &Agent{
	Name: "windsurf", Title: "Windsurf",
	Served: true, Timeout: 30 * time.Second, BlockCode: 2, FailCode: 1,
	ForeignFields:  []string{"hook_event_name", "hookEventName", "sessionId", "session_id", "toolName", "tool_name", "toolArgs"},
	RefusesPrompts: true,
	Missing:        "runs the call", Seen: "docs of 2026-11",
	Files: Files{
		Program: "windsurf", Folder: "~/.codeium/windsurf", User: "hooks.json", Project: ".windsurf/hooks.json",
		Linux:   "/etc/windsurf/hooks.json",
		MacOS:   "/Library/Application Support/Windsurf/hooks.json",
		Windows: `C:/ProgramData/Windsurf/hooks.json`,
	},
	Events: []Event{
		{Name: "pre_user_prompt", Ours: "turn_start", Served: true},
		{Name: "pre_run_command", Ours: "pre_tool_call", Served: true},
		{Name: "pre_read_code", Ours: "pre_tool_call", Served: true},
		{Name: "pre_write_code", Ours: "pre_tool_call", Served: true},
		{Name: "pre_mcp_tool_use", Ours: "pre_tool_call", Served: true},
		{Name: "post_cascade_response", Ours: "turn_end", Served: true},
		{Name: "post_run_command"}, {Name: "post_read_code"}, {Name: "post_write_code"}, {Name: "post_mcp_tool_use"},
	},
	Tools: []Tool{
		{Names: "run_command", Kind: "shell", Command: "command_line", CWD: "cwd"},
		{Names: "read_code", Kind: "read", Paths: "file_path"},
		{Names: "write_code", Kind: "write", Paths: "file_path", Content: "edits.new_string"},
		{Names: "mcp_tool_use", Kind: "mcp", Server: "mcp_server_name", ServerTool: "mcp_tool_name", Arguments: "mcp_tool_arguments"},
	},
}

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
}

// cline has two forms of events and tools. The extension for VS Code has the events with capital
// letters: .clinerules/hooks/README.md of cline/cline at 38efa3b4be37. The command line has the
// others, and ends the turn at a refusal: sdk/packages/core/src/hooks and extensions/tools of
// cline/cline at 08a0ae50f23a. It does not read exit codes, runs no hook that could refuse a
// prompt, and lets a later hook replace the arguments that an earlier one judged.
var cline = &Agent{
	Name: "cline", Title: "Cline", ToolPrefix: "starhost__", MCPSeparator: "__",
	Served: true, Timeout: 30 * time.Second, BlockCode: 0, FailCode: 1,
	ForeignFields: []string{"hook_event_name", "hookEventName", "sessionId", "session_id", "tool_name", "toolArgs"},
	Rewrites:      "tool_call", RefusesPrompts: true, TakesContext: true,
	Missing: "refuses", Seen: "3.0.65, run; the extension: docs at 38efa3b4be37",
	Files: Files{
		Program: "cline", Folder: "~/Documents/Cline", User: "Hooks/PreToolUse", Project: ".clinerules/hooks/PreToolUse",
		Next: "switch hooks on in the settings of Cline's extension; its command line always runs them",
	},
	AllEvents: true,
	Events: []Event{
		{Name: "UserPromptSubmit", Ours: "turn_start", Served: true},
		{Name: "PreToolUse", Ours: "pre_tool_call", Served: true},
		{Name: "PostToolUse", Ours: "post_tool_call", Served: true},
		{Name: "PreCompact", Served: true, Compacts: true},
		{Name: "TaskStart", Ours: "session_start"}, {Name: "TaskResume"}, {Name: "TaskCancel"}, {Name: "TaskComplete"},
		{Name: "tool_call", Ours: "pre_tool_call", Served: true},
		{Name: "tool_result", Ours: "post_tool_call", Served: true},
		{Name: "pre_compact", Served: true, Compacts: true},
		{Name: "agent_start", Ours: "session_start"}, {Name: "agent_resume"}, {Name: "agent_end", Ours: "turn_end"},
		{Name: "agent_abort"}, {Name: "agent_error", Ours: "error"}, {Name: "prompt_submit", Ours: "turn_start"},
		{Name: "session_shutdown", Ours: "session_end"},
	},
	Tools: []Tool{
		{Names: "run_commands", Kind: "shell", Command: "commands[] commands.command+args command+args cmd"},
		{Names: "execute_command", Kind: "shell", Command: "command"},
		{Names: "read_files", Kind: "read", Paths: "files.path files file_paths paths paths.path path"},
		{Names: "read_file list_files list_code_definition_names", Kind: "read", Paths: "path"},
		{Names: "editor", Kind: "write", Paths: "path", Content: "new_text"},
		{Names: "apply_patch", Kind: "write", Patch: "input"},
		{Names: "write_to_file", Kind: "write", Paths: "path", Content: "content"},
		{Names: "replace_in_file", Kind: "write", Paths: "path", Content: "diff"},
		{Names: "search_codebase", Kind: "search", Query: "queries"},
		{Names: "search_files", Kind: "search", Query: "regex", Paths: "path"},
		{Names: "fetch_web_content", Kind: "fetch", URL: "requests.url url"},
		{Names: "browser_action", Kind: "fetch", URL: "url"},
		{Names: "spawn_agent", Kind: "agent", Prompt: "task systemPrompt"},
		{Names: "team_spawn_teammate team_run_task team_send_message team_broadcast team_task", Kind: "agent",
			Prompt: "rolePrompt task subject body title description"},
		{Names: "skills", Kind: "agent", Prompt: "skill args"},
		{Names: "use_mcp_tool", Kind: "mcp", Server: "server_name", ServerTool: "tool_name", Arguments: "arguments"},
		{Names: "access_mcp_resource", Kind: "mcp", Server: "server_name"},
	},
}

// openhands has two generations of names. The events are those of openhands/sdk/hooks/types.py of
// OpenHands/software-agent-sdk at 06b329e38b2a.
var openhands = &Agent{
	Name: "openhands", Title: "OpenHands",
	Served: true, Timeout: 30 * time.Second, BlockCode: 2, FailCode: 1,
	ForeignFields:  []string{"hook_event_name", "hookEventName", "sessionId", "toolName", "toolArgs", "tool_result", "permission_mode"},
	RefusesPrompts: true, TakesContext: true,
	Missing: "runs the call", Seen: "source at 06b329e38b2a",
	Files:     Files{Program: "openhands", Folder: "~/.openhands", User: "hooks.json", Project: ".openhands/hooks.json"},
	AllEvents: true,
	Events: []Event{
		{Name: "SessionStart", Ours: "session_start"},
		{Name: "SessionEnd", Ours: "session_end", Served: true},
		{Name: "UserPromptSubmit", Ours: "turn_start", Served: true},
		{Name: "PreToolUse", Ours: "pre_tool_call", Served: true},
		{Name: "PostToolUse", Ours: "post_tool_call", Served: true},
		{Name: "Stop", Ours: "turn_end", Served: true},
		{Name: "Notification"},
	},
	Tools: []Tool{
		{Names: "terminal execute_bash", Kind: "shell", Command: "command", CWD: "?"},
		{Names: "file_editor str_replace_editor", If: "command=view", Kind: "read", Paths: "path"},
		{Names: "file_editor str_replace_editor", Kind: "write", Paths: "path", Content: "file_text new_str"},
	},
}

// opencode runs hooks in its own process: packages/plugin/src/index.ts of opencode, in
// @opencode-ai/plugin 1.18.33. The bridge of serve/hook passes its events on, and names the tools
// of servers, which are SERVER_TOOL there.
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
	AllEvents: true,
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
}
