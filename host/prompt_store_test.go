package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// TestPromptsFillTheStore checks that the store gets the contents that a prompt sends, as plugins offered
// them before a hook changed them, and not those that the budget dropped.
func TestPromptsFillTheStore(t *testing.T) {
	s := new(fragments.MemoryStore)
	blot := hookFunc("pre_send", func(e *starhost.Event) starhost.Decision {
		return starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"system": strings.ReplaceAll(e.System, "own", "***")}}
	})
	own := hookFunc("pre_llm_call", func(e *starhost.Event) starhost.Decision {
		return contextOf(fragments.Fragment{Content: "own", Target: fragments.System},
			fragments.Fragment{Content: "for " + e.UserMessage}, fragments.Fragment{Content: strings.Repeat("large ",
				50)})
	})
	h := newHost(t, host.Options{Fragments: s, Prompt: host.PromptOptions{Budget: fragments.Budget{MaxBytes: 100}}}, plugin("p", blot, own))
	session := h.NewSession(host.SessionConfig{})
	ask(t, session, host.Request{Text: "one"})
	if p := ask(t, session, host.Request{Text: "two"}); !strings.Contains(p.System, "***") {
		t.Fatalf("system text: got %q, want it changed", p.System)
	}
	var got []string
	for _, text := range []string{"own", "for one", "for two", "***", strings.Repeat("large ", 50)} {
		if _, ok, _ := s.Get(t.Context(), fragments.Sum(text)); ok {
			got = append(got, text)
		}
	}
	diff(t, "stored", []string{"own", "for one", "for two"}, got)
	if ids, _ := s.Find(t.Context(), "", 9); len(ids) != 3 {
		t.Errorf("got %d contents, want 3", len(ids))
	}
}

// fullStore refuses every content.
type fullStore struct{ fragments.MemoryStore }

func (*fullStore) Put(context.Context, ...fragments.Content) error { return errors.New("full") }

func TestPromptGoesOnWithoutTheStore(t *testing.T) {
	var logged []host.LogLine
	o := host.Options{Fragments: new(fullStore), Log: func(l host.LogLine) { logged = append(logged, l) }}
	h := newHost(t, o, plugin("p", sayingHook("turn_start", "context")))
	diff(t, "text", "context\nhi", ask(t, h.NewSession(host.SessionConfig{}), host.Request{Text: "hi"}).Text.String())
	diff(t, "log", []host.LogLine{{Plugin: "host", Level: "warn", Text: "fragments were not stored: full"}}, logged)
}
