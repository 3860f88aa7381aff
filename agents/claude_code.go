package agents

var claudeCode = &Agent{
	Name: "claude-code", Title: "Claude Code", ToolPrefix: "mcp__starhost__",
	Events: []Event{
		{Name: "SessionStart", Ours: "session_start"},
		{Name: "SessionEnd", Ours: "session_end", Served: true},
		{Name: "UserPromptSubmit", Ours: "turn_start", Served: true},
		{Name: "PreToolUse", Ours: "pre_tool_call", Served: true},
		{Name: "PermissionRequest", Ours: "approve_tool_call", Served: true},
		{Name: "PostToolUse", Ours: "post_tool_call", Served: true},
		{Name: "PostToolUseFailure", Ours: "post_tool_call", Served: true},
		{Name: "Stop", Ours: "turn_end", Served: true},
		{Name: "ConfigChange"}, {Name: "CwdChanged"}, {Name: "Elicitation"}, {Name: "ElicitationResult"},
		{Name: "FileChanged"}, {Name: "InstructionsLoaded"}, {Name: "Notification"}, {Name: "PermissionDenied"},
		{Name: "PostCompact"}, {Name: "PostToolBatch"}, {Name: "PreCompact"}, {Name: "Setup"},
		{Name: "StopFailure"}, {Name: "SubagentStart"}, {Name: "SubagentStop"}, {Name: "TaskCompleted"},
		{Name: "TaskCreated"}, {Name: "TeammateIdle"}, {Name: "UserPromptExpansion"}, {Name: "WorktreeCreate"},
		{Name: "WorktreeRemove"},
	},
}
