package agents

// The agents below have no adapter yet. Their rows list the names of tools, so that a guard for a
// kind of call works in them as well.

// codex sends the name Bash for its shell tools to hooks; models use the other names.
var codex = &Agent{
	Name: "codex", Title: "Codex", MCPPrefix: "mcp__", MCPSeparator: "__",
	Tools: []Tool{
		{Names: "Bash shell local_shell", Kind: "shell", Command: "command", CWD: "workdir"},
		{Names: "exec_command", Kind: "shell", Command: "cmd command", CWD: "workdir"},
		{Names: "apply_patch", Kind: "write", Patch: "command input patch"},
	},
}

// vscode has a name for models and an id for each tool, and other names in the samples of its docs.
var vscode = &Agent{
	Name: "vscode", Title: "VS Code", MCPPrefix: "mcp_", MCPSeparator: "_",
	Tools: []Tool{
		{Names: "run_in_terminal runInTerminal runTerminalCommand", Kind: "shell", Command: "command"},
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

// cursor names tools in preToolUse as Claude Code does, and in snake case elsewhere.
var cursor = &Agent{
	Name: "cursor", Title: "Cursor", MCPPrefix: "MCP:",
	Tools: []Tool{
		{Names: "Shell run_terminal_cmd", Kind: "shell", Command: "command"},
		{Names: "Read read_file", Kind: "read", Paths: "file_path target_file path"},
		{Names: "Write Edit StrReplace TabWrite edit_file", Kind: "write", Paths: "file_path target_file path", Content: "content contents new_string code_edit edits.new_string"},
		{Names: "Delete", Kind: "write", Paths: "file_path target_file path"},
		{Names: "Grep grep_search file_search", Kind: "search", Query: "pattern query", Paths: "path"},
		{Names: "web_search", Kind: "search", Query: "query search_term"},
		{Names: "Task", Kind: "agent", Prompt: "prompt"},
	},
}

var gemini = &Agent{
	Name: "gemini", Title: "Gemini CLI", MCPPrefix: "mcp_", MCPSeparator: "_",
	Tools: []Tool{
		{Names: "run_shell_command", Kind: "shell", Command: "command", CWD: "directory dir_path"},
		{Names: "read_file", Kind: "read", Paths: "file_path"},
		{Names: "read_many_files", Kind: "read", Paths: "include"},
		{Names: "list_directory", Kind: "read", Paths: "dir_path"},
		{Names: "write_file", Kind: "write", Paths: "file_path", Content: "content"},
		{Names: "replace", Kind: "write", Paths: "file_path", Content: "new_string"},
		{Names: "grep_search search_file_content glob", Kind: "search", Query: "pattern", Paths: "dir_path"},
		{Names: "google_web_search", Kind: "search", Query: "query"},
		{Names: "web_fetch", Kind: "fetch", URL: "prompt"},
	},
}

var qwen = &Agent{
	Name: "qwen", Title: "Qwen Code", MCPPrefix: "mcp__", MCPSeparator: "__",
	Tools: []Tool{
		{Names: "run_shell_command", Kind: "shell", Command: "command", CWD: "directory dir_path"},
		{Names: "read_file", Kind: "read", Paths: "file_path absolute_path"},
		{Names: "list_directory", Kind: "read", Paths: "path"},
		{Names: "write_file", Kind: "write", Paths: "file_path", Content: "content"},
		{Names: "edit replace", Kind: "write", Paths: "file_path", Content: "new_string"},
		{Names: "grep_search search_file_content glob", Kind: "search", Query: "pattern", Paths: "path"},
		{Names: "web_search", Kind: "search", Query: "query"},
		{Names: "web_fetch", Kind: "fetch", URL: "url"},
		{Names: "agent task", Kind: "agent", Prompt: "prompt"},
	},
}

var droid = &Agent{
	Name: "droid", Title: "Factory Droid", MCPPrefix: "mcp__", MCPSeparator: "__",
	Tools: []Tool{
		{Names: "Execute Bash", Kind: "shell", Command: "command"},
		{Names: "Read", Kind: "read", Paths: "file_path"},
		{Names: "LS", Kind: "read", Paths: "directory_path path"},
		{Names: "Create Write", Kind: "write", Paths: "file_path", Content: "content"},
		{Names: "Edit MultiEdit", Kind: "write", Paths: "file_path", Content: "new_str new_string edits.new_str edits.new_string"},
		{Names: "ApplyPatch", Kind: "write", Patch: "input patch"},
		{Names: "Grep Glob", Kind: "search", Query: "pattern patterns", Paths: "path folder"},
		{Names: "WebSearch", Kind: "search", Query: "query"},
		{Names: "FetchUrl WebFetch", Kind: "fetch", URL: "url"},
		{Names: "Task", Kind: "agent", Prompt: "prompt"},
	},
}

// goose has only tools of extensions, which are MCP servers.
var goose = &Agent{
	Name: "goose", Title: "goose", MCPSeparator: "__",
	Tools: []Tool{
		{Names: "developer__shell", Kind: "shell", Command: "command"},
		{Names: "developer__text_editor", If: "command=view", Kind: "read", Paths: "path"},
		{Names: "developer__text_editor", Kind: "write", Paths: "path", Content: "file_text new_str"},
	},
}

// windsurf has an event for each kind of call. The event names the tool.
var windsurf = &Agent{
	Name: "windsurf", Title: "Windsurf",
	Tools: []Tool{
		{Names: "run_command", Kind: "shell", Command: "command_line", CWD: "cwd"},
		{Names: "read_code", Kind: "read", Paths: "file_path"},
		{Names: "write_code", Kind: "write", Paths: "file_path", Content: "edits.new_string"},
		{Names: "mcp_tool_use", Kind: "mcp", Server: "mcp_server_name", ServerTool: "mcp_tool_name", Arguments: "mcp_tool_arguments"},
	},
}

var kiro = &Agent{
	Name: "kiro", Title: "Kiro", MCPPrefix: "mcp__", MCPSeparator: "__",
	Tools: []Tool{
		{Names: "execute_bash shell", Kind: "shell", Command: "command"},
		{Names: "fs_read", Kind: "read", Paths: "path operations.path"},
		{Names: "fs_write", Kind: "write", Paths: "path", Content: "file_text content new_str"},
		{Names: "grep glob", Kind: "search", Query: "pattern", Paths: "path"},
		{Names: "web_search", Kind: "search", Query: "query"},
		{Names: "web_fetch", Kind: "fetch", URL: "url"},
		{Names: "use_subagent", Kind: "agent", Prompt: "prompt"},
	},
}

var cline = &Agent{
	Name: "cline", Title: "Cline",
	Tools: []Tool{
		{Names: "execute_command", Kind: "shell", Command: "command"},
		{Names: "read_file list_files list_code_definition_names", Kind: "read", Paths: "path"},
		{Names: "write_to_file", Kind: "write", Paths: "path", Content: "content"},
		{Names: "replace_in_file", Kind: "write", Paths: "path", Content: "diff"},
		{Names: "search_files", Kind: "search", Query: "regex", Paths: "path"},
		{Names: "browser_action", Kind: "fetch", URL: "url"},
	},
}

// openhands has two generations of names.
var openhands = &Agent{
	Name: "openhands", Title: "OpenHands",
	Tools: []Tool{
		{Names: "terminal execute_bash", Kind: "shell", Command: "command"},
		{Names: "file_editor str_replace_editor", If: "command=view", Kind: "read", Paths: "path"},
		{Names: "file_editor str_replace_editor", Kind: "write", Paths: "path", Content: "file_text new_str"},
	},
}

var opencode = &Agent{
	Name: "opencode", Title: "opencode",
	Tools: []Tool{
		{Names: "bash", Kind: "shell", Command: "command", CWD: "workdir"},
		{Names: "read list", Kind: "read", Paths: "filePath path"},
		{Names: "write", Kind: "write", Paths: "filePath", Content: "content"},
		{Names: "edit", Kind: "write", Paths: "filePath", Content: "newString"},
		{Names: "apply_patch patch", Kind: "write", Patch: "patchText"},
		{Names: "grep glob", Kind: "search", Query: "pattern", Paths: "path"},
		{Names: "websearch", Kind: "search", Query: "query"},
		{Names: "webfetch", Kind: "fetch", URL: "url"},
		{Names: "task", Kind: "agent", Prompt: "prompt"},
	},
}
