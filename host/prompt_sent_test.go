package host_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// contextEngine returns a plugin whose pre_send hook sends the messages that change returns.
func contextEngine(change func([]starhost.Message) []starhost.Message) starhost.Plugin {
	return pluginWith(1, hookFunc("pre_send", func(e *starhost.Event) starhost.Decision {
		return starhost.Modify("messages", starhost.NewList(change(e.Messages.Items())))
	}))
}

// last returns a function that returns the last n messages.
func last(n int) func([]starhost.Message) []starhost.Message {
	return func(m []starhost.Message) []starhost.Message { return m[max(0, len(m)-n):] }
}

// A content that pre_send dropped with its message is never reported as in_session, and later
// prompts send it again. The report of each prompt agrees with its messages.
func TestDroppedMessagesAreNotInSession(t *testing.T) {
	fact := fragments.Fragment{Content: "the fact", Source: "fact"}
	drawing := fragments.Attachment{Content: "\x89PNG", Type: "image/png", Name: "a.png"}
	const dropped = "dropped dropped by p1 (p.star:1:1)"
	tests := []struct {
		name   string
		engine func([]starhost.Message) []starhost.Message
		want   []string // statuses of the content "the fact", one for each turn
	}{
		{"nothing is dropped", last(99), []string{"kept", "in_session in an earlier message", "in_session in an earlier message"}},
		{"the last message", last(1), []string{"kept", dropped, "kept", "kept", "kept"}},
		{"the last two turns", last(3), []string{"kept", "in_session in an earlier message", dropped, "kept", "in_session in an earlier message", "kept"}},
		{"a summary", func(m []starhost.Message) []starhost.Message {
			return append([]starhost.Message{{Role: "user", Content: fragments.NewText("summary")}}, last(1)(m)...)
		}, []string{"kept", dropped, "kept", "kept"}},
		{"a summary that has the fact", func(m []starhost.Message) []starhost.Message {
			return append([]starhost.Message{{Role: "user", Content: fragments.NewText("so far: the fact")}}, last(1)(m)...)
		}, []string{"kept", "in_session in an earlier message"}},
		{"no message", func([]starhost.Message) []starhost.Message { return nil },
			[]string{"changed changed by p1 (p.star:1:1)", "changed changed by p1 (p.star:1:1)"}},
		{"a redacted message stays in the session", func(m []starhost.Message) []starhost.Message {
			out := append([]starhost.Message{}, m...)
			for i := range out {
				out[i].Content = fragments.NewText(strings.ReplaceAll(out[i].Content.String(), "fact", "***"))
			}
			return out
		}, []string{"changed changed by p1 (p.star:1:1)", "changed changed by p1 (p.star:1:1)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, host.Options{}, contextEngine(tt.engine),
				pluginWith(2, hookFunc("pre_llm_call", func(*starhost.Event) starhost.Decision { return contextOf(fact) })))
			s, drawn := h.NewSession(host.SessionConfig{}), h.NewSession(host.SessionConfig{})
			var got []string
			for turn := range tt.want {
				p := ask(t, s, host.Request{Text: fmt.Sprint("turn ", turn)})
				agrees(t, ask(t, drawn, host.Request{Text: fmt.Sprint("turn ", turn), Attachments: []fragments.Attachment{drawing}}))
				row := p.Fragments[0]
				got = append(got, strings.TrimSpace(fmt.Sprint(row.Status, " ", row.Reason)))
				agrees(t, p)
			}
			diff(t, "statuses", tt.want, got)
		})
	}
}

// agrees checks that the messages of a prompt contain the contents that the prompt's report calls kept or
// in_session.
func agrees(t *testing.T, p *host.Prompt) {
	t.Helper()
	var all strings.Builder
	attached := map[fragments.Hash]bool{}
	for _, m := range p.Messages {
		all.WriteString(m.Content.String() + "\x00")
		for _, a := range m.Attachments {
			attached[a.ID()] = true
		}
	}
	for _, r := range p.Fragments {
		in := r.Status == fragments.Kept || r.Status == fragments.InSession
		if in != strings.Contains(all.String(), r.Content) {
			t.Errorf("fragment %q is %s, messages %q", r.Content, r.Status, all.String())
		}
	}
	for _, r := range p.Attachments {
		if in := r.Status == fragments.Kept || r.Status == fragments.InSession; in && !attached[r.ID] {
			t.Errorf("attachment %s is %s, and no message has it", r.Name, r.Status)
		}
	}
}

// TestDroppedMessagesOfAGivenHistory checks the same for callers that give the history with each request.
func TestDroppedMessagesOfAGivenHistory(t *testing.T) {
	fact := contextOf(fragments.Fragment{Content: "the fact"})
	h := newHost(t, host.Options{}, contextEngine(last(1)), pluginWith(2, hook("pre_llm_call", fact)))
	s := h.NewSession(host.SessionConfig{})
	history := []starhost.Message{}
	var got []fragments.Status
	for range 4 {
		p := ask(t, s, host.Request{Text: "hi", History: history})
		history = append(history, p.Messages...)
		got = append(got, p.Fragments[0].Status)
		agrees(t, p)
	}
	diff(t, "statuses", []fragments.Status{"kept", "dropped", "kept", "kept"}, got)
}
