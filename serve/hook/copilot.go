package hook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/internal/texttable"
)

// copilot is GitHub's agent for the terminal. An answer to userPromptSubmitted blocks or changes a
// prompt in Copilot 1.0.102 (run on 2026-11-23); earlier versions may ignore it. The members are
// those of UserPromptSubmittedHookOutput in its copilot-sdk/types.d.ts. Settings of earlier
// versions of starhost have the later event userPromptTransformed, which only changes the text for
// the model.
var copilot = &Agent{
	Agent: agents.Find("copilot"), retainsContext: true,
	nameOf: copilotName, toolEvent: "preToolUse",
	members: []memberForm{
		{kindPrompt, "prompt", `"`}, {kindTool, "toolArgs tool_input", `{"`},
	},
	read: readCopilot, write: writeCopilot,
	config: nestedSettings{
		guards: "userPromptSubmitted preToolUse", isFlat: true, version: 1,
		others: "postToolUse postToolUseFailure preCompact agentStop sessionEnd",
		command: func(s Settings) map[string]any {
			return map[string]any{"type": "command", "bash": quoteCommand(s.Command), "timeoutSec": s.seconds()}
		},
	}.format,
	intro: "~/.copilot/hooks/starhost.json, or .github/hooks/starhost.json of a repository",
}

// copilotSigns identify an event that has no name, by a field that only this event has. The first row that
// matches counts.
var copilotSigns = []struct{ field, event string }{
	{"transformedPrompt", "userPromptTransformed"},
	{"prompt", "userPromptSubmitted"},
	{"agentName", "subagentStop"},
	{"notification_type", "notification"},
	{"errorContext", "errorOccurred"},
	{"toolResult", "postToolUse"},
	{"toolArgs", "preToolUse"},
	{"toolName", "preToolUse"},
	{"stopReason", "agentStop"},
	{"trigger", "preCompact"},
	{"reason", "sessionEnd"},
	{"source", "sessionStart"},
}

// copilotName returns the name of an event. It returns "" if the event has no form that Copilot's
// documentation shows.
func copilotName(all object) string {
	if all["hook_event_name"] != nil {
		return claudeForm.nameIn(all)
	}
	if all["error"] != nil && all["toolName"] != nil {
		return "postToolUseFailure"
	}
	for _, s := range copilotSigns {
		if all[s.field] != nil {
			return s.event
		}
	}
	return ""
}

// copilotSpellings are the pairs of spellings that a member can have. An event must have only one of each
// pair, because Copilot could run the call that the other one describes.
var copilotSpellings = [][2]string{
	{"sessionId", "session_id"}, {"toolName", "tool_name"}, {"toolArgs", "tool_input"}, {"toolResult", "tool_result"},
}

func readCopilot(a *Agent, payload []byte) (*Event, error) {
	var in struct {
		Name      string          `json:"hook_event_name"`
		Session   string          `json:"sessionId"`
		Session2  string          `json:"session_id"`
		Prompt    string          `json:"prompt"`
		Tool      string          `json:"toolName"`
		Tool2     string          `json:"tool_name"`
		Result    copilotResult   `json:"toolResult"`
		Result2   copilotResult   `json:"tool_result"`
		ToolArgs  json.RawMessage `json:"toolArgs"`
		ToolInput json.RawMessage `json:"tool_input"`
	}
	all, err := readObject(payload, &in)
	if err != nil {
		return nil, err
	}
	for _, pair := range copilotSpellings {
		if all[pair[0]] != nil && all[pair[1]] != nil {
			return nil, fmt.Errorf("the event is not as documented: it has both %s and %s", pair[0], pair[1])
		}
	}
	if all["hook_event_name"] != nil && in.Name == "" {
		return nil, errors.New("the event is not as documented: hook_event_name is empty")
	}
	name := copilotName(all)
	args := in.ToolArgs
	if args == nil {
		args = in.ToolInput
	}
	if args, err = unwrapArguments(args); err != nil {
		return nil, err
	}
	k, _ := a.kindOf(name)
	e := &Event{
		kind: k, name: name, session: cmp.Or(in.Session, in.Session2), prompt: in.Prompt,
		tool: cmp.Or(in.Tool, in.Tool2), args: args,
		result: cmp.Or(in.Result.Text, in.Result.Text2, in.Result2.Text, in.Result2.Text2), raw: all,
	}
	switch {
	case name == "postToolUseFailure" || name == "PostToolUseFailure":
		e.isError = true
		e.result = resultText(all["error"])
	case e.kind == kindEnd:
		e.clear = all.textField("reason") == "clear"
	case e.kind == kindTool && e.tool == "":
		return nil, fmt.Errorf("%s has no toolName", name)
	case e.kind == kindTool && !isObjectOrNull(e.args) && e.args[0] != '"':
		return nil, errors.New("the event is not as documented: toolArgs: want an object or a text")
	}
	return e, nil
}

