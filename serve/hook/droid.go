package hook

import "github.com/starhost/starhost/agents"

// droid is Factory's agent for the terminal, with Claude Code's events.
var droid = &Agent{
	Agent: agents.Find("droid"), retainsContext: true, mergesArgs: true, showsMessages: true,
	nameOf: claudeForm.nameIn, toolEvent: "PreToolUse", members: claudeMembers,
	read: readClaude, write: writeClaude,
	config: nestedSettings{
		guards: "UserPromptSubmit PreToolUse", others: "PostToolUse Stop SessionEnd", matcher: "*",
		managedHooks: map[string]any{"hooksDisabled": false},
	}.format,
	intro: "~/.factory/settings.json, or .factory/settings.json of a project",
}
