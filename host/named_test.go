package host_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// TestNamedContentsAreSent checks that a prompt contains each content that the user names in the request,
// also if pre_send drops the earlier message that contains it. The report says so. The host sends a content
// that nobody names only once.
func TestNamedContentsAreSent(t *testing.T) {
	loader := starhost.Plugin{Name: "load", FragmentLoaders: []starhost.FragmentLoader{
		{Prefix: "doc", Load: func(_ context.Context, arg string) (starhost.Context, error) {
			return starhost.Context{Fragments: []fragments.Fragment{{Content: "text of " + arg}}}, nil
		}},
	}}
	drawing := []fragments.Attachment{{Content: "\x89PNG", Type: "image/png", Name: "a.png"}}
	summary := func(m []starhost.Message) []starhost.Message {
		return append([]starhost.Message{{Role: "user", Content: fragments.NewText("summary")}}, last(1)(m)...)
	}
	redacts := func(m []starhost.Message) []starhost.Message {
		out := last(1)(m)
		for i := range out {
			out[i].Content = fragments.NewText(strings.ReplaceAll(out[i].Content.String(), "text of a", "***"))
		}
		return out
	}
	names := func(doc string) host.Request { return host.Request{Fragments: []string{"doc:" + doc}} }
	tests := []struct {
		name   string
		engine func([]starhost.Message) []starhost.Message
		turns  []host.Request
		want   string // the status of the content in the last prompt; "" if the prompt has no such content
	}{
		{"named again", last(1), []host.Request{names("a"), names("a")}, "text of a"},
		{"named again and again", last(1), []host.Request{names("a"), names("a"), names("a"), names("a")}, "text of a"},
		{"the last three messages", last(3), []host.Request{names("a"), {}, names("a")}, "text of a"},
		{"with a summary", summary, []host.Request{names("a"), names("a")}, "text of a"},
		{"an attachment", last(1), []host.Request{{Attachments: drawing}, {Attachments: drawing}}, "a.png"},
		{"another one", last(1), []host.Request{names("a"), names("b")}, "text of b"},
		{"not named any more", last(1), []host.Request{names("a"), {}}, ""},
		{"a handler removes it", redacts, []host.Request{names("a"), names("a")}, "***"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newHost(t, host.Options{}, contextEngine(tt.engine), loader).NewSession(host.SessionConfig{})
			var p *host.Prompt
			for i, r := range tt.turns {
				r.Text = fmt.Sprint("turn ", i)
				p = ask(t, s, r)
			}
			text := ""
			for _, m := range p.Messages {
				text += m.Content.String()
				for _, a := range m.Attachments {
					text += a.Name
				}
			}
			has := func(part string) bool { return strings.Contains(text, part) }
			if any := has("text of") || has("***") || has("a.png"); any != (tt.want != "") || !has(tt.want) {
				t.Errorf("got the messages %q, want %q", text, tt.want)
			}
			if tt.name != "a handler removes it" {
				agrees(t, p)
			}
		})
	}
}

// TestSaveWaitingForProgram checks that a session stores a turn that waits for calls which the program runs,
// and that the turn can go on in another process.
func TestSaveWaitingForProgram(t *testing.T) {
	tools := []starhost.Tool{{Name: "mine", Description: "d"}}
	h := func() *host.Host { return newHost(t, host.Options{}, echo()) }
	s := h().NewSession(host.SessionConfig{ID: "s"})
	m := scriptedModel{replyWith(`c1 echo {"text":"x"}`, `c2 mine {"n":1}`), {Content: "done"}}
	result, err := s.Turn(t.Context(), host.Request{Text: "hi", Tools: tools}, &m)
	if err != nil || len(result.Pending) != 1 {
		t.Fatal(result, err)
	}
	saved := saveAndLoad(t, s)
	diff(t, "status", "waits", saved.Status())
	if err := saved.Answer("", true, pauseStart); err == nil {
		t.Error("an answer to no question: got no error")
	}
	other := h().Resume(host.SessionConfig{ID: "s"}, saved)
	if _, err := other.Begin(t.Context(), host.Request{Text: "and?"}); err == nil {
		t.Error("a second turn beside the one that waits: got no error")
	}
	resumed, err := h().Resume(host.SessionConfig{ID: "s"}, saved).ResumeTurn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "pending", result.Pending, resumed.Result().Pending)
	ends := make([]*host.TurnResult, 2)
	for i, turn := range []*host.Turn{result.Turn, resumed} {
		if err := turn.Answer("c2", starhost.Result{ForLLM: "mine"}); err != nil {
			t.Fatal(err)
		}
		again := m
		if ends[i], err = turn.Run(t.Context(), &again); err != nil {
			t.Fatal(err)
		}
		turn.End(t.Context())
	}
	last := func(r *host.TurnResult) string { return r.Prompt.Rendering() }
	diff(t, "the last request", last(ends[0]), last(ends[1]))
	if saved = saveAndLoad(t, s); saved.Paused != nil || saved.Status() != "" {
		t.Errorf("after the turn: got the status %q", saved.Status())
	}
}

// TestTurnHoldsLastPrompt checks that a turn does not keep earlier prompts in memory: each has all messages
// so far.
func TestTurnHoldsLastPrompt(t *testing.T) {
	var sent []weak.Pointer[host.Prompt]
	model := modelFunc(func(_ context.Context, p *host.Prompt) (starhost.Reply, error) {
		sent = append(sent, weak.Make(p))
		return replyWith(fmt.Sprintf(`c%d echo {"text":"x"}`, len(sent))), nil
	})
	s := newHost(t, host.Options{MaxRounds: 3}, echo()).NewSession(host.SessionConfig{})
	got, err := s.Turn(t.Context(), host.Request{Text: "hi"}, model)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	for i, p := range sent {
		if (p.Value() != nil) != (i == len(sent)-1) {
			t.Errorf("prompt %d of %d: held %v", i+1, len(sent), p.Value() != nil)
		}
	}
	runtime.KeepAlive(got)
}

// TestTurnHoldsNoPrompts checks that a turn of a program with a loop of its own does not keep earlier prompts
// in memory.
func TestTurnHoldsNoPrompts(t *testing.T) {
	turn := begin(t, newHost(t, host.Options{}, echo()), host.Request{Model: "m"})
	for range 3 {
		p, err := turn.Prompt(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if turn.Result().Prompt != nil {
			t.Error("the turn holds a prompt")
		}
		if err := turn.Reply(t.Context(), starhost.Reply{Content: p.Model}); err != nil {
			t.Fatal(err)
		}
	}
}
