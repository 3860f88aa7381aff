package decision_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
)

// commandGuard is a handler that decides by a call's command.
func commandGuard(decide func(command string) bool) handler {
	return func(
		_ context.Context, _ *effects.World, _ *host.Turn, e *starhost.Event,
	) (d starhost.Decision, err error) {
		var args struct{ Command string }
		if err := json.Unmarshal(e.Arguments, &args); err != nil {
			return d, err
		}
		if decide(args.Command) {
			return starhost.Deny("no"), nil
		}
		return d, nil
	}
}

// TestReplayMasked checks that a decision that depends on a masked value is "cannot tell", and that
// others are compared.
func TestReplayMasked(t *testing.T) {
	contains := func(part string) func(string) bool {
		return func(command string) bool { return strings.Contains(command, part) }
	}
	const unclear = "cannot tell: the log masks arguments/command"
	tests := []struct {
		name, action string
		decide       func(command string) bool
		want         string
	}{
		{"a token's form", "deny", contains("ghp_"), unclear},
		{"a value", "deny", contains("hunter2"), unclear},
		{"the absence of a value", "none", func(c string) bool { return !strings.Contains(c, "hunter2") }, unclear},
		{"a length", "none", func(c string) bool { return len(c) > 40 }, unclear},
		{"a prefix of the value", "none", func(c string) bool { return strings.HasPrefix(c, "curl -H m") }, unclear},
		{"digits", "none", func(c string) bool { return strings.ContainsAny(c, "0123456789") }, unclear},
		{"the placeholder of the log", "none", contains("<masked>"), ""},
		{"the rest, as recorded", "deny", contains("curl"), ""},
		{"nothing", "none", contains("rm "), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := call("s", tt.action)
			r.Input["arguments"] = json.RawMessage(`{"command":"curl -H <masked> x"}`)
			r.Masked = []string{"/decision/reason", "/input/arguments/command"}
			report := replay(t, decision.ReplayOptions{}, []*decision.Record{r}, commandGuard(tt.decide))
			got := ""
			for i := range report.Groups {
				got += report.Groups[i].Text()
			}
			diff(t, "groups", tt.want, got)
		})
	}
}

// TestReplayMaskedReply checks the same for a reply to an effect, and that the first of the two
// firings leaves no value behind.
func TestReplayMaskedReply(t *testing.T) {
	deny := denyIf(func(ctx context.Context, w *effects.World, _ *host.Session) (string, error) {
		text, _, err := w.GetEnv(ctx, "A")
		if strings.Contains(text, "secret") {
			return "deny", err
		}
		return "", err
	})
	env := call("s", "deny", `{"env":{"name":"A"},"reply":"<masked>"}`)
	env.Masked = []string{"/handlers/0/effects/0/reply"}
	report := replay(t, decision.ReplayOptions{}, []*decision.Record{env}, deny)
	diff(t, "groups", "cannot tell: the log masks handlers/0/effects/0/reply", report.Groups[0].Text())

	var records []*decision.Record
	for n := range 3 {
		r := counted("s", "state", n)
		r.Input["arguments"], r.Masked = json.RawMessage(`{"command":"<masked>"}`), []string{"/input/arguments/command"}
		records = append(records, r)
	}
	report = replay(t, decision.ReplayOptions{}, records, count("state", 1, 3))
	diff(t, "counted", "3 events of 1 session: 0 same, 3 same, masked, 0 cannot tell", report.Summary())
	report = replay(t, decision.ReplayOptions{}, records, count("state", 2, 7))
	diff(t, "counted otherwise", 3, report.Events)
}

// TestReplayOwnLog checks that the plugins that wrote a log of 2,000 events, with masked, cut and
// stored values, decide as it says, or that the replay says which masked place decided.
func TestReplayOwnLog(t *testing.T) {
	const events, sessions = 2000, 20
	long := strings.Repeat("some words ", 30_000)
	arguments := func(i int) string {
		switch i % 8 {
		case 1:
			return fmt.Sprintf(`{"command":"API_TOKEN=abcdef%d make"}`, i)
		case 2:
			return fmt.Sprintf(`{"command":"curl -d ghp_abcdefghijklmnopqrstuvwxyz%06d x"}`, i)
		case 3:
			return fmt.Sprintf(`{"command":"echo %d %s"}`, i, long)
		case 4:
			return fmt.Sprintf(`{"command":"login hunter2x%d","password":"hunter2x%[1]d"}`, i)
		case 5:
			return `{"command":"rm -rf build"}`
		case 6:
			return fmt.Sprintf(`{"command":"git push","note":%q}`, long[:i])
		}
		return `{"command":"ls"}`
	}
	guard := func(
		ctx context.Context, w *effects.World, turn *host.Turn, e *starhost.Event,
	) (d starhost.Decision, err error) {
		var args struct{ Command string }
		if err := json.Unmarshal(e.Arguments, &args); err != nil {
			return d, err
		}
		switch command := args.Command; {
		case strings.Contains(command, "ghp_"):
			return starhost.Deny("no keys"), nil
		case strings.HasPrefix(command, "rm"):
			return starhost.Deny("no " + command), nil
		case strings.HasPrefix(command, "git push"):
			return starhost.Ask("push?"), nil
		case strings.HasPrefix(command, "ls"):
			return starhost.Modify("arguments", json.RawMessage(`{"command":"ls -l"}`)), nil
		}
		return count("state", 1, 30)(ctx, w, turn, e)
	}
	dir := filepath.Join(t.TempDir(), "log")
	l, _ := newLog(t, decision.Options{Dir: dir})
	h := host.New(host.Options{Observe: l.Observe})
	w := &effects.World{Plugin: "p"}
	call := func(ctx context.Context, e *starhost.Event) (starhost.Decision, error) {
		t := host.TurnOf(ctx)
		return guard(ctx, w, t, e)
	}
	hook := starhost.Hook{Event: "pre_tool_call", Pos: starhost.Pos{File: "p.star", Line: 1, Col: 1}, Call: call}
	if err := h.Add(starhost.Plugin{Name: "p", Hooks: []starhost.Hook{hook}}); err != nil {
		t.Fatal(err)
	}
	p := decision.Plugin{Name: "p", Config: map[string]json.RawMessage{"token": raw("abc123def")}}
	l.Use(decision.Set{Plugins: []decision.Plugin{p}}, nil)
	for s := range sessions {
		session := h.NewSession(host.SessionConfig{ID: fmt.Sprint("s", s)})
		for i := s; i < events; i += sessions {
			e := &starhost.Event{Name: "pre_tool_call", Tool: "x", Foreign: true}
			e.Arguments = json.RawMessage(arguments(i/sessions*7%events + s))
			if _, err := session.Fire(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	reader, err := decision.NewReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := decision.NewReplay(decision.ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	load := func() (*host.Host, error) { return newReplayHost(r, guard) }
	report, err := r.Run(t.Context(), load, reader.All())
	if err != nil {
		t.Fatal(err)
	}
	if report.Events != events || report.Changed() != 0 || report.SameMasked < events/8 {
		t.Errorf("got %s, want no difference: %+v", report.Summary(), report.Groups)
	}
	for i := range report.Groups {
		diff(t, "groups", "cannot tell: the log masks arguments/command", report.Groups[i].Text())
	}
	if report.CannotTell == 0 || report.CannotTell > events/4 {
		t.Errorf("got %s, want the keys alone to be unclear", report.Summary())
	}
}
