package hook_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/hook"
)

// TestPins checks that starhost refuses the events of a session that lacks a guard which it had, with
// sessions in files and in memory, until a person lets the session go on.
func TestPins(t *testing.T) {
	pass := func(context.Context, *starhost.Event) starhost.Decision { return starhost.Decision{} }
	allow := hookOn("pre_tool_call", pass)
	h := func(plugins ...starhost.Plugin) *host.Host {
		h := host.New(host.Options{})
		if err := h.Add(plugins...); err != nil {
			t.Fatal(err)
		}
		return h
	}
	guard := starhost.Plugin{Name: "guard", From: "/p/guard.star", Required: true, Hooks: []starhost.Hook{allow}}
	elsewhere, warns, optional := guard, guard, guard
	elsewhere.From, warns.Warn, optional.Required = "/sub/guard.star", true, false
	prompts := guard
	prompts.Hooks = []starhost.Hook{allow, hookOn("turn_start", pass)}
	other := starhost.Plugin{Name: "other", Hooks: []starhost.Hook{allow}}
	lost := h()
	lost.Lose(host.Guard{Name: "guard", Err: os.ErrNotExist})
	const gone = "this session had the required guard guard (/p/guard.star), which is not loaded now"
	tests := []struct {
		name       string
		had, has   *host.Host
		call, turn string // the reasons for which starhost refuses the call and the prompt; "" if it does not
	}{
		{"the guard", h(guard), h(guard), "", ""},
		{"no guard at all", h(), h(), "", ""},
		{"a guard that comes", h(), h(guard), "", ""},
		{"a required guard that goes", h(guard), h(), gone, ""},
		{"another one of its name", h(guard), h(elsewhere), gone, ""},
		{"one that only warns", h(guard), h(warns), gone, ""},
		{"one that is not required any more", h(guard), h(optional), "", ""},
		{"another guard", h(guard), h(other), gone, ""},
		{"a guard of prompts", h(prompts), h(other), gone, gone},
		{"the only guard", h(optional), h(), "this session had a guard (guard) and has none now", ""},
		{"one of two", h(optional, other), h(other), "", ""},
		{"one that only warned", h(warns), h(), "", ""},
		{"one that never loaded", lost, h(), "this session had a guard (guard) and has none now", ""},
		{"one that does not load any more", h(guard), lost, "file does not exist", ""},
	}
	for _, tt := range tests {
		for _, inMemory := range []bool{false, true} {
			states := &hook.States{Dir: filepath.Join(t.TempDir(), "sessions")}
			if inMemory {
				states.Memory = hook.NewMemory(func(error) {})
			}
			o := hook.Options{States: states, Root: "/p"}
			for i, text := range []string{toolOf("s", "Bash"), promptOf("s", "hi")} {
				if _, err := event(t, tt.had, o, toolOf("s", "Bash")); err != nil {
					t.Fatal(err)
				}
				answer, err := event(t, tt.has, o, text)
				want := []string{tt.call, tt.turn}[i]
				if err != nil || answer.Blocks != (want != "") || !strings.Contains(answer.Out+answer.Err, want) {
					t.Errorf("%s, in memory %v: %s: got %+v, %v; want %q", tt.name, inMemory, text, answer, err, want)
				}
				open := o
				open.FailOpen = true
				if answer, err = event(t, tt.has, open, text); err != nil || tt.has != lost && answer.Blocks {
					t.Errorf("%s: fail-open: got %+v, %v", tt.name, answer, err)
				}
			}
			pins, err := states.Pins()
			if err != nil || inMemory || len(pins) == 0 {
				continue
			}
			if pins[0].Root != "/p" || pins[0].Agent != "claude-code" || pins[0].Session != "s" {
				t.Errorf("%s: got %+v", tt.name, pins[0])
			}
			if err := states.Unpin(pins[0]); err != nil {
				t.Error(err)
			}
			if answer, err := event(t, tt.has, o, toolOf("s", "Bash")); err != nil || tt.has != lost && answer.Blocks {
				t.Errorf("%s: after a reset: got %+v, %v", tt.name, answer, err)
			}
		}
	}
}

// TestPinFiles checks that starhost refuses events if it cannot read the pin of the session, that a pin lasts
// as long as its session, and that it works for any name of a session.
func TestPinFiles(t *testing.T) {
	now := time.Now()
	states := &hook.States{Dir: filepath.Join(t.TempDir(), "sessions"), Now: func() time.Time { return now }}
	allow := hookOn("pre_tool_call", func(context.Context, *starhost.Event) starhost.Decision { return starhost.Decision{} })
	guarded, o := hostOf(t, allow), hook.Options{States: states, Root: "/p"}
	long := strings.Repeat("x", 2<<20)
	blocks := func(h *host.Host, session string) bool {
		t.Helper()
		answer, err := event(t, h, o, toolOf(session, "Bash"))
		if err != nil {
			t.Fatal(err)
		}
		return answer.Blocks
	}
	for _, session := range []string{"s", long} {
		if blocks(guarded, session) || !blocks(hostOf(t), session) || blocks(guarded, session) {
			t.Errorf("session of %d bytes: want a refusal without its guard, and none with it", len(session))
		}
	}
	for range 10 { // events of the session keep the pin for longer than it would last without them
		now = now.Add(25 * time.Hour)
		before := stored(t, states.Dir)
		if blocks(guarded, "s") || stored(t, states.Dir) == before {
			t.Fatal("the session has its guard: want no refusal, and a new pin each day")
		}
		pins, _ := filepath.Glob(filepath.Join(states.Dir, "*.pin"))
		for _, file := range pins {
			if err := os.Chtimes(file, now, now); err != nil { // the file must have a time of the test's clock
				t.Fatal(err)
			}
		}
		if !blocks(hostOf(t), "s") {
			t.Fatalf("%v: the session forgot its guard", now)
		}
	}
	pins, err := filepath.Glob(filepath.Join(states.Dir, "*.pin"))
	if err != nil || len(pins) != 2 {
		t.Fatalf("got %q, %v", pins, err)
	}
	for _, text := range []string{"", "{", `{"starhost_pin":99}`} {
		for _, file := range pins {
			if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chtimes(file, now, now)); err != nil {
				t.Fatal(err)
			}
		}
		if !blocks(guarded, "s") {
			t.Errorf("a pin with the text %q: want a refusal", text)
		}
	}
}

// stored returns the times at which starhost stored the pins in a folder.
func stored(t *testing.T, dir string) (times string) {
	t.Helper()
	pins, _ := filepath.Glob(filepath.Join(dir, "*.pin"))
	for _, file := range pins {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		times += fmt.Sprintln(info.ModTime())
	}
	return times
}
