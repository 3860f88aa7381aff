package host_test

import (
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// TestChangeHistory checks that a handler of turn_start can shorten the stored history for good. The host
// sends a content again, and never reports it as in_session, if the content was in a removed message.
func TestChangeHistory(t *testing.T) {
	var change func([]starhost.Message) []starhost.Message
	start := hookFunc("turn_start", func(e *starhost.Event) starhost.Decision {
		if change == nil {
			return starhost.Decision{}
		}
		return starhost.Modify("history", starhost.NewList(change(e.History.Items())))
	})
	offer := func(e *starhost.Event) starhost.Decision {
		return contextOf(fragments.Fragment{Content: "often"}, fragments.Fragment{Content: "about " + e.UserMessage})
	}
	h := newHost(t, host.Options{}, plugin("engine", start),
		plugin("p", sayingHook("session_start", "welcome"), hookFunc("pre_llm_call", offer)))
	s := h.NewSession(host.SessionConfig{ID: "s"})
	ask(t, s, host.Request{Text: "a"})
	ask(t, s, host.Request{Text: "b"})
	p := ask(t, s, host.Request{Text: "c"})
	contains(t, "statuses", strings.Join(statuses(p), " "), "in_session")

	change = func(list []starhost.Message) []starhost.Message { return list[1:] }
	p = ask(t, s, host.Request{Text: "d"})
	text := p.Text.String()
	for _, want := range []string{"welcome", "often", "about d"} {
		contains(t, "the prompt after its loss", text, want)
	}
	if len(p.Messages) != 6 || strings.Contains(strings.Join(statuses(p), " "), "in_session") {
		t.Errorf("got %d messages, statuses %q, want 6 and none in_session", len(p.Messages), statuses(p))
	}
	change = nil
	if p = ask(t, s, host.Request{Text: "e"}); len(p.Messages) != 8 {
		t.Errorf("the next turn: got %d messages, want 8", len(p.Messages))
	}
	if saved := saveAndLoad(t, s); len(saved.Messages) != 9 {
		t.Errorf("stored: got %d messages, want 9", len(saved.Messages))
	}
	for _, r := range p.Fragments {
		if r.Content == "often" && r.Status != fragments.InSession {
			t.Errorf("often: got %s, want in_session", r.Status)
		}
	}

	// the handler replaces a text, so the message loses the contents that the new text does not have
	change = func(list []starhost.Message) []starhost.Message {
		summary := list[0]
		summary.Content = fragments.NewText("In short: about b.")
		return append([]starhost.Message{summary}, list[2:]...)
	}
	s = h.NewSession(host.SessionConfig{ID: "t"})
	change, old := nil, change
	for _, words := range []string{"b", "c", "d"} {
		ask(t, s, host.Request{Text: words})
	}
	change = old
	p = ask(t, s, host.Request{Text: "b"})
	for _, r := range p.Fragments {
		want := map[string]fragments.Status{"often": fragments.Kept, "welcome": fragments.Kept, "about b": fragments.InSession}[r.Content]
		if r.Status != want {
			t.Errorf("%s: got %s, want %s", r.Content, r.Status, want)
		}
	}
}

// TestChangeHistoryRefuses checks that a handler fails and changes nothing if it returns a history that no
// provider accepts, or changes the history of an agent's session.
func TestChangeHistoryRefuses(t *testing.T) {
	calls := starhost.Message{Role: starhost.RoleAssistant, ToolCalls: []starhost.ToolCall{{ID: "c1", Name: "x"}}}
	answer := starhost.Message{Role: starhost.RoleTool, CallID: "c1"}
	user := starhost.Message{Role: starhost.RoleUser}
	tests := []struct {
		name    string
		list    []starhost.Message
		guarded bool
		want    string
	}{
		{"an answer without a call", []starhost.Message{answer}, false, `got the answer to call "c1"`},
		{"a call without an answer", []starhost.Message{user, calls}, false, `got no answer to call "c1"`},
		{"a late answer", []starhost.Message{calls, user, answer}, false, `[1]: got no answer to call "c1" before it`},
		{"two answers", []starhost.Message{calls, answer, answer}, false, "[2]: got the answer"},
		{"an agent's", nil, true, "the agent has the messages"},
	}
	for _, tt := range tests {
		h := newHost(t, host.Options{}, plugin("p", hook("turn_start", starhost.Modify("history", starhost.NewList(tt.list)))))
		s := h.NewSession(host.SessionConfig{Guarded: tt.guarded})
		p := ask(t, s, host.Request{Text: "hi"})
		if len(p.Messages) != 1 || len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Error(), tt.want) {
			t.Errorf("%s: got %d messages, %v, want %s", tt.name, len(p.Messages), p.Errors, tt.want)
		}
	}
}
