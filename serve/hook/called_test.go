package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/hook"
)

// TestServedToolNames checks which names of tools from MCP servers guards see and match. An
// ambiguous name is a plugin's tool only if the host has exactly this tool.
func TestServedToolNames(t *testing.T) {
	const own, foreign = false, true
	tests := []struct {
		agent, tool string
		match       string
		want        string // the tool that the guard sees, "" if the guard does not run
		foreign     bool
	}{
		{"hermes", "mcp_starhost_page", "page", "page", own},
		{"hermes", "mcp_starhost_show_page", "show-page", "show-page", own},
		{"hermes", "mcp_starhost_x_page", "mcp_starhost_x_*", "x_page", foreign},
		{"hermes", "mcp_starhost_x_page", "x_page", "x_page", foreign},
		{"hermes", "mcp_starhost_x_page", "page", "", foreign},
		{"hermes", "mcp_starhosts_page", "page", "", foreign},
		{"hermes", "page", "page", "page", foreign},
		{"copilot", "starhost-page", "page", "page", own},
		{"copilot", "starhost-x-page", "starhost-x-*", "x-page", foreign},
		{"claude-code", "mcp__starhost__page", "page", "page", own},
		{"claude-code", "mcp__starhost__mounted", "mounted", "mounted", foreign},
		{"claude-code", "mcp__starhost_x__page", "mcp__starhost_x__page", "mcp__starhost_x__page", foreign},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.agent, " ", tt.tool, " ", tt.match), func(t *testing.T) {
			var seen []string
			guard := hookOn("pre_tool_call", func(_ context.Context, e *starhost.Event) starhost.Decision {
				seen = append(seen, fmt.Sprint(e.Tool, " ", e.Foreign))
				return starhost.Decision{}
			})
			guard.Match = []string{tt.match}
			h := host.New(host.Options{})
			run := func(context.Context, starhost.ToolCall) (starhost.Result, error) {
				return starhost.Result{}, nil
			}
			object := json.RawMessage(`{"type":"object"}`)
			if err := h.Add(starhost.Plugin{Name: "p", Hooks: []starhost.Hook{guard}, Tools: []starhost.Tool{
				{Name: "page", Description: "Pages.", Parameters: object, Call: run},
				{Name: "show-page", Description: "Shows.", Parameters: object, Call: run},
			}}); err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf(`{"hook_event_name":"pre_tool_call","tool_name":%q,"tool_input":{},"session_id":"s"}`, tt.tool)
			switch tt.agent {
			case "copilot":
				text = fmt.Sprintf(`{"sessionId":"s","timestamp":1,"toolName":%q,"toolArgs":{}}`, tt.tool)
			case "claude-code":
				text = toolOf("s", tt.tool)
			}
			e, err := hook.AgentOf(tt.agent).Read([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			_, store, err := e.Answer(t.Context(), h, hook.Options{})
			store()
			want := ""
			if tt.want != "" {
				want = fmt.Sprint(tt.want, " ", tt.foreign)
			}
			if got := strings.Join(seen, ", "); err != nil || got != want {
				t.Errorf("the guard saw %q, %v, want %q", got, err, want)
			}
		})
	}
}

// TestDeniedIsNotAsked checks that starhost asks nobody about a call that a guard denies.
func TestDeniedIsNotAsked(t *testing.T) {
	asked := 0
	decide := func(d starhost.Decision) func(context.Context, *starhost.Event) starhost.Decision {
		return func(_ context.Context, e *starhost.Event) starhost.Decision {
			if e.Name == "approve_tool_call" {
				asked++
			}
			return d
		}
	}
	h := hostOf(t, hookOn("pre_tool_call", decide(starhost.Decision{Action: starhost.ActionAsk, Reason: "who?"})),
		hookOn("pre_tool_call", decide(starhost.Deny("no"))),
		hookOn("approve_tool_call", decide(starhost.Decision{Action: starhost.ActionApprove})))
	a, err := event(t, h, hook.Options{}, toolOf("s", "Bash"))
	if err != nil || !strings.Contains(a.Out, "denied by p: no") || asked != 0 {
		t.Errorf("got %+v, %v, asked %d times", a, err, asked)
	}
}

// TestAttachmentsAreReported checks that starhost reports attachments that it cannot give to the agent.
func TestAttachmentsAreReported(t *testing.T) {
	h := hostOf(t, hookOn("pre_llm_call", func(context.Context, *starhost.Event) starhost.Decision {
		c := starhost.Context{Attachments: []fragments.Attachment{{Type: "image/png", Content: "x"}}}
		return starhost.Decision{Action: starhost.ActionContext, Context: c}
	}))
	a, err := event(t, h, hook.Options{}, promptOf("s", "hi"))
	if err != nil || !strings.Contains(a.Err, "1 attachments are left out") {
		t.Errorf("got %+v, %v", a, err)
	}
}
