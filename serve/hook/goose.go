package hook

import "github.com/starhost/starhost/agents"

// goose is Block's agent. It reads a refusal from the exit code. Any output that is no decision counts as a
// failure.
var goose = &Agent{
	Agent:  agents.Find("goose"),
	nameOf: gooseForm.nameIn, toolEvent: "PreToolUse",
	members: []memberForm{{kindTool, "session_id", `"`}, {kindTool, "tool_input", "{n"}},
	read:    gooseForm.read, write: writeCode,
	config: nestedSettings{
		guards: "PreToolUse", others: "UserPromptSubmit Stop SessionEnd", failMember: "on_failure",
	}.format,
	intro: "~/.agents/plugins/starhost/hooks/hooks.json, beside a plugin.json with the name starhost",
	more: func(Settings) []Piece {
		return []Piece{{Name: "../plugin.json", Text: "{\"name\": \"starhost\", \"version\": \"1.0.0\"}\n", Whole: true}}
	},
}

var gooseForm = &form{
	event: "event", session: "session_id", workspace: "working_dir", prompt: "message", tool: "tool_name",
	input: "tool_input", callID: "tool_call_id", reply: "last_assistant_message",
}
