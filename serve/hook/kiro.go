package hook

import (
	"strings"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/internal/texttable"
)

// kiro is Amazon's agent. It adds the text on standard output to the conversation. Its events name
// no session, so plugins have no state there.
var kiro = &Agent{
	Agent:  agents.Find("kiro"),
	nameOf: kiroForm.nameIn, toolEvent: "preToolUse",
	members: []memberForm{{kindPrompt, "prompt", `"`}, {kindTool, "tool_input", "{n"}},
	read:    readKiro, write: writeKiro,
	config: nestedSettings{
		guards: "userPromptSubmit preToolUse:*", others: "postToolUse:* stop", isFlat: true,
		command: func(s Settings) map[string]any {
			return map[string]any{"command": quoteCommand(s.Command), "timeout_ms": s.seconds() * 1000}
		},
	}.format,
	intro: "the file of an agent in ~/.kiro/agents, or in .kiro/agents of a project",
}

var kiroForm = &form{
	event: "hook_event_name", workspace: "cwd", prompt: "prompt", tool: "tool_name", input: "tool_input", result: "tool_response",
}

func readKiro(a *Agent, payload []byte) (*Event, error) {
	e, err := kiroForm.read(a, payload)
	if err == nil && e.kind == kindResult && e.tool == "" { // without a tool, this is an event about the whole turn
		e.kind = kindNone
	}
	return e, err
}

func writeKiro(e *Event, v *verdict) (Answer, error) {
	if e.kind == kindPrompt && v.context != "" {
		return Answer{Out: texttable.Escape(strings.TrimRight(v.context, "\n")) + "\n"}, nil
	}
	return writeCode(e, v)
}
