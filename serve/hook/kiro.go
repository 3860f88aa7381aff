package hook

import (
	"maps"
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
	read:    readKiro, write: writeKiro, config: configKiro,
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

func configKiro(s Settings) string {
	run := map[string]any{"command": quoteCommand(s.Command), "timeout_ms": s.seconds() * 1000}
	tools := maps.Clone(run)
	tools["matcher"] = "*"
	return formatSettings(map[string]any{"hooks": map[string]any{
		"userPromptSubmit": []any{run}, "preToolUse": []any{tools}, "postToolUse": []any{tools}, "stop": []any{run},
	}})
}
