package hook

import "github.com/starhost/starhost/agents"

// openhands is the agent of All Hands AI, with the events of Claude Code in another form.
var openhands = &Agent{
	Agent: agents.Find("openhands"), retainsContext: true,
	nameOf: openhandsForm.nameIn, toolEvent: "PreToolUse",
	members: []memberForm{{kindTool, "tool_input", "{n"}},
	read:    openhandsForm.read, write: writeOpenHands,
	config: nestedSettings{guards: "UserPromptSubmit PreToolUse", others: "PostToolUse Stop SessionEnd", matcher: "*"}.format,
	intro:  ".openhands/hooks.json of a project, or ~/.openhands/hooks.json",
}

var openhandsForm = &form{
	event: "event_type", session: "session_id", workspace: "working_dir", prompt: "message", tool: "tool_name",
	input: "tool_input", result: "tool_output tool_response",
}

func writeOpenHands(e *Event, v *verdict) (Answer, error) {
	if v.block {
		return e.agent.blockingAnswer(map[string]any{"decision": "deny", "reason": v.reason}, v.reason), nil
	}
	out := map[string]any{}
	if v.context != "" {
		out["additionalContext"] = v.context
	}
	return jsonAnswer(out), nil
}
