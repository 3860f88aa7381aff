package hook

import (
	"strings"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/internal/texttable"
)

// The agents below let a hook refuse a call, and little more.

// goose is Block's agent. It reads a refusal from the exit code, and takes any output but a
// decision for a failure.
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

// writeCode writes the answer for an agent that reads the exit code alone.
func writeCode(e *Event, v *verdict) (Answer, error) {
	if v.block {
		return e.agent.blockingAnswer(nil, v.reason), nil
	}
	return Answer{}, nil
}

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
	if err == nil && e.kind == kindResult && e.tool == "" { // the events of a whole turn
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
	tools := map[string]any{"matcher": "*"}
	for k, v := range run {
		tools[k] = v
	}
	return formatSettings(map[string]any{"hooks": map[string]any{
		"userPromptSubmit": []any{run}, "preToolUse": []any{tools}, "postToolUse": []any{tools}, "stop": []any{run},
	}})
}

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
