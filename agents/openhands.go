package agents

import "time"

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
	Canary: `{"event_type":"PreToolUse","tool_name":@TOOL@,"tool_input":@ARGS@,"session_id":@SESSION@,` +
		`"working_dir":@FOLDER@}`,
}
