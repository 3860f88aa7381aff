package hook_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/hook"
)

// turnsHost returns a host whose plugin says in each prompt whether the prompt is the first of the session.
// The plugin knows that from the state that starhost stores between events.
func turnsHost(t testing.TB) *host.Host {
	t.Helper()
	h := host.New(host.Options{})
	err := h.Add(starhost.Plugin{Name: "turns", Hooks: []starhost.Hook{{
		Event: "turn_start", Call: func(_ context.Context, e *starhost.Event) (starhost.Decision, error) {
			return starhost.Decision{Action: starhost.ActionAbort, Reason: fmt.Sprint("first ", e.IsFirstTurn)}, nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestMemory checks that a memory stores sessions as the files of processes do: by agent and session, until
// the agent clears the session.
func TestMemory(t *testing.T) {
	h := turnsHost(t)
	memory := hook.NewMemory(func(err error) { t.Errorf("report: %v", err) })
	for name, states := range map[string]*hook.States{
		"files": {Dir: filepath.Join(t.TempDir(), "sessions")}, "memory": {Memory: memory},
	} {
		o := hook.Options{States: states, Report: func(err error) { t.Errorf("%s: %v", name, err) }}
		want := func(text, want string) {
			t.Helper()
			a, err := event(t, h, o, text)
			if err != nil || !strings.Contains(a.Out, want) {
				t.Errorf("%s: %s: got %s, %v, want %s", name, text, a.Out, err, want)
			}
		}
		want(promptOf("s", "hi"), "first true")
		want(promptOf("s", "hi"), "first false")
		want(promptOf("other", "hi"), "first true")
		want(`{"hook_event_name":"SessionEnd","session_id":"s","reason":"other"}`, "")
		want(promptOf("s", "hi"), "first false")
		want(`{"hook_event_name":"SessionEnd","session_id":"s","reason":"clear"}`, "")
		want(promptOf("s", "hi"), "first true")
	}
	if n := memory.Len(); n != 2 {
		t.Errorf("got %d sessions, want 2", n)
	}
}

// TestMemoryFull checks that a full memory drops the session whose event is the oldest, and says
// so.
func TestMemoryFull(t *testing.T) {
	h := turnsHost(t)
	var full []error
	memory := hook.NewMemory(func(err error) { full = append(full, err) })
	o := hook.Options{States: &hook.States{Memory: memory}}
	for i := range 10_002 {
		if _, err := event(t, h, o, promptOf(fmt.Sprint(i), "hi")); err != nil {
			t.Fatal(err)
		}
		if i%1000 == 0 { // an event every thousand turns keeps session 0 in use
			if a, err := event(t, h, o, promptOf("0", "hi")); err != nil || !strings.Contains(a.Out, "first false") {
				t.Fatalf("at %d: got %s, %v", i, a.Out, err)
			}
		}
	}
	if n := memory.Len(); n != 10_000 || len(full) != 2 {
		t.Errorf("got %d sessions and %d reports, want 10000 and 2: %v", n, len(full), full)
	}
	if a, _ := event(t, h, o, promptOf("1", "hi")); !strings.Contains(a.Out, "first true") {
		t.Errorf("the oldest session: got %s, want that it begins again", a.Out)
	}
}

// TestMemoryBusy checks that events of one session wait for each other, and that the wait ends with
// the context of the event.
func TestMemoryBusy(t *testing.T) {
	inside, release := make(chan bool), make(chan bool)
	h := host.New(host.Options{})
	err := h.Add(starhost.Plugin{Name: "slow", Hooks: []starhost.Hook{{
		Event: "pre_tool_call", Call: func(context.Context, *starhost.Event) (starhost.Decision, error) {
			inside <- true
			<-release
			return starhost.Decision{}, nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	var reported error
	o := hook.Options{
		States: &hook.States{Memory: hook.NewMemory(func(error) {})}, Report: func(err error) { reported = err },
	}
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = event(t, h, o, toolOf("s", "Bash")) })
	<-inside
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("too late"))
	defer cancel()
	e, err := hook.AgentOf("claude-code").Read([]byte(toolOf("s", "Bash")))
	if err != nil {
		t.Fatal(err)
	}
	a, store, err := e.Answer(ctx, h, o)
	store()
	if err == nil && !strings.Contains(a.Out, `"deny"`) {
		t.Errorf("got %s, want a refusal", a.Out)
	}
	if reported == nil || reported.Error() != "the session is busy with an earlier event: too late" {
		t.Errorf("report: got %v", reported)
	}
	close(release)
	wg.Wait()
}
