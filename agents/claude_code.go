package agents

import "time"

// claudeCode gives a hook 600 s, but only 30 s for UserPromptSubmit. At exit code 2 it blocks the event, and
// reads JSON or standard error. Any other code over 0 is a failure that blocks nothing. Codex, VS Code and
// Gemini have similar events.
var claudeCode = &Agent{
	Name: "claude-code", Title: "Claude Code", ToolPrefix: "mcp__starhost__",
	Timeout: 30 * time.Second, BlockCode: 2, FailCode: 1,
	ForeignFields: []string{"turn_id", "hookEventName", "sessionId", "toolName", "toolArgs", "tool_result"},
	Served:        true, MCPPrefix: "mcp__", MCPSeparator: "__",
	Asks: "*", Rewrites: "*", Redacts: "*", RefusesPrompts: true, TakesContext: true,
	Missing: "refuses, from version 2.1.295 (`onFailure: \"block\"`)", Seen: "2.1.332, run",
	// code.claude.com/docs/en/settings and managed-settings.
	Files: Files{
		Program: "claude", ProjectEnv: "CLAUDE_PROJECT_DIR", Env: "CLAUDE_CONFIG_DIR", Folder: "~/.claude", User: "settings.json", Project: ".claude/settings.json",
		Linux:   "/etc/claude-code/managed-settings.json",
		MacOS:   "/Library/Application Support/ClaudeCode/managed-settings.json",
		Windows: `C:/Program Files/ClaudeCode/managed-settings.json`,
		Off:     "disableAllHooks=true", OffIn: []string{"project:.claude/settings.local.json"}, ManagedOnly: "allowManagedHooksOnly=true",
	},
	Transcripts: Transcripts{
		Folder: "~/.claude", Env: "CLAUDE_CONFIG_DIR", HasIDs: true,
		Files: "projects/*/*.jsonl projects/*/*/subagents/agent-*.jsonl projects/*/*/subagents/workflows/*/agent-*.jsonl",
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
		{Name: "ConfigChange"}, {Name: "CwdChanged"}, {Name: "Elicitation"}, {Name: "ElicitationResult"},
		{Name: "FileChanged"}, {Name: "InstructionsLoaded"}, {Name: "Notification"}, {Name: "PermissionDenied"},
		{Name: "PostCompact"}, {Name: "PostToolBatch"}, {Name: "PreCompact"}, {Name: "Setup"},
		{Name: "StopFailure"}, {Name: "SubagentStart", Served: true, Branches: true}, {Name: "SubagentStop"}, {Name: "TaskCompleted"},
		{Name: "TaskCreated"}, {Name: "TeammateIdle"}, {Name: "UserPromptExpansion"}, {Name: "WorktreeCreate"},
		{Name: "WorktreeRemove"},
	},
	Tools: []Tool{
		{Names: "Bash PowerShell", Kind: "shell", Command: "command"},
		{Names: "Read", Kind: "read", Paths: "file_path"},
		{Names: "NotebookRead", Kind: "read", Paths: "notebook_path"},
		{Names: "LS", Kind: "read", Paths: "path"},
		{Names: "Write", Kind: "write", Paths: "file_path", Content: "content"},
		{Names: "Edit MultiEdit", Kind: "write", Paths: "file_path", Content: "new_string edits.new_string"},
		{Names: "NotebookEdit", Kind: "write", Paths: "notebook_path", Content: "new_source"},
		{Names: "Glob", Kind: "search", Query: "pattern", Paths: "path", Globs: "pattern"},
		{Names: "Grep", Kind: "search", Query: "pattern", Paths: "path", Globs: "glob"},
		{Names: "WebSearch", Kind: "search", Query: "query"},
		{Names: "WebFetch", Kind: "fetch", URL: "url"},
		{Names: "Task Agent CronCreate ScheduleWakeup SendMessage", Kind: "agent", Prompt: "prompt message"},
		{Names: "Skill", Kind: "agent", Prompt: "skill command args"},
	},
	ReportsRan: true,
	Canary:     claudeCanary,
	lifts: []lift{
		{By: "another hook that answers `updatedInput`", StoppedBy: "`allowManagedHooksOnly`", Ours: comparesRan, Attacks: "another hook"},
		{By: "the code of a plugin", StoppedBy: "`allowManagedHooksOnly`", Attacks: "the code of a plugin",
			Ours: "doctor lists enabled plugins; a call that ran though it was refused ends the session's calls"},
		{By: "`disableAllHooks` in the settings of the user or the project", StoppedBy: managedHooks, Ours: doctorSaysIt,
			Attacks: "disableAllHooks of the project, disableAllHooks of the folder"},
		{By: "`--bare`, `--safe-mode`, `--setting-sources`, `CLAUDE_CODE_SIMPLE` or `CLAUDE_CONFIG_DIR`", StoppedBy: managedHooks, Ours: doctorBlind,
			Attacks: "--bare, --safe-mode, --setting-sources, CLAUDE_CODE_SIMPLE, CLAUDE_CONFIG_DIR"},
		{By: "commands in skills and slash commands (`!`), which ask no hook", StoppedBy: "`disableSkillShellExecution`", Attacks: "a command in a skill",
			Ours: "`install --managed` writes the setting; the user's settings may have it, too"},
		{By: "settings in `~/.claude/remote-settings.json`, which replace the managed file", Ours: doctorSaysIt,
			Read: "version 2.1.330; 2.1.332 kept the managed file without an organisation's account"},
	},
}
