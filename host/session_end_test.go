package host_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

var endSession = starhost.Decision{Action: "end_session", Reason: "enough"}

// TestEndSession ends a session in each event that accepts this decision, and checks that the turn goes on to
// its answer, that session_end fires once after turn_end, and that the session takes no more turns.
func TestEndSession(t *testing.T) {
	for _, event := range []string{"turn_start", "pre_llm_call", "post_llm_call", "post_tool_call", "turn_end"} {
		t.Run(event, func(t *testing.T) {
			var events, logs []string
			seen := starhost.Plugin{Name: "p2"}
			for _, name := range []string{"turn_end", "session_end"} {
				seen.Hooks = append(seen.Hooks, starhost.Hook{Event: name, Call: func(
					_ context.Context, e *starhost.Event,
				) (starhost.Decision, error) {
					events = append(events, e.Name)
					return starhost.Decision{}, nil
				}})
			}
			log := func(l host.LogLine) { logs = append(logs, l.Plugin+" "+l.Level+" "+l.Text) }
			h := newHost(t, host.Options{Log: log}, echo(), pluginWith(1, hook(event, endSession)), seen)
			s := h.NewSession(host.SessionConfig{})
			replies := scriptedModel{
				{ToolCalls: []starhost.ToolCall{{ID: "c", Name: "echo", Arguments: []byte(`{"text":"x"}`)}}}, {Content: "done"},
			}
			got, err := s.Turn(t.Context(), host.Request{Text: "hi"}, &replies)
			if err != nil || got.Text != "done" || !got.Completed {
				t.Fatalf("got %+v, %v", got, err)
			}
			if event != "turn_end" && (got.Ends == nil || got.Ends.Plugin != "p1") {
				t.Errorf("Ends: got %v, want p1's decision", got.Ends)
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := s.Begin(t.Context(), host.Request{}); !errors.Is(err, host.ErrClosed) {
				t.Errorf("the next turn: got %v, want ErrClosed", err)
			}
			diff(t, "events", []string{"turn_end", "session_end"}, events)
			diff(t, "logs", []string{"p1 info end_session: enough"}, slices.Compact(logs))
		})
	}
}

// TestEndSessionOfAgents checks that no plugin can end a session of an agent, which the host only guards: a
// closed session would let all calls pass.
func TestEndSessionOfAgents(t *testing.T) {
	var logs []string
	log := func(l host.LogLine) { logs = append(logs, l.Level+" "+l.Text) }
	h := newHost(t, host.Options{Log: log}, echo(), plugin("p1", hook("turn_start", endSession), hook("turn_end", endSession)))
	guarded := h.NewSession(host.SessionConfig{Guarded: true})
	beginIn(t, guarded, host.Request{}).End(t.Context())
	own := h.NewSession(host.SessionConfig{})
	beginIn(t, own, host.Request{}).Leave(t.Context())
	if _, err := own.Fire(t.Context(), &starhost.Event{Name: "turn_end"}); err != nil {
		t.Error(err)
	}
	for _, s := range []*host.Session{guarded, own} {
		if _, err := s.Begin(t.Context(), host.Request{}); err != nil {
			t.Errorf("the next turn: %v", err)
		}
	}
	want := "warn end_session: enough: no effect, because the host does not own this session"
	diff(t, "logs", []string{want, want, want}, logs)
}
