package hook

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/starhost/starhost/agents"
)

// CanaryTool is a tool that no agent has. hook itself denies its calls after all guards loaded, so
// that hook doctor sees whether the guards work.
const CanaryTool = "starhost_canary"

// CanaryNote begins the part of the reason of a canary's denial that is no problem.
const CanaryNote = "note "

// canaryEvent returns the agent's event before a tool call, with the places of the folder and of
// the call's arguments.
func (a *Agent) canaryEvent() string {
	const session, tool = `"starhost-canary"`, `"` + CanaryTool + `"`
	switch a.Name {
	case "docker-mcp":
		return `{"Session":{},"Params":{"name":` + tool + `,"arguments":@ARGS@},"Extra":null}`
	case "copilot":
		return `{"sessionId":` + session + `,"timestamp":1,"cwd":@FOLDER@,"toolName":` + tool + `,"toolArgs":@ARGS@}`
	case "hermes":
		return `{"hook_event_name":"pre_tool_call","tool_name":` + tool + `,"tool_input":@ARGS@,"session_id":` + session +
			`,"cwd":@FOLDER@,"extra":{}}`
	case "picoclaw":
		return `{"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{"name":"starhost","version":1,"modes":["tool"]}}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"hook.before_tool","params":{"meta":{},"tool":` + tool + `,"arguments":@ARGS@}}`
	case "vscode":
		return `{"sessionId":` + session + `,"cwd":@FOLDER@,"hookEventName":"PreToolUse","tool_name":` + tool +
			`,"tool_input":@ARGS@,"tool_use_id":"t"}`
	case "cursor":
		return `{"conversation_id":` + session + `,"model":"","hook_event_name":"preToolUse","workspace_roots":[@FOLDER@],"tool_name":` +
			tool + `,"tool_input":@ARGS@,"tool_use_id":"t"}`
	case "gemini":
		return `{"session_id":` + session + `,"cwd":@FOLDER@,"hook_event_name":"BeforeTool","tool_name":` + tool + `,"tool_input":@ARGS@}`
	case "goose":
		return `{"event":"PreToolUse","session_id":` + session + `,"tool_name":` + tool + `,"tool_input":@ARGS@,"working_dir":@FOLDER@}`
	case "windsurf":
		return `{"agent_action_name":"pre_mcp_tool_use","trajectory_id":` + session +
			`,"tool_info":{"cwd":@FOLDER@,"mcp_server_name":"starhost","mcp_tool_name":` + tool + `,"mcp_tool_arguments":@ARGS@}}`
	case "kiro":
		return `{"hook_event_name":"preToolUse","cwd":@FOLDER@,"tool_name":` + tool + `,"tool_input":@ARGS@}`
	case "cline":
		return `{"hookName":"tool_call","taskId":` + session + `,"workspaceRoots":[@FOLDER@],"tool_call":{"id":"t","name":` + tool +
			`,"input":@ARGS@}}`
	case "openhands":
		return `{"event_type":"PreToolUse","tool_name":` + tool + `,"tool_input":@ARGS@,"session_id":` + session + `,"working_dir":@FOLDER@}`
	case "opencode":
		return `{"event":"tool.execute.before","session":` + session + `,"cwd":@FOLDER@,"call_id":"c","tool":` + tool + `,"args":@ARGS@}`
	case "gptme":
		return `{"event":"tool.confirm","tool":` + tool + `,"args":@ARGS@,"cwd":@FOLDER@}`
	}
	return `{"session_id":` + session + `,"cwd":@FOLDER@,"permission_mode":"default","hook_event_name":"PreToolUse","tool_name":` + tool +
		`,"tool_input":@ARGS@,"tool_use_id":"t"}`
}

