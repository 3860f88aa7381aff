package decide_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/decide"
	"github.com/starhost/starhost/serve/front"
)

// gatewayHost returns a host that refuses passwords in requests, masks emails and denies rm.
func gatewayHost(t *testing.T) *host.Host {
	return newHost(t, handlers{
		"turn_start": func(_ context.Context, e *starhost.Event) (starhost.Decision, error) {
			switch {
			case strings.Contains(e.UserMessage, "password"):
				return starhost.Decision{Action: starhost.ActionAbort, Reason: "no passwords"}, nil
			case strings.Contains(e.UserMessage, "email"):
				changed := strings.ReplaceAll(e.UserMessage, "email", "***")
				return starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"user_message": changed}}, nil
			}
			return starhost.Decision{}, nil
		},
		"post_llm_call": func(_ context.Context, e *starhost.Event) (starhost.Decision, error) {
			if !strings.Contains(e.Response, "email") {
				return starhost.Decision{}, nil
			}
			changed := strings.ReplaceAll(e.Response, "email", "***")
			return starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"response": changed}}, nil
		},
		"pre_tool_call": denyRM,
	})
}

// TestGuardrails sends the recorded questions of the gateways and compares the answers.
func TestGuardrails(t *testing.T) {
	text, err := os.ReadFile("testdata/gateways.txt")
	if err != nil {
		t.Fatal(err)
	}
	h := decide.NewServer(options(t, gatewayHost(t))).Guardrails()
	name, path, body, questions := "", "", "", 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch mark, rest, _ := strings.Cut(line, " "); mark {
		case "#":
			name = rest
		case ">":
			path, body, _ = strings.Cut(rest, " ")
		case "<":
			questions++
			if got := ask(t, h, path, body); got != "200 "+rest {
				t.Errorf("%s: got\n%s\nwant\n%s", name, got, rest)
			}
		}
	}
	if questions < 15 {
		t.Errorf("got %d questions, want all of the file", questions)
	}
}

// TestGuardrailsRefuse checks the refusals that gateways get from the front, and for too many
// texts.
func TestGuardrailsRefuse(t *testing.T) {
	s := decide.NewServer(options(t, gatewayHost(t)))
	o := front.Options{Token: "0123456789abcdef", NeedsToken: true, MaxBody: 100, MaxRequests: 1, Refuse: s.Refuse}
	got := ask(t, o.Handler(s.Guardrails()), "/request", "{}")
	const why = "starhost: Authorization: want the bearer token"
	if want := `200 {"action":{"body":"` + why + `","reason":"` + why + `","status_code":403}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	many := `{"input_type":"request","request_data":{},"texts":["x"` + strings.Repeat(`,"x"`, 1000) + `]}`
	got = ask(t, s.Guardrails(), "/litellm/beta/litellm_basic_guardrail_api", many)
	if want := `200 {"action":"BLOCKED","blocked_reason":"starhost: got 1001 texts and tool calls, want at most 1000"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
