package host_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// TestSessionEventsKnowTheirSession checks the arguments of events at the ends of sessions and
// turns: the conversation, the model, the platform and the workspace.
func TestSessionEventsKnowTheirSession(t *testing.T) {
	var got []string
	var hooks []starhost.Hook
	for _, event := range []string{"session_start", "turn_end", "session_reset", "session_end"} {
		call := func(_ context.Context, e *starhost.Event) (starhost.Decision, error) {
			messages := 0
			if e.Messages != nil {
				messages = len(e.Messages.Items())
			}
			got = append(got, fmt.Sprint(e.Name, " ", e.Model, " ", e.Platform, " ", e.Workspace, " ", messages))
			return starhost.Decision{}, nil
		}
		hooks = append(hooks, starhost.Hook{Event: event, Call: call})
	}
	s := newHost(t, host.Options{}, plugin("p", hooks...)).NewSession(host.SessionConfig{
		Model: "m", Platform: "cli", Workspace: "/w",
	})
	turn, err := s.Begin(t.Context(), host.Request{
		Text: "hi", History: []starhost.Message{{Role: starhost.RoleUser}, {Role: starhost.RoleAssistant}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Prompt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := turn.Reply(t.Context(), starhost.Reply{Content: "hello"}); err != nil {
		t.Fatal(err)
	}
	turn.End(t.Context())
	if err := s.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	diff(t, "events", []string{
		"session_start m cli /w 2", "turn_end m cli /w 4", "session_reset m cli /w 0", "session_end m cli /w 0",
	}, got)
}
