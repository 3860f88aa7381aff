package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// TestRank checks that a plugin of a later rank, whatever its priority, cannot run before a guard of an
// earlier rank, and cannot use up its time.
func TestRank(t *testing.T) {
	var order []string
	calls := func(name string, rank, priority int, d starhost.Decision, wait bool) starhost.Plugin {
		return starhost.Plugin{Name: name, Rank: rank, Decides: []string{"abort", "modify result"}, Hooks: []starhost.Hook{
			hookAt("turn_start", priority, name, &order, d, wait), hookAt("post_tool_call", priority, name, &order, d, wait),
		}}
	}
	masked := starhost.Modify("result", "masked")
	h := newHost(t, host.Options{EventTimeout: 20 * time.Millisecond},
		calls("project", 1, -1000, starhost.Decision{}, true), calls("user", 0, 5, masked, false), calls("managed", -1, 9, masked, false))
	e := &starhost.Event{Name: "post_tool_call", Result: starhost.Result{ForLLM: "secret"}}
	if _, err := h.Fire(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(order, " "); got != "managed user project" {
		t.Errorf("order: got %s", got)
	}
	if strings.Contains(e.Result.ForLLM, "secret") {
		t.Errorf("result: got %q", e.Result.ForLLM)
	}
	h = newHost(t, host.Options{EventTimeout: 20 * time.Millisecond},
		calls("project", 1, -1000, starhost.Decision{}, true),
		calls("user", 0, 5, starhost.Decision{Action: starhost.ActionAbort, Reason: "no"}, false))
	out, err := h.Fire(t.Context(), &starhost.Event{Name: "turn_start"})
	if err != nil || out.Decision.Action != starhost.ActionAbort || out.Decision.Plugin != "user" {
		t.Errorf("prompt: got %v, %v", out.Decision, err)
	}
}

// hookAt returns a hook that appends its name to order, and then decides or waits for the end of the event.
func hookAt(
	event string, priority int, name string, order *[]string, d starhost.Decision, wait bool,
) starhost.Hook {
	return starhost.Hook{Event: event, Priority: priority, Call: func(
		ctx context.Context, _ *starhost.Event,
	) (starhost.Decision, error) {
		*order = append(*order, name)
		if wait {
			<-ctx.Done()
			return d, ctx.Err()
		}
		return d, nil
	}}
}

// TestFailsClosed checks what happens if a handler fails or cannot run: the host refuses an event that the
// plugin could stop, and withholds a result that the plugin could change.
func TestFailsClosed(t *testing.T) {
	const withheld = "[starhost withholds this result: the hook of first failed: "
	tests := []struct {
		event, onError string
		decides        []string
		action         starhost.Action
		result         string // the beginning of the result; "" for the result as it was
	}{
		{"turn_start", "", nil, "", ""},
		{"turn_start", "", []string{"modify arguments"}, "", ""},
		{"turn_start", "", []string{"abort"}, "abort", ""},
		{"turn_start", "", []string{"modify user_message"}, "abort", ""},
		{"turn_start", "", []string{"modify *"}, "abort", ""},
		{"turn_start", "skip", []string{"abort", "modify *"}, "", ""},
		{"pre_llm_call", "", []string{"modify tools"}, "abort", ""},
		{"pre_send", "", []string{"modify messages"}, "abort", ""},
		{"post_llm_call", "", []string{"modify response"}, "abort", ""},
		{"post_tool_call", "", nil, "", ""},
		{"post_tool_call", "", []string{"abort"}, "", ""},
		{"post_tool_call", "", []string{"modify result"}, "modify", withheld},
		{"post_tool_call", "skip", []string{"modify result"}, "", ""},
		{"post_command", "", []string{"modify result"}, "modify", withheld},
		{"session_start", "", []string{"abort", "modify *"}, "", ""},
		{"turn_end", "", []string{"abort", "modify *"}, "", ""},
		{"pre_tool_call", "", nil, "deny", ""},
	}
	for _, tt := range tests {
		for what, options := range map[string]host.Options{"fails": {}, "late": {EventTimeout: time.Nanosecond}} {
			p := starhost.Plugin{Name: "first", Decides: tt.decides, Hooks: []starhost.Hook{{
				Event: tt.event, OnError: starhost.FailMode(tt.onError),
				Call: func(context.Context, *starhost.Event) (starhost.Decision, error) {
					return starhost.Decision{}, errors.New("broken")
				},
			}}}
			for _, warns := range []bool{false, true} {
				p.Warn = warns
				e := &starhost.Event{Name: tt.event, Result: starhost.Result{ForLLM: "secret"}}
				out, err := newHost(t, options, p).Fire(t.Context(), e)
				if err != nil {
					t.Fatal(err)
				}
				action, result := tt.action, tt.result
				if warns {
					action, result = "", ""
				}
				if out.Decision.Action != action {
					t.Errorf("%s, %q, %s, warns %v: got %v, want %s", tt.event, tt.decides, what, warns, out.Decision, action)
				}
				if result == "" && e.Result.ForLLM != "secret" || !strings.HasPrefix(e.Result.ForLLM, result) {
					t.Errorf("%s, %q, %s, warns %v: got result %q", tt.event, tt.decides, what, warns, e.Result.ForLLM)
				}
			}
		}
	}
	lost := newHost(t, host.Options{})
	lost.Lose(host.Guard{Events: []string{"post_tool_call"}, Err: errors.New("mask.star:1:1: broken")})
	e := &starhost.Event{Name: "post_tool_call", Result: starhost.Result{ForLLM: "secret"}}
	out, err := lost.Fire(t.Context(), e)
	const want = "[starhost withholds this result: mask.star:1:1: broken]"
	if err != nil || e.Result.ForLLM != want || !e.IsError || out.Lost == nil {
		t.Errorf("a lost guard: got %q, %v, %v", e.Result.ForLLM, out, err)
	}
}

// TestSessionGuards checks that the host refuses the events of a session that lacks a guard which it had,
// also in another process, and accepts those of a session that never had the guard.
func TestSessionGuards(t *testing.T) {
	guard := starhost.Plugin{Name: "guard", From: "/p/guard.star", Required: true, Hooks: []starhost.Hook{
		hook("pre_tool_call", starhost.Decision{}),
	}}
	ran := starhost.Tool{Name: "touch", Description: "Touches.", Call: func(
		context.Context, starhost.ToolCall,
	) (starhost.Result, error) {
		return starhost.Result{ForLLM: "ran"}, nil
	}}
	tools := starhost.Plugin{Name: "tools", Tools: []starhost.Tool{ran}}
	call := func(s *host.Session) string {
		t.Helper()
		turn, err := s.Begin(t.Context(), host.Request{})
		if err != nil {
			t.Fatal(err)
		}
		defer turn.End(t.Context())
		reply, err := turn.CallTool(t.Context(), starhost.ToolCall{Name: "touch"})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Result.ForLLM
	}
	with, without := newHost(t, host.Options{}, guard, tools), newHost(t, host.Options{}, tools)
	live := host.NewLiveHost(with)
	s := live.NewSession(host.SessionConfig{ID: "s"})
	if got := call(s); got != "ran" {
		t.Fatalf("with the guard: got %s", got)
	}
	saved, err := s.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	live.Swap(without)
	const want = "denied by host: this session had the required guard guard (/p/guard.star), which is not loaded now"
	if got := call(s); got != want {
		t.Errorf("after a reload: got %s", got)
	}
	if got := call(without.Resume(host.SessionConfig{ID: "s"}, saved)); got != want {
		t.Errorf("in another process: got %s", got)
	}
	if got := call(live.NewSession(host.SessionConfig{ID: "other"})); got != "ran" {
		t.Errorf("another session: got %s", got)
	}
	live.Swap(with)
	if got := call(s); got != "ran" {
		t.Errorf("with the guard again: got %s", got)
	}
}
