package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// reload saves a session and resumes it as another process would.
func reload(t *rapid.T, h *host.Host, s *host.Session) *host.Session {
	saved, err := s.Save(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(saved)
	if err != nil {
		t.Fatal(err)
	}
	var back host.SavedSession
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(saved, back, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("a saved session as JSON (-saved +loaded):\n%s", diff)
	}
	return h.Resume(host.SessionConfig{ID: s.ID()}, back)
}

// TestSavedWords checks that a saved session has the user's words only if a hook that runs after the prompt
// reads them, and that it has only the start of a long text.
func TestSavedWords(t *testing.T) {
	for _, reads := range []bool{false, true} {
		var got string
		h := host.New(host.Options{})
		hook := starhost.Hook{Event: "pre_tool_call", ReadsWords: reads}
		hook.Call = func(_ context.Context, e *starhost.Event) (starhost.Decision, error) {
			got = e.UserMessage
			return starhost.Decision{}, nil
		}
		if err := h.Add(starhost.Plugin{Name: "p", Hooks: []starhost.Hook{hook}}); err != nil {
			t.Fatal(err)
		}
		s := h.NewSession(host.SessionConfig{})
		if _, err := s.Prompt(t.Context(), host.Request{Text: strings.Repeat("é", 20_000)}); err != nil {
			t.Fatal(err)
		}
		saved, err := s.Save(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if reads {
			want = strings.Repeat("é", 8192) + "…"
		}
		if saved.Words != want {
			t.Errorf("reads %v: got %d bytes, want %d", reads, len(saved.Words), len(want))
		}
		_, err = h.Resume(host.SessionConfig{}, saved).Fire(t.Context(), &starhost.Event{Name: "pre_tool_call", Tool: "x"})
		if err != nil || got != want {
			t.Errorf("reads %v: the hook got %d bytes, %v, want %d", reads, len(got), err, len(want))
		}
	}
}

// TestLawSavedSession checks that a session that is saved and resumed after every step sends the same bytes,
// and shows plugins the same arguments, as a session that stays in memory.
func TestLawSavedSession(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		offers := map[string][]starhost.Context{}
		for _, event := range []string{"session_start", "turn_start", "pre_llm_call"} {
			for range 6 {
				c := drawContext(t, event)
				for i := range c.Fragments {
					c.Fragments[i].Target = rapid.SampledFrom([]fragments.Target{fragments.Prompt,
						fragments.System}).Draw(t, "target")
				}
				offers[event] = append(offers[event], c)
			}
		}
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"prompt", "fire", "reset", "leave"}), 1, 6).Draw(t, "steps")
		live, saved := run(t, offers, steps, false), run(t, offers, steps, true)
		if diff := cmp.Diff(live, saved); diff != "" {
			t.Fatalf("%q (-one process +a process for each):\n%s", steps, diff)
		}
	})
}

