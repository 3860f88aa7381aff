package hook

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
)

// CanaryTool is a tool that no agent has. hook itself denies its calls after all guards loaded, so
// that hook doctor sees whether the guards work.
const CanaryTool = "starhost_canary"

// CanaryNote begins those parts of the reason of a canary's denial that are no problem.
const CanaryNote = "note "

// Canary returns the agent's event for a call of [CanaryTool] in a folder. The answer repeats the nonce,
// which shows that it belongs to this event.
func (a *Agent) Canary(nonce, folder string) string {
	return fillEvent(a.Agent.Canary, "starhost-canary", CanaryTool, jsontext.Must(map[string]string{"nonce": nonce}), folder)
}

// fillEvent returns the event that a form makes, with values in its places: see [agents.Agent].
func fillEvent(form, session, tool string, args json.RawMessage, folder string) string {
	return strings.NewReplacer("@SESSION@", string(jsontext.Must(session)), "@FOLDER@", string(jsontext.Must(folder)),
		"@TOOL@", string(jsontext.Must(tool)), "@ARGS@", string(args)).Replace(form) + "\n"
}

// EventBefore returns the agent's event before a call of a tool, for a call that happened earlier. Nil
// arguments are none.
func (a *Agent) EventBefore(session, folder, tool string, args json.RawMessage) string {
	if args == nil {
		args = json.RawMessage("{}")
	}
	return fillEvent(a.Agent.Canary, session, tool, args, folder)
}

// Call returns the plugin event about the call of a tool, for a host with plugins.
func (e *Event) Call(h *host.Host) *starhost.Event {
	return e.calledEvent("pre_tool_call", e.agent.findTool(e.tool, h))
}

// Example returns an event of the agent before a shell command in a folder, for people who try
// their guards.
func (a *Agent) Example(command, folder string) string {
	event, tool, field := a.Agent.Canary, "run_command", "command"
	if i := slices.IndexFunc(a.Tools, func(t agents.Tool) bool { return t.Kind == "shell" }); i >= 0 {
		tool, field = strings.Fields(a.Tools[i].Names)[0], strings.TrimSuffix(strings.Fields(a.Tools[i].Command)[0], "[]")
	}
	if a.Name == "windsurf" { // Windsurf has another event for commands
		event = `{"agent_action_name":"pre_run_command","trajectory_id":@SESSION@,"tool_info":@ARGS@}`
	}
	return fillEvent(event, "example", tool, jsontext.Must(map[string]string{field: command}), folder)
}

// Canary returns the nonce of the event, if it is a call of [CanaryTool]. ok is false for any other event.
func (e *Event) Canary() (nonce string, ok bool) {
	if e.kind != kindTool {
		return "", false
	}
	args := e.args
	var info struct {
		Tool string          `json:"mcp_tool_name"`
		Args json.RawMessage `json:"mcp_tool_arguments"`
	}
	if e.tool == "mcp_tool_use" && json.Unmarshal(args, &info) == nil && info.Tool == CanaryTool { // Windsurf's form
		return canaryNonce(info.Args)
	}
	if e.tool != CanaryTool {
		return "", false
	}
	return canaryNonce(args)
}

// canaryNonce returns the nonce in the arguments of a call, which has at most 64 letters and digits.
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

// IsDenied reports whether an answer to the event that [Agent.Canary] returned is the agent's refusal. It
// also returns the reason of the refusal.
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

// findReason returns the text in a JSON value, or the line, that begins with mark.
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
