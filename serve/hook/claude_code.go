package hook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost/agents"
)

// claudeCode is Anthropic's agent. At exit codes 0 and 2 it reads the JSON object on standard output. At code
// 2 it reads standard error if there is no object (2.1.330, run on 2026-11-23).
var claudeCode = &Agent{
	Agent: agents.Find("claude-code"), HTTP: true, retainsContext: true, showsMessages: true,
	nameOf: claudeForm.nameIn, toolEvent: "PreToolUse", members: claudeMembers,
	read: readClaude, write: writeClaude,
	// Claude Code blocks an event with onFailure if starhost is missing or does not end in time. Versions before
	// 2.1.295 ignore the field. With what managed settings have, other hooks change nothing that runs, and skills
	// run no commands that hooks do not see.
	config: nestedSettings{
		guards: "UserPromptSubmit PreToolUse:* PermissionRequest:*", failMember: "onFailure",
		others:  "SessionStart:compact|clear PostToolUse:* PostToolUseFailure:* Stop SessionEnd SubagentStart",
		managed: map[string]any{"allowManagedHooksOnly": true, "disableSkillShellExecution": true},
	}.format,
	intro: "~/.claude/settings.json, or .claude/settings.json of a project",
}

// claudeMembers are the members of the guard events of Claude Code, and of agents with its events.
var claudeMembers = []memberForm{
	{kindPrompt, "session_id", `"`}, {kindPrompt, "prompt", `"`}, {kindTool, "session_id", `"`},
	{kindTool, "tool_input", "{"}, {kindApprove, "session_id", `"`}, {kindApprove, "tool_input", "{"},
}

// claudeForm is the form of events of Claude Code, and of agents with its events.
var claudeForm = &form{
	event: "hook_event_name", session: "session_id", prompt: "prompt", tool: "tool_name", input: "tool_input",
	callID: "tool_use_id", result: "tool_response", duration: "duration_ms", reply: "last_assistant_message",
}

// readClaude decodes an event. The kind of SessionStart depends on its source.
func readClaude(a *Agent, payload []byte) (*Event, error) {
	e, err := claudeForm.read(a, payload)
	if err != nil {
		return nil, err
	}
	all := object(e.raw)
	switch source := all.textField("source"); {
	case e.name == "SessionStart" && source == "compact":
		e.kind = kindCompact
	case e.name == "SessionStart" && source == "clear":
		e.kind, e.clear = kindEnd, true
	case e.name == "SessionEnd":
		e.clear = all.textField("reason") == "clear"
	case e.name == "PostToolUseFailure":
		e.result, e.isError = resultText(all["error"]), true
	}
	return e, nil
}

func writeClaude(e *Event, v *verdict) (Answer, error) {
	specific := map[string]any{}
	out := map[string]any{}
	switch e.kind {
	case kindPrompt:
		if v.block {
			return e.agent.blockingAnswer(claudeRefusal(e, v), v.reason), nil
		}
	case kindTool:
		claudeTool(specific, v)
	case kindApprove:
		if v.block || v.allow {
			specific["decision"] = claudeApproval(v)
		}
	case kindResult:
		if v.result != nil {
			claudeResult(e, v, specific)
		}
	}
	if v.context != "" && (e.kind == kindPrompt || e.kind == kindBranch) {
		specific["additionalContext"] = v.context
	}
	if len(specific) > 0 {
		specific["hookEventName"] = e.name
		out["hookSpecificOutput"] = specific
	}
	if e.isError && v.result != nil { // the user should learn that the model reads the result
		v.notice = "starhost: a plugin changed the output of a failed call, which " + e.agent.Title + " does not let it"
	}
	if v.notice != "" {
		out["systemMessage"] = v.notice
	}
	if v.stop { // Claude Code reads the object only at exit code 0
		out["continue"], out["stopReason"] = false, v.reason
		return jsonAnswer(out), nil
	}
	if v.block {
		return e.agent.blockingAnswer(out, v.reason), nil
	}
	return jsonAnswer(out), nil
}

// claudeRefusal returns the object that refuses a prompt. If a plugin refuses the prompt, a member tells
// Claude Code not to show the prompt beside the reason; other agents have no such member.
func claudeRefusal(e *Event, v *verdict) map[string]any {
	out := map[string]any{"decision": "block", "reason": v.reason}
	if v.stop && e.agent.Name == "claude-code" {
		out["hookSpecificOutput"] = map[string]any{"hookEventName": e.name, "suppressOriginalPrompt": true}
	}
	return out
}

// claudeTool adds the decision about a tool call to an object. If there is no decision, Claude Code applies
// its own permissions, to the arguments that plugins changed.
func claudeTool(out map[string]any, v *verdict) {
	if permission := v.permission(); permission != "" {
		out["permissionDecision"] = permission
		if v.reason != "" {
			out["permissionDecisionReason"] = v.reason
		}
	}
	if v.args != nil && !v.block {
		out["updatedInput"] = v.args
	}
}

func claudeApproval(v *verdict) map[string]any {
	if v.allow {
		return map[string]any{"behavior": "allow"}
	}
	return map[string]any{"behavior": "deny", "message": v.reason}
}

// claudeResult adds a new result of a tool to an object, in the form in which Claude Code sent the old
// result.
func claudeResult(e *Event, v *verdict, out map[string]any) {
	response := e.raw["tool_response"]
	var output object
	switch {
	case e.isError:
		v.addUnsupported("%s: a plugin changed a failure, which Claude Code does not let it", e.name)
	case strings.HasPrefix(e.tool, "mcp__"):
		out["updatedMCPToolOutput"] = *v.result
	case strings.HasPrefix(string(response), `"`):
		out["updatedToolOutput"] = *v.result
	case json.Unmarshal(response, &output) == nil && output["stdout"] != nil:
		out["updatedToolOutput"] = output.withValue("stdout", *v.result)
	case output.textFile() != nil:
		out["updatedToolOutput"] = output.withValue("file", output.textFile().withValue("content", *v.result))
	default:
		updated := changeResult(response, *v.result)
		if updated == nil {
			v.notice = fmt.Sprintf("starhost: a plugin changed the result of %s, whose form Claude Code does not let it", e.tool)
			return
		}
		out["updatedToolOutput"] = updated
	}
}

// changeResult puts a text into a result, at the places where resultText found the old text. It returns nil
// if the text does not fit there, because Claude Code ignores a result in another form.
func changeResult(response json.RawMessage, text string) any {
	var output object
	var blocks []object
	_ = json.Unmarshal(response, &output) // a list is handled below
	switch {
	case strings.HasPrefix(string(output["content"]), `"`):
		return output.withValue("content", text)
	case json.Unmarshal(output["content"], &blocks) == nil && hasText(blocks):
		return output.withValue("content", withText(blocks, text))
	case json.Unmarshal(response, &blocks) == nil && hasText(blocks):
		return withText(blocks, text)
	}
	text = strings.TrimSpace(text)
	if resultText(response) != string(response) || !json.Valid([]byte(text)) || text[0] != response[0] {
		return nil // plugins saw JSON, and the text is no longer JSON of that form
	}
	return json.RawMessage(text)
}

func hasText(blocks []object) bool {
	return slices.ContainsFunc(blocks, func(b object) bool { return b.textField("type") == "text" })
}

// withText returns content blocks in which the first text block has the text and the other text blocks are
// gone.
func withText(blocks []object, text string) (out []object) {
	done := false
	for _, b := range blocks {
		switch {
		case b.textField("type") != "text":
			out = append(out, b)
		case !done:
			done, out = true, append(out, b.withValue("text", text))
		}
	}
	return out
}
