package agents

import "time"

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
	Canary: `{"agent_action_name":"pre_mcp_tool_use","trajectory_id":@SESSION@,` +
		`"tool_info":{"cwd":@FOLDER@,"mcp_server_name":"starhost","mcp_tool_name":@TOOL@,"mcp_tool_arguments":@ARGS@}}`,
}