// run runs steps with a session, and saves and resumes the session after each step if reloads is true. It
// returns the sent texts and the events.
func run(t *rapid.T, offers map[string][]starhost.Context, steps []string, reloads bool) (said []string) {
	ctx := context.Background()
	fired := map[string]int{}
	offer := func(e *starhost.Event) starhost.Decision {
		text, _ := json.Marshal([]any{e.Name, e.SessionID, e.IsFirstTurn, e.Turns, e.Completed, e.Interrupted})
		said = append(said, string(text))
		list := offers[e.Name]
		if len(list) == 0 {
			return starhost.Decision{}
		}
		fired[e.Name]++
		return starhost.Decision{Action: starhost.ActionContext, Context: list[(fired[e.Name]-1)%len(list)]}
	}
	p := plugin("p")
	for _, event := range []string{"session_start", "turn_start", "pre_llm_call", "session_reset", "session_end", "pre_tool_call"} {
		h := hookFunc(event, offer)
		p.Hooks = append(p.Hooks, h)
	}
	h := host.New(host.Options{Prompt: host.PromptOptions{Render: fragments.XML}})
	if err := h.Add(p); err != nil {
		t.Fatal(err)
	}
	s := h.NewSession(host.SessionConfig{ID: "s"})
	for _, step := range steps {
		said = append(said, do(t, ctx, s, step)...)
		if reloads {
			s = reload(t, h, s)
		}
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return said
}

// do runs one step and returns the sent text.
func do(t *rapid.T, ctx context.Context, s *host.Session, step string) []string {
	switch step {
	case "fire":
		if _, err := s.Fire(ctx, &starhost.Event{Name: "pre_tool_call", Tool: "x"}); err != nil {
			t.Fatal(err)
		}
		return nil
	case "reset":
		if err := s.Reset(ctx); err != nil {
			t.Fatal(err)
		}
		return nil
	}
	turn, err := s.Begin(ctx, host.Request{Text: "words"})
	if err != nil {
		t.Fatal(err)
	}
	end := turn.End
	if step == "leave" {
		end = turn.Leave
	}
	defer end(ctx)
	p, err := turn.Prompt(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return []string{p.System, p.Text.String()}
}

// TestTurnLeave checks that Leave fires no turn_end, and that the session goes on.
func TestTurnLeave(t *testing.T) {
	var ends []bool
	h := newHost(t, host.Options{}, plugin("p", hookFunc("turn_end", func(e *starhost.Event) starhost.Decision {
		ends = append(ends, e.Completed)
		return starhost.Decision{}
	})))
	s := h.NewSession(host.SessionConfig{})
	turn := beginIn(t, s, host.Request{Text: "a"})
	turn.Leave(t.Context())
	if len(ends) > 0 {
		t.Errorf("turn_end was fired: %v", ends)
	}
	if _, err := s.Fire(t.Context(), &starhost.Event{Name: "turn_end", Completed: true, Response: "r"}); err != nil {
		t.Fatal(err)
	}
	diff(t, "turn_end", []bool{true}, ends)
}

// TestTurnFollowFirst checks that messages that the agent added before the first prompt come after the user's
// message.
func TestTurnFollowFirst(t *testing.T) {
	var seen []string
	h := newHost(t, host.Options{}, plugin("p", sayingHook("turn_start", "context"), hookFunc("pre_llm_call", func(e *starhost.Event) starhost.Decision {
		seen = roles(e.Messages.Items())
		return starhost.Decision{}
	})))
	turn := begin(t, h, host.Request{Text: "words", History: []starhost.Message{{Role: starhost.RoleUser, Content: fragments.NewText("before")}}})
	turn.Follow([]starhost.Message{{Role: starhost.RoleAssistant, Content: fragments.NewText("behind")}})
	p := prompt(t, turn)
	diff(t, "messages", []string{"user: before", "user: words", "assistant: behind"}, seen)
	diff(t, "messages sent", []string{"user: before", "user: context\nwords", "assistant: behind"}, roles(p.Messages))
	diff(t, "text", "context\nwords", p.Text.String())
}

// TestTurnFollow checks that plugins see the messages of an agent's own loop, and that the contents of
// earlier prompts stay in the session.
func TestTurnFollow(t *testing.T) {
	var seen [][]string
	h := newHost(t, host.Options{}, plugin("p", sayingHook("turn_start", "context"), hookFunc("pre_llm_call", func(e *starhost.Event) starhost.Decision {
		var list []string
		for _, m := range e.Messages.Items() {
			list = append(list, m.Role+": "+m.Content.String())
		}
		seen = append(seen, list)
		return starhost.TextContext([]string{"", "later"}[len(seen)-1])
	})))
	turn := begin(t, h, host.Request{Text: "words", History: []starhost.Message{{Role: starhost.RoleUser, Content: fragments.NewText("before")}}})
	prompt(t, turn)
	turn.Follow([]starhost.Message{{Role: starhost.RoleAssistant, Content: fragments.NewText("call")}})
	turn.Follow([]starhost.Message{{Role: starhost.RoleAssistant, Content: fragments.NewText("call")}, {Role: starhost.RoleTool, Content: fragments.NewText("answer")}})
	p := prompt(t, turn)
	diff(t, "messages", [][]string{{"user: before", "user: words"}, {"user: before", "user: words", "assistant: call", "tool: answer"}}, seen)
	diff(t, "text", "later", p.Text.String())
	diff(t, "messages sent", []string{"user: before", "user: context\nwords", "assistant: call", "tool: answer", "user: later"}, roles(p.Messages))
}
