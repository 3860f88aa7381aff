package hook

import (
	"strings"

	"github.com/starhost/starhost/agents"
)

// windsurf is Codeium's editor with its agent Cascade. The name of an event says which tool it is
// about, and tool_info has the arguments.
var windsurf = &Agent{
	Agent:  agents.Find("windsurf"),
	nameOf: windsurfForm.nameIn, toolEvent: "pre_run_command",
	members: []memberForm{{kindPrompt, "tool_info", "{"}, {kindTool, "tool_info", "{"}},
	read:    readWindsurf, write: writeCode, config: configWindsurf,
	intro: "~/.codeium/windsurf/hooks.json, or .windsurf/hooks.json of a project",
}

var windsurfForm = &form{
	event: "agent_action_name", session: "trajectory_id", model: "model_name", workspace: "tool_info.cwd",
	prompt: "tool_info.user_prompt", input: "tool_info", reply: "tool_info.response",
}

func readWindsurf(a *Agent, payload []byte) (*Event, error) {
	e, err := windsurfForm.read(a, payload)
	if err == nil && e.kind == kindTool {
		e.tool = strings.TrimPrefix(e.name, "pre_")
	}
	return e, err
}

func configWindsurf(s Settings) string {
	hooks := map[string]any{}
	for _, e := range agents.Find("windsurf").Events {
		if e.Served {
			hooks[e.Name] = []any{map[string]any{"command": quoteCommand(s.Command), "show_output": true}}
		}
	}
	return formatSettings(map[string]any{"hooks": hooks})
}
