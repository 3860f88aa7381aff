package host_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// TestRestricted checks that hooks of a restricted plugin may only refuse and add context. Other decisions
// are failures, except about a tool of the plugin itself that no agent calls: an agent knows the tool by a
// name that another server can have.
func TestRestricted(t *testing.T) {
	const failed = "the guard of p1 failed: "
	tests := []struct {
		name, event string
		decision    starhost.Decision
		tool        string
		foreign     bool
		want        string // the combined decision and its reason
		agent       string
	}{
		{"deny", pre, deny, "Bash", true, "deny no", ""},
		{"ask", pre, starhost.Decision{Action: starhost.ActionAsk, Reason: "who?"}, "Bash", true, "ask who?", ""},
		{"abort", pre, starhost.Decision{Action: starhost.ActionAbort, Reason: "end"}, "Bash", true, "abort end", ""},
		{"modify", pre, args(`{"text":"rm"}`), "Bash", true, "deny " + failed + "modify: p1 may only deny", ""},
		{"respond", pre, respond("forged"), "Bash", true, "deny " + failed + `respond: tool "Bash" is not p1's own`, ""},
		{"approve", "approve_tool_call", starhost.Decision{Action: starhost.ActionApprove}, "Bash", true, "deny " + failed + "approve: p1 may only deny", ""},
		{"a result", "post_tool_call", starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"result": starhost.Result{ForLLM: "forged"}}}, "Bash", true, " ", ""},
		{"words", "turn_start", starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"user_message": "forged"}}, "", false, " ", ""},
		{"an end of the session", "turn_start", endSession, "", false, " ", ""},
		{"other tools", "pre_llm_call", starhost.Modify("tools", []string{}), "", false, " ", ""},
		{"modify for its own tool", pre, args(`{"text":"rm"}`), "echo", false, "modify ", ""},
		{"approve for its own tool", "approve_tool_call", starhost.Decision{Action: starhost.ActionApprove}, "echo", false, "approve ", ""},
		{"respond for its own tool", pre, respond("mine"), "echo", false, "respond ", ""},
		{"an agent's tool of the same name", pre, args(`{"text":"rm"}`), "echo", true, "deny " + failed + "modify: p1 may only deny", ""},
		{"modify for its own tool through an agent", pre, args(`{"text":"rm"}`), "echo", false, "deny " + failed + "modify: p1 may only deny", "codex"},
		{"approve through an agent", "approve_tool_call", starhost.Decision{Action: starhost.ActionApprove}, "echo", false, "deny " + failed + "approve: p1 may only deny", "codex"},
		{"respond through an agent", pre, respond("mine"), "echo", false, "deny " + failed + `respond: tool "echo" is not p1's own`, "codex"},
		{"ask through an agent", pre, starhost.Decision{Action: starhost.ActionAsk, Reason: "who?"}, "echo", false, "ask who?", "codex"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := echo()
			p.Name, p.Restricted, p.Hooks = "p1", true, []starhost.Hook{hook(tt.event, tt.decision)}
			var logs []string
			h := newHost(t, host.Options{Log: func(l host.LogLine) { logs = append(logs, l.Text) }}, p)
			e := &starhost.Event{Name: tt.event, Tool: tt.tool, Foreign: tt.foreign, Agent: tt.agent,
				Arguments: json.RawMessage(`{"text":"id"}`), UserMessage: "hi"}
			out, err := h.Fire(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			got := string(out.Decision.Action) + " " + out.Decision.Reason
			if !strings.HasPrefix(got, tt.want) || tt.want == " " && got != tt.want {
				t.Errorf("decision: got %q, want %q", got, tt.want)
			}
			refused := strings.Contains(tt.want, "failed") || tt.want == " "
			if refused != (len(logs) > 0) || refused &&
				(string(e.Arguments) != `{"text":"id"}` || e.UserMessage != "hi" || e.Result.ForLLM != "") {
				t.Errorf("got logs %q and event %+v", logs, e)
			}
		})
	}
}

// TestRestrictedWithholds checks that the host withholds a result that a restricted plugin wants to change,
// because it may be one that nobody should read. The host ignores changes of other texts.
func TestRestrictedWithholds(t *testing.T) {
	result := starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"result": starhost.Result{ForLLM: "redacted"}}}
	words := starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"user_message": "forged"}}
	for _, tt := range []struct {
		name, event string
		decision    starhost.Decision
		decides     []string
		want        string
	}{
		{"a result", "post_tool_call", result, []string{"modify result"}, "[starhost withholds this result: "},
		{"what the loader does not know", "post_tool_call", result, []string{"modify *"}, "[starhost withholds this result: "},
		{"words", "turn_start", words, []string{"modify user_message"}, "secret"},
		{"no change", "post_tool_call", starhost.Decision{}, []string{"modify result"}, "secret"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := echo()
			p.Name, p.Restricted, p.Decides = "p1", true, tt.decides
			p.Hooks = []starhost.Hook{hook(tt.event, tt.decision)}
			h := newHost(t, host.Options{Log: func(host.LogLine) {}}, p)
			e := &starhost.Event{Name: tt.event, Tool: "Bash", Foreign: true, UserMessage: "hi",
				Arguments: json.RawMessage(`{}`), Result: starhost.Result{ForLLM: "secret"}}
			out, err := h.Fire(t.Context(), e)
			if err != nil || out.Decision.Action == starhost.ActionAbort {
				t.Fatalf("got %v, %v", out.Decision, err)
			}
			if !strings.HasPrefix(e.Result.ForLLM, tt.want) || e.UserMessage != "hi" {
				t.Errorf("got result %q and words %q, want %q", e.Result.ForLLM, e.UserMessage, tt.want)
			}
		})
	}
}
