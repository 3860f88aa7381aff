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
	Transcripts: Transcripts{
		Folder: "~/.codex", Env: "CODEX_HOME", Files: "sessions/*/*/*/rollout-*.jsonl archived_sessions/rollout-*.jsonl", HasIDs: true,
		Quiet: "update_plan wait", Opaque: "exec",
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
	ReportsRan: true,
	Canary:     claudeCanary,
	lifts: []lift{
		{By: "another hook that answers `updatedInput`", StoppedBy: "`allow_managed_hooks_only`", Ours: comparesRan, Attacks: "another hook"},
		{By: "hooks that nobody trusts in `/hooks`, or that changed since", StoppedBy: managedHooks, Ours: doctorSaysIt, Attacks: "hooks that nobody trusts"},
		{By: "`enabled = false` in `hooks.state` of the user's `config.toml`", StoppedBy: managedHooks, Ours: doctorSaysIt, Attacks: "hooks.state"},
		{By: "`features.hooks = false`, also in a profile", StoppedBy: "`features.hooks` of `requirements.toml`", Ours: doctorSaysIt, Attacks: "features.hooks"},
		{By: "`--disable hooks` or `CODEX_HOME`", StoppedBy: managedHooks, Ours: doctorBlind, Attacks: "--disable hooks, CODEX_HOME"},
		{By: "`write_stdin` into a shell that runs, which asks no hook", Read: "version 0.169.0",
			Ours: "a command that starts an interpreter without a text needs an approval, which Codex denies"},
	},
}
