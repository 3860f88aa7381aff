package hook

import "github.com/starhost/starhost/agents"

// qwen is Alibaba's agent for the terminal, with Claude Code's events. It ignores new arguments and
// results. Without a terminal it denies a call about which a hook asks.
var qwen = &Agent{
	Agent: agents.Find("qwen"), HTTP: true, retainsContext: true, showsMessages: true,
	nameOf: claudeForm.nameIn, toolEvent: "PreToolUse", members: claudeMembers,
	read: readClaude, write: writeClaude,
	config: nestedSettings{
		guards: "UserPromptSubmit PreToolUse PermissionRequest", others: "PostToolUse PostToolUseFailure PostCompact Stop SessionEnd",
		inMillis: true, managed: map[string]any{"disableAllHooks": false},
	}.format,
	intro: "~/.qwen/settings.json, or .qwen/settings.json of a project",
}