// Canary returns the agent's event for a call of [CanaryTool] in a folder. The nonce makes sure
// that the answer belongs to this event.
func (a *Agent) Canary(nonce, folder string) string {
	args := mustJSON(map[string]string{"nonce": nonce})
	return strings.NewReplacer("@FOLDER@", string(mustJSON(folder)), "@ARGS@", string(args)).Replace(a.canaryEvent()) + "\n"
}

// Example returns an event of the agent before a shell command in a folder, for people who try
// their guards.
func (a *Agent) Example(command, folder string) string {
	event, tool, field := a.canaryEvent(), "run_command", "command"
	if i := slices.IndexFunc(a.Tools, func(t agents.Tool) bool { return t.Kind == "shell" }); i >= 0 {
		tool, field = strings.Fields(a.Tools[i].Names)[0], strings.TrimSuffix(strings.Fields(a.Tools[i].Command)[0], "[]")
	}
	args := string(mustJSON(map[string]string{field: command}))
	if a.Name == "windsurf" { // it has another event for commands
		event = `{"agent_action_name":"pre_run_command","trajectory_id":"starhost-canary","tool_info":@ARGS@}`
	}
	return strings.NewReplacer(`"`+CanaryTool+`"`, string(mustJSON(tool)), "starhost-canary", "example",
		"@FOLDER@", string(mustJSON(folder)), "@ARGS@", args).Replace(event) + "\n"
}

// Canary returns the nonce of a call of [CanaryTool]. ok is false for any other event.
func (e *Event) Canary() (nonce string, ok bool) {
	if e.kind != kindTool {
		return "", false
	}
	args := e.args
	var info struct {
		Tool string          `json:"mcp_tool_name"`
		Args json.RawMessage `json:"mcp_tool_arguments"`
	}
	if e.tool == "mcp_tool_use" && json.Unmarshal(args, &info) == nil && info.Tool == CanaryTool { // Windsurf's
		return canaryNonce(info.Args)
	}
	if e.tool != CanaryTool {
		return "", false
	}
	return canaryNonce(args)
}

// canaryNonce returns the nonce in a call's arguments: up to 64 letters and digits.
func canaryNonce(args json.RawMessage) (nonce string, ok bool) {
	var in struct {
		Nonce string `json:"nonce"`
	}
	if json.Unmarshal(args, &in) != nil || in.Nonce == "" || len(in.Nonce) > 64 {
		return "", false
	}
	for _, c := range in.Nonce {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z') {
			return "", false
		}
	}
	return in.Nonce, true
}

// IsDenied reports whether an answer to the event [Agent.Canary] is the agent's refusal, and
// returns its reason.
func (a *Agent) IsDenied(nonce, folder string, code int, out, errors string) (reason string, ok bool) {
	mark := CanaryTool + " " + nonce
	if a.Lines {
		for line := range strings.Lines(out) {
			var answer struct {
				ID     int `json:"id"`
				Result struct{ Action, Reason string }
			}
			if json.Unmarshal([]byte(line), &answer) == nil && answer.ID == 2 {
				return answer.Result.Reason, answer.Result.Action == "deny_tool" && strings.HasPrefix(answer.Result.Reason, mark)
			}
		}
		return "", false
	}
	if reason = findReason(out, mark); reason == "" {
		reason = findReason(errors, mark)
	}
	e, err := a.Read([]byte(a.Canary(nonce, folder)))
	if err != nil || reason == "" {
		return reason, false
	}
	want, err := e.Block(reason)
	return reason, err == nil && want.Code == code && want.Out == out
}

// findReason returns the text that begins with mark: in a JSON value, or a line.
func findReason(text, mark string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		return findText(v, mark)
	}
	for line := range strings.Lines(text) {
		if i := strings.Index(line, mark); i >= 0 {
			return strings.TrimRight(line[i:], "\r\n")
		}
	}
	return ""
}

func findText(v any, mark string) string {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, mark) {
			return v
		}
	case map[string]any:
		for _, value := range v {
			if text := findText(value, mark); text != "" {
				return text
			}
		}
	}
	return ""
}