// unwrapArguments returns the arguments of a call. Older versions of Copilot send them as a string
// that contains JSON. readObject does not check that string, so unwrapArguments refuses JSON that
// two readers could decode differently.
func unwrapArguments(args json.RawMessage) (json.RawMessage, error) {
	var text string
	if json.Unmarshal(args, &text) != nil {
		return args, nil
	}
	text = strings.TrimSpace(text)
	d, ok := readDocument(text)
	switch {
	case d.tooLarge != nil:
		return nil, fmt.Errorf("the arguments have %w", d.tooLarge)
	case !ok || !d.HasKind(0, objectNode):
		return args, nil
	}
	if err := d.Ambiguity(); err != nil {
		return nil, fmt.Errorf("the arguments are not as documented: %w", err)
	}
	return json.RawMessage(text), nil
}

type copilotResult struct {
	Text  string `json:"textResultForLlm"`
	Text2 string `json:"text_result_for_llm"`
}

func writeCopilot(e *Event, v *verdict) (Answer, error) {
	out := map[string]any{}
	switch e.kind {
	case kindPrompt:
		if e.raw["transformedPrompt"] == nil {
			copilotSubmitted(e, v, out)
		} else if text := copilotPrompt(e, v); text != "" {
			out["modifiedTransformedPrompt"] = text
		}
		return jsonAnswer(out), nil // no exit code blocks a prompt
	case kindTool:
		claudeTool(out, v)
		if args, ok := out["updatedInput"]; ok {
			delete(out, "updatedInput")
			out["modifiedArgs"] = args
		}
		if v.block {
			return e.agent.blockingAnswer(out, v.reason), nil
		}
	case kindResult:
		switch {
		case v.result == nil:
		case e.isError:
			v.addUnsupported("%s: a plugin changed a failure, which Copilot does not let it", e.name)
		default:
			out["modifiedResult"] = map[string]string{"resultType": "success", "textResultForLlm": *v.result}
		}
	}
	return jsonAnswer(out), nil
}

// copilotSubmitted adds the answer to userPromptSubmitted.
func copilotSubmitted(e *Event, v *verdict, out map[string]any) {
	switch {
	case v.block:
		out["decision"], out["reason"] = "block", v.reason
		return
	case v.changesWords(e) && strings.TrimSpace(v.words) == "": // Copilot ignores an empty text
		out["modifiedPrompt"] = withholdPrompt("was removed by a policy.")
	case v.changesWords(e):
		out["modifiedPrompt"] = v.words
	}
	if v.context != "" {
		out["additionalContext"] = v.context
	}
}

// copilotPrompt returns the text that replaces a prompt for the model, or "" if plugins change nothing. If
// plugins refuse the prompt, that text is the reason. If plugins changed the user's words and Copilot's text
// does not contain the old words, it is a reason, too, because the model must not read words that a plugin
// removed.
func copilotPrompt(e *Event, v *verdict) string {
	if v.block {
		return withholdPrompt("was withheld by a policy: " + endSentence(v.reason))
	}
	text := resultText(e.raw["transformedPrompt"])
	switch {
	case !v.changesWords(e):
		if v.context == "" {
			return ""
		}
	case e.prompt == "":
		text = texttable.JoinSome("\n\n", v.words, text)
	case !strings.Contains(text, e.prompt):
		v.addUnsupported("%s: a plugin changed the user's words, which Copilot's prompt does not contain", e.name)
		return withholdPrompt("was changed by a policy, and starhost cannot find it in the prompt.")
	default:
		text = strings.ReplaceAll(text, e.prompt, v.words)
		if strings.TrimSpace(text) == "" { // Copilot ignores an empty text
			return withholdPrompt("was removed by a policy.")
		}
	}
	return texttable.JoinSome("\n\n", v.context, text)
}

// withholdPrompt returns the text for the model in place of a prompt.
func withholdPrompt(why string) string {
	return "[A message of the user " + why + " Tell the user so, and do nothing else.]"
}
