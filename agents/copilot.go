package agents

import "time"

// copilot has two names for most of its events. It denies a call if the hook ends with any exit
// code except 0, and reads JSON only at 0.
var copilot = &Agent{
	Name: "copilot", Title: "Copilot", ToolPrefix: "starhost-",
	Timeout: 30 * time.Second, BlockCode: 0, FailCode: 0,
	ForeignFields: []string{"turn_id", "hookEventName", "permission_mode", "tool_response", "extra"},
	Served:        true, MCPSeparator: "-",
	Asks: "*", Rewrites: "*", Redacts: "*", RefusesPrompts: true, TakesContext: true, ReplacesWords: true,
	Missing: "refuses; runs the call if it is late", Seen: "1.0.102, run",
	// docs.github.com/en/copilot/reference/hooks-reference; others read the folder of policies.
	Files: Files{
		Program: "copilot", Env: "COPILOT_HOME", Folder: "~/.copilot", User: "hooks/starhost.json", Project: ".github/hooks/starhost.json",
		Linux: "/etc/github-copilot/policy.d/starhost.json", MacOS: "/etc/github-copilot/policy.d/starhost.json",
		Windows: `C:/ProgramData/GitHub/Copilot/policy.d/starhost.json`,
		Off:     "disableAllHooks=true",
		OffIn:   []string{"project:.github/copilot/settings.json", "project:.github/copilot/settings.local.json"},

		SharedWith: "vscode",
	},
	Transcripts: Transcripts{Folder: "~/.copilot", Env: "COPILOT_HOME", Files: "session-state/*/events.jsonl", VagueFailures: true},
	AllEvents:   true,
	Events: []Event{
		{Name: "userPromptSubmitted", Ours: "turn_start", Served: true},
		{Name: "UserPromptSubmit", Ours: "turn_start", Served: true},
		{Name: "userPromptTransformed", Ours: "turn_start", Served: true},
		{Name: "preToolUse", Ours: "pre_tool_call", Served: true},
		{Name: "PreToolUse", Ours: "pre_tool_call", Served: true},
		{Name: "postToolUse", Ours: "post_tool_call", Served: true},
		{Name: "PostToolUse", Ours: "post_tool_call", Served: true},
		{Name: "postToolUseFailure", Ours: "post_tool_call", Served: true},
		{Name: "PostToolUseFailure", Ours: "post_tool_call", Served: true},
		{Name: "agentStop", Ours: "turn_end", Served: true}, {Name: "Stop", Ours: "turn_end", Served: true},
		{Name: "preCompact", Served: true, Compacts: true}, {Name: "PreCompact", Served: true, Compacts: true},
		{Name: "sessionStart", Ours: "session_start"}, {Name: "SessionStart", Ours: "session_start"},
		{Name: "sessionEnd", Ours: "session_end", Served: true}, {Name: "SessionEnd", Ours: "session_end", Served: true},
		{Name: "errorOccurred", Ours: "error"}, {Name: "ErrorOccurred", Ours: "error"},
		{Name: "subagentStart"}, {Name: "SubagentStart"}, {Name: "subagentStop"}, {Name: "SubagentStop"},
		{Name: "notification"}, {Name: "Notification"},
	},
	Tools: []Tool{
		{Names: "bash powershell", Kind: "shell", Command: "command", CWD: "?"},
		{Names: "write_bash write_powershell", Kind: "shell", Command: "input", CWD: "?"},
		{Names: "view", Kind: "read", Paths: "path"},
		{Names: "create", Kind: "write", Paths: "path", Content: "file_text content"},
		{Names: "edit", Kind: "write", Paths: "path", Content: "new_str"},
		{Names: "apply_patch", Kind: "write", Patch: "patch input"},
		{Names: "grep", Kind: "search", Query: "pattern", Paths: "path paths", Globs: "glob"},
		{Names: "glob", Kind: "search", Query: "pattern", Paths: "path paths", Globs: "pattern"},
		{Names: "web_fetch", Kind: "fetch", URL: "url"},
		{Names: "task write_agent", Kind: "agent", Prompt: "prompt message"},
		{Names: "skill", Kind: "agent", Prompt: "skill"},
	},
	ReportsRan: true,
	Canary:     `{"sessionId":@SESSION@,"timestamp":1,"cwd":@FOLDER@,"toolName":@TOOL@,"toolArgs":@ARGS@}`,
	lifts: []lift{
		{By: "another hook that answers `modifiedArgs`", Ours: comparesRan, Attacks: "another hook of a trusted folder"},
		{By: "`disableAllHooks` in the settings of the project", StoppedBy: managedHooks, Ours: doctorSaysIt,
			Attacks: "disableAllHooks of a trusted folder"},
		{By: "`COPILOT_HOME`", StoppedBy: managedHooks, Ours: doctorBlind, Attacks: "COPILOT_HOME"},
	},
}
