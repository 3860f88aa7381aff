package agents

import "time"

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
	Transcripts: Transcripts{
		Folder: "~/.cline/data", Env: "CLINE_DIR/data CLINE_DATA_DIR", Files: "sessions/*/*.messages.json", HasIDs: true, VagueFailures: true, HidesDenied: true,
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
	Canary: `{"hookName":"tool_call","taskId":@SESSION@,"workspaceRoots":[@FOLDER@],` +
		`"tool_call":{"id":"t","name":@TOOL@,"input":@ARGS@}}`,
	lifts: []lift{
		{By: "another hook that answers `overrideInput`", Ours: recordsRan, Attacks: "another hook"},
	},
}
