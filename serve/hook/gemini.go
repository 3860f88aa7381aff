package hook

import "github.com/starhost/starhost/agents"

// gemini is Google's agent for the terminal. It merges new arguments into the old ones.
var gemini = &Agent{
	Agent: agents.Find("gemini"), retainsContext: true, mergesArgs: true, showsMessages: true,
	nameOf: geminiForm.nameIn, toolEvent: "BeforeTool",
	members: []memberForm{
		{kindPrompt, "session_id", `"`}, {kindPrompt, "prompt", `"`}, {kindTool, "session_id", `"`}, {kindTool, "tool_input", "{"},
	},
	read: readGemini, write: writeGemini,
	config: nestedSettings{
		guards: "BeforeAgent BeforeTool", others: "AfterTool PreCompress AfterAgent SessionEnd", inMillis: true,
		managed: map[string]any{"hooksConfig": map[string]any{"enabled": true}},
	}.format,
	intro: "~/.gemini/settings.json, or .gemini/settings.json of a project",
}

var geminiForm = &form{
	event: "hook_event_name", session: "session_id", workspace: "cwd", prompt: "prompt", tool: "tool_name",
	input: "tool_input", result: "tool_response.llmContent", failure: "tool_response.error", reply: "prompt_response",
}

// readGemini decodes an event. Gemini CLI sends PreCompress with the trigger auto before each
// request to the model, also when it shortens nothing (0.61.0 with a fake model, 2026-11-23). If
// that counted as a compaction, each prompt would repeat the context.
func readGemini(a *Agent, payload []byte) (*Event, error) {
	e, err := geminiForm.read(a, payload)
	if err == nil && e.kind == kindCompact && object(e.raw).textField("trigger") == "auto" {
		e.kind = kindNone
	}
	return e, err
}

func writeGemini(e *Event, v *verdict) (Answer, error) {
	specific, out := map[string]any{}, map[string]any{}
	if e.kind == kindPrompt && v.context != "" {
		specific["additionalContext"] = v.context
	}
	if e.kind == kindTool && v.args != nil {
		specific["tool_input"] = v.args
	}
	if e.kind == kindResult && v.result != nil {
		v.block, v.reason = true, *v.result // the reason takes the place of the result
	}
	if len(specific) > 0 && !v.block {
		specific["hookEventName"] = e.name
		out["hookSpecificOutput"] = specific
	}
	if v.notice != "" {
		out["systemMessage"] = v.notice
	}
	switch {
	case v.stop && e.kind == kindTool:
		out["continue"], out["stopReason"] = false, v.reason
		fallthrough
	case v.block:
		out["decision"], out["reason"] = "deny", v.reason
	}
	if v.block && e.kind != kindResult {
		return e.agent.blockingAnswer(out, v.reason), nil
	}
	return jsonAnswer(out), nil
}
