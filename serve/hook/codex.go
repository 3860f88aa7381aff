package hook

import "github.com/starhost/starhost/agents"

// codex is OpenAI's agent for the terminal. It has Claude Code's events. It ignores continue in an
// answer about a tool, takes new arguments only from a hook that allows the call, and replaces a
// result by the reason of a block.
var codex = &Agent{
	Agent: agents.Find("codex"), retainsContext: true, showsMessages: true,
	nameOf: hookEventName, toolEvent: "PreToolUse", members: claudeMembers,
	read: readClaude, write: writeCodex,
	config: nestedSettings{
		guards: "UserPromptSubmit PreToolUse PermissionRequest", others: "PostToolUse PostCompact Stop SessionEnd",
	}.format,
	intro: "~/.codex/hooks.json, or .codex/hooks.json of a project; then trust the hooks in Codex by /hooks",
}

// writeCodex writes only members of Codex's schemas, because Codex refuses an answer with another
// one.
func writeCodex(e *Event, v *verdict) (Answer, error) {
	if e.kind == kindResult && v.result != nil {
		return jsonAnswer(map[string]any{"decision": "block", "reason": *v.result}), nil
	}
	v.stop = false
	if e.kind == kindTool && v.args != nil && !v.block {
		v.allow = true // without it, Codex runs the old arguments
	}
	return writeClaude(e, v)
}
