package hook

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/starhost/starhost/agents"
)

// cline is an agent for editors and for the terminal. It runs an executable file for each event, and reads
// JSON from its output. No output means that the hook allows the call. The extension for editors and the
// program for the terminal are two programs, which name the events of these files differently.
var cline = &Agent{
	Agent: agents.Find("cline"), retainsContext: true,
	nameOf: clineForm.nameIn, toolEvent: "PreToolUse",
	members: []memberForm{{kindPrompt, "userPromptSubmit", "{"}, {kindTool, "tool_call preToolUse", "{"}},
	read:    readCline, write: writeCline, config: configCline,
	intro: "the executable files UserPromptSubmit, PreToolUse and PostToolUse in ~/Documents/Cline/Hooks, or in .clinerules/hooks of a project",
	more: func(s Settings) []Piece {
		return []Piece{{Name: "UserPromptSubmit", Text: configCline(s)}, {Name: "PostToolUse", Text: clineScript(s)}}
	},
}

// clineForm is the form of the extension, and clineProgramForm that of the program. Its results are
// structured, so plugins read the text that it sends beside them.
var (
	clineForm = &form{
		event: "hookName", session: "taskId", workspace: "workspaceRoots", prompt: "userPromptSubmit.prompt",
		tool: "preToolUse.toolName postToolUse.toolName", input: "preToolUse.parameters postToolUse.parameters",
		result: "postToolUse.result", duration: "postToolUse.executionTimeMs",
	}
	clineProgramForm = &form{
		event: "hookName", session: "taskId", workspace: "workspaceRoots",
		tool: "tool_call.name tool_result.name", input: "tool_call.input tool_result.input", isAnyInput: true,
		callID: "tool_call.id tool_result.id", result: "postToolUse.result", duration: "postToolUse.executionTimeMs",
	}
)

// readCline decodes an event of the extension or of the program. In the program, a subagent has a
// conversation of its own, which belongs to the session of the conversation that began it.
func readCline(a *Agent, payload []byte) (*Event, error) {
	f := clineForm
	all := skimObject(string(payload))
	if all["tool_call"] != nil || all["tool_result"] != nil {
		f = clineProgramForm
	}
	e, err := f.read(a, payload)
	if err != nil {
		return nil, err
	}
	var post, pre, context object
	if e.kind == kindResult && json.Unmarshal(e.raw["postToolUse"], &post) == nil {
		e.isError = string(post["success"]) == "false"
	}
	if json.Unmarshal(e.raw["preToolUse"], &pre) == nil && pre["toolName"] != nil && pre.textField("toolName") != e.tool {
		return nil, errors.New("the event is not as documented: tool_call and preToolUse name two tools")
	}
	if json.Unmarshal(e.raw["sessionContext"], &context) == nil && context.textField("rootSessionId") != "" {
		e.session = context.textField("rootSessionId")
	}
	return e, nil
}

func writeCline(e *Event, v *verdict) (Answer, error) {
	out := map[string]any{"cancel": v.block}
	if v.block {
		out["errorMessage"] = v.reason
		return e.agent.blockingAnswer(out, v.reason), nil
	}
	if v.context != "" {
		out["contextModification"] = v.context
	}
	if v.args != nil {
		out["overrideInput"] = v.args
	}
	return jsonAnswer(out), nil
}

// configCline returns the file for an event that guards can refuse. Cline goes on if a hook fails,
// so the file itself refuses if starhost gives no answer.
func configCline(s Settings) string {
	if s.FailOpen {
		return clineScript(s)
	}
	return fmt.Sprintf("#!/bin/sh\nanswer=$(\nexec %s\n) && [ -n \"$answer\" ] ||\n"+
		"answer='{\"cancel\":true,\"errorMessage\":\"starhost did not answer\"}'\nprintf '%%s\\n' \"$answer\"\n", quoteCommand(s.Command))
}

// clineScript returns a file that only runs the command.
func clineScript(s Settings) string {
	return fmt.Sprintf("#!/bin/sh\nexec %s\n", quoteCommand(s.Command))
}
