package hook

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/internal/jsontext"
)

// cursor is Anysphere's editor with its agent. It can ask a person only about shell commands and tools of
// other servers, at events that accept no new arguments. The settings name these events for these tools, and
// preToolUse for all others, so that guards see each call once.
var cursor = &Agent{
	Agent: agents.Find("cursor"), retainsContext: true,
	nameOf: cursorForm.nameIn, toolEvent: "preToolUse",
	members: []memberForm{{kindPrompt, "conversation_id", `"`}, {kindPrompt, "prompt", `"`}},
	read:    readCursor, write: writeCursor,
	config: nestedSettings{ // the matcher leaves out the tools about which other events can ask a person
		guards: "preToolUse:^(?!Shell$|MCP:) beforeSubmitPrompt beforeShellExecution beforeMCPExecution", isFlat: true,
		others: "postToolUse postToolUseFailure preCompact stop sessionEnd", version: 1,
		command: func(s Settings) map[string]any {
			return map[string]any{"command": quoteCommand(s.Command), "timeout": s.seconds()}
		},
		failMember: "failClosed", failValue: true,
	}.format,
	intro: "~/.cursor/hooks.json, or .cursor/hooks.json of a project",
}

var cursorForm = &form{
	event: "hook_event_name", session: "conversation_id", workspace: "workspace_roots", model: "model", prompt: "prompt",
	callID: "tool_use_id", input: "tool_input", duration: "duration", failure: "error_message",
}

// readCursor decodes an event. The events before a shell command and before reading a file name no tool.
func readCursor(a *Agent, payload []byte) (*Event, error) {
	f := *cursorForm
	if name := f.nameIn(skimObject(string(payload))); name == "beforeMCPExecution" {
		f.input = "" // here the input is a text
	}
	e, err := f.read(a, payload)
	if err != nil {
		return nil, err
	}
	all := object(e.raw)
	e.tool = all.textField("tool_name")
	switch e.name {
	case "beforeShellExecution":
		e.tool, e.args, err = "Shell", all.pick("command", "cwd"), all.wantText("command")
	case "beforeReadFile":
		e.tool, e.args, err = "Read", all.pick("file_path"), all.wantText("file_path")
	case "beforeMCPExecution":
		e.args, err = unwrapArguments(all["tool_input"])
		e.tool = "MCP:" + e.tool
		if err == nil && !isObjectOrNull(e.args) {
			err = fmt.Errorf("the event is not as documented: tool_input: want an object")
		}
	case "postToolUse":
		e.result = cursorOutput(all.textField("tool_output"))
	}
	if err == nil && e.kind == kindTool && strings.TrimPrefix(e.tool, "MCP:") == "" {
		err = fmt.Errorf("%s has no tool_name", e.name)
	}
	return e, err
}

// pick returns an object that has only the named members.
func (o object) pick(names ...string) json.RawMessage {
	picked := object{}
	for _, name := range names {
		if o[name] != nil {
			picked[name] = o[name]
		}
	}
	return jsontext.Must(picked)
}

// wantText returns an error unless a member is a string.
func (o object) wantText(name string) error {
	if !strings.HasPrefix(string(o[name]), `"`) {
		return fmt.Errorf("the event is not as documented: %s: want a string", name)
	}
	return nil
}

// cursorOutput returns the text of a tool's output, which is JSON in a string.
func cursorOutput(text string) string {
	var output object
	if json.Unmarshal([]byte(text), &output) == nil && strings.HasPrefix(string(output["output"]), `"`) {
		return output.textField("output")
	}
	if json.Valid([]byte(text)) {
		return resultText(json.RawMessage(text))
	}
	return text
}

// maxCursorContext is the most characters of context that Cursor accepts. It drops a longer text.
const maxCursorContext = 10_000

// writeCursor always writes an object, because Cursor takes an empty answer for a failure.
func writeCursor(e *Event, v *verdict) (Answer, error) {
	out := map[string]any{}
	switch e.kind {
	case kindPrompt:
		switch {
		case v.block:
			out["continue"], out["user_message"] = false, v.reason
		case utf8.RuneCountInString(v.context) > maxCursorContext:
			v.addUnsupported("%s: Cursor takes %d characters of context: got more, which are left out", e.name, maxCursorContext)
		case v.context != "":
			out["additional_context"] = v.context
		}
	case kindTool:
		cursorDecision(out, v)
	case kindResult:
		switch {
		case v.result == nil:
		case strings.HasPrefix(e.tool, "MCP:"):
			out["updated_mcp_tool_output"] = *v.result
		default:
			v.addUnsupported("%s: a plugin changed the result of %s, which Cursor does not let it", e.name, e.tool)
		}
	}
	if v.block {
		return e.agent.blockingAnswer(out, v.reason), nil
	}
	return Answer{Out: string(jsontext.Must(out)) + "\n"}, nil
}

// cursorDecision adds the decision about a tool call.
func cursorDecision(out map[string]any, v *verdict) {
	if permission := v.permission(); permission != "" {
		out["permission"] = permission
	}
	if (v.block || v.ask) && v.reason != "" {
		out["user_message"], out["agent_message"] = v.reason, v.reason
	}
	if v.args != nil && !v.block {
		out["updated_input"] = v.args
	}
}
