package agents

import "time"

// droid has Claude Code's events: docs.factory.ai/reference/hooks-reference, 2026-11. If a hook asks about a
// call, version 0.225 runs the call, also if a person is present. The agent names tools of other servers
// SERVER___TOOL. It merges new arguments into the old ones. Its command exec runs no hook for a prompt, its
// terminal does (read in version 0.225.2).
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
	Canary: claudeCanary,
	lifts: []lift{
		{By: "another hook that answers `updatedInput`", Ours: recordsRan, Attacks: "another hook"},
		{By: "`hooks.hooksDisabled` in the settings of the user or the project", StoppedBy: "`hooks.hooksDisabled`", Ours: doctorSaysIt,
			Attacks: "hooksDisabled of the user, hooksDisabled of the project"},
		{By: "`--settings` or `FACTORY_HOME_OVERRIDE`", StoppedBy: "`hooks.hooksDisabled`", Ours: doctorBlind, Attacks: "--settings, FACTORY_HOME_OVERRIDE"},
	},
}
