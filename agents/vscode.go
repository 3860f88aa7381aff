package agents

import "time"

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
	Canary: `{"sessionId":@SESSION@,"cwd":@FOLDER@,"hookEventName":"PreToolUse","tool_name":@TOOL@,` +
		`"tool_input":@ARGS@,"tool_use_id":"t"}`,
}
