package hook

import "github.com/starhost/starhost/agents"

// vscode is the agent of Visual Studio Code. It has Claude Code's events, but other names for the
// event and the session. It takes no context with a prompt.
var vscode = &Agent{
	Agent: agents.Find("vscode"), showsMessages: true,
	nameOf: vscodeForm.nameIn, toolEvent: "PreToolUse",
	members: []memberForm{{kindPrompt, "prompt", `"`}, {kindTool, "tool_input", "{"}},
	read:    vscodeForm.read, write: writeClaude,
	config: nestedSettings{guards: "UserPromptSubmit PreToolUse", others: "PostToolUse PreCompact Stop", isFlat: true}.format,
	intro:  ".github/hooks/starhost.json of a repository, or ~/.copilot/hooks/starhost.json",
}

var vscodeForm = &form{
	event: "hookEventName", session: "sessionId", workspace: "cwd", prompt: "prompt", tool: "tool_name",
	input: "tool_input", callID: "tool_use_id", result: "tool_response",
}
