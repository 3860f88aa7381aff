package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/hook"
)

// event lets starhost answer one event of Claude Code, as a new process would.
func event(t testing.TB, h *host.Host, o hook.Options, text string) (hook.Answer, error) {
	t.Helper()
	e, err := hook.AgentOf("claude-code").Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	a, store, err := e.Answer(t.Context(), h, o)
	store()
	return a, err
}

func promptOf(session, text string) string {
	line, _ := json.Marshal(map[string]string{"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": text})
	return string(line)
}

func toolOf(session, tool string) string {
	return fmt.Sprintf(`{"hook_event_name":"PreToolUse","session_id":%q,"tool_name":%q,"tool_input":{}}`, session, tool)
}

// files returns the names of the files in a folder, with H for each hash.
func files(t testing.TB, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if base, ok := strings.CutSuffix(name, ".json"); ok && len(base) == 64 {
			name = "H.json"
		}
		if strings.HasSuffix(name, ".pin") || strings.Contains(name, ".calls") { // see TestPins and TestRan
			continue
		}
		names = append(names, name[:min(5, len(name))])
	}
	return names
}

// TestStatesPrivate checks that only the owner can read the folder, and that a session's name never
// becomes a path.
func TestStatesPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "sessions")
	o := hook.Options{States: &hook.States{Dir: dir}}
	for _, name := range []string{"../../etc/passwd", "/etc/passwd", strings.Repeat("x", 10_000), "a\x00b", "é"} {
		if _, err := event(t, hostOf(t), o, promptOf(name, "hi")); err != nil {
			t.Errorf("%q: %v", name[:min(20, len(name))], err)
		}
	}
	if n := strings.Count(strings.Join(files(t, dir), " "), "H.jso"); n != 5 {
		t.Errorf("got %d files, want 5: %q", n, files(t, dir))
	}
	for _, path := range []string{dir, filepath.Dir(dir)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: got %v, %v, want mode 0700", path, info.Mode(), err)
		}
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, _ := e.Info(); strings.HasSuffix(e.Name(), ".json") && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got mode %v, want 0600", e.Name(), info.Mode())
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, reports := answerWithReports(t, hostOf(t), o, promptOf("s", "hi")); !strings.Contains(reports, "want mode 0700") {
		t.Errorf("a folder that others read: got %q", reports)
	}
}

// answerWithReports answers an event, and returns the failures that Options.Report received.
func answerWithReports(
	t testing.TB, h *host.Host, o hook.Options, text string,
) (answer hook.Answer, reports string) {
	t.Helper()
	o.Report = func(err error) { reports += err.Error() + "\n" }
	answer, err := event(t, h, o, text)
	if err != nil {
		t.Errorf("%s: got error %v", text, err)
	}
	return answer, reports
}

// TestStatesUnread checks that starhost reads no state for a tool call if none of the guards of the call
// names ctx.
func TestStatesUnread(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	o := hook.Options{States: &hook.States{Dir: dir}}
	pure := hookOn("pre_tool_call", func(context.Context, *starhost.Event) starhost.Decision { return starhost.Deny("no") })
	pure.Pure = true
	asks := hookOn("pre_tool_call", func(context.Context, *starhost.Event) starhost.Decision { return starhost.Decision{} })
	asks.Match = []string{"asked"}
	h := hostOf(t, pure, asks, hookOn("session_start", func(context.Context, *starhost.Event) starhost.Decision {
		t.Error("session_start was fired by a call that needs no session")
		return starhost.Decision{}
	}))
	answer, err := event(t, h, o, toolOf("s", "Bash"))
	if err != nil || answer.Code != 2 || slices.Contains(files(t, dir), "H.json") {
		t.Errorf("got %v, %v, files %q", answer, err, files(t, dir))
	}
	if _, err := event(t, h, hook.Options{States: &hook.States{}}, toolOf("s", "Bash")); err != nil {
		t.Errorf("without a place: got %v", err)
	}
	answer, reports := answerWithReports(t, h, hook.Options{States: &hook.States{}}, toolOf("s", "asked"))
	if answer.Code != 2 || !strings.Contains(reports, "want HOME") {
		t.Errorf("without a place, where a guard names the state: got %v, reports %q", answer, reports)
	}
}

// TestStatesOld checks that a session without events for a week loses its state, and that starhost removes
// its file.
func TestStatesOld(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	now := time.Now()
	o := hook.Options{States: &hook.States{Dir: dir, Now: func() time.Time { return now }}}
	h := hostOf(t, hookOn("turn_start", func(_ context.Context, e *starhost.Event) starhost.Decision {
		return starhost.TextContext(fmt.Sprint("first ", e.IsFirstTurn))
	}))
	ask := func() string {
		t.Helper()
		answer, err := event(t, h, o, promptOf("s", "hi"))
		if err != nil {
			t.Fatal(err)
		}
		return answer.Out
	}
	got := []bool{strings.Contains(ask(), "first true"), strings.Contains(ask(), "first false"), ask() != ""}
	if diff := cmp.Diff([]bool{true, true, false}, got); diff != "" {
		t.Errorf("three turns (-want +got):\n%s", diff)
	}
	now = now.Add(8 * 24 * time.Hour)
	if out := ask(); !strings.Contains(out, "first true") {
		t.Errorf("after a week: got %q, want a new session", out)
	}
}

// TestStatesEnd checks that starhost keeps the state of a session that ended: a session that the agent
// resumes goes on with its state and with the record of the context that it sent. session_end fires once. If
// the agent clears the session, starhost removes the state.
func TestStatesEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	o := hook.Options{States: &hook.States{Dir: dir}}
	ends := 0
	h := hostOf(t, hookOn("pre_llm_call", func(context.Context, *starhost.Event) starhost.Decision { return starhost.TextContext("context") }),
		hookOn("session_end", func(context.Context, *starhost.Event) starhost.Decision {
			ends++
			return starhost.Decision{}
		}), countingGuard())
	end := func(reason string) string {
		return fmt.Sprintf(`{"hook_event_name":"SessionEnd","session_id":"s","reason":%q}`, reason)
	}
	steps := []struct {
		event string
		said  string // the context that a prompt gets, or the reason for which starhost refuses a call
		ends  int
	}{
		{promptOf("s", "a"), "context", 0},
		{toolOf("s", "Bash"), "call 1", 0},
		{end("other"), "", 1},
		{end("other"), "", 1},
		{promptOf("s", "b"), "", 1},
		{toolOf("s", "Bash"), "call 2", 1},
		{`{"hook_event_name":"SessionStart","session_id":"s","source":"compact"}`, "", 1},
		{promptOf("s", "b"), "context", 1},
		{end("logout"), "", 2},
		{toolOf("s", "Bash"), "call 3", 2},
		{end("clear"), "", 3},
		{promptOf("s", "c"), "context", 3},
		{toolOf("s", "Bash"), "call 1", 3},
		{`{"hook_event_name":"SessionStart","session_id":"s","source":"resume"}`, "", 3},
		{toolOf("s", "Bash"), "call 2", 3},
		{`{"hook_event_name":"SessionStart","session_id":"s","source":"clear"}`, "", 4},
		{promptOf("s", "d"), "context", 4},
		{end("other"), "", 5},
		{end("clear"), "", 5},
		{promptOf("s", "e"), "context", 5},
	}
	for i, s := range steps {
		answer, reports := answerWithReports(t, h, o, s.event)
		said := answer.Out + answer.Err
		if reports != "" || (s.said == "") != (said == "") || !strings.Contains(said, s.said) || ends != s.ends {
			t.Errorf("step %d, %s: got %q, %d ends, reports %q; want %q, %d ends", i+1, s.event, said, ends, reports, s.said, s.ends)
		}
	}
}

// countingGuard returns a guard that denies each call and counts the calls in its plugin's state.
func countingGuard() starhost.Hook {
	return starhost.Hook{Event: "pre_tool_call", Call: func(
		ctx context.Context, _ *starhost.Event,
	) (starhost.Decision, error) {
		turn := host.TurnOf(ctx)
		state := effects.StateOf(turn.Session(), "counter")
		n := 1
		if raw, ok := state.Get("n"); ok {
			_ = json.Unmarshal(raw, &n)
			n++
		}
		return starhost.Deny(fmt.Sprint("call ", n)), state.Set("n", json.RawMessage(fmt.Sprint(n)))
	}}
}

// TestStatesAtOnce checks that processes that run at the same time lose no change of a session's state.
func TestStatesAtOnce(t *testing.T) {
	o := hook.Options{States: &hook.States{Dir: filepath.Join(t.TempDir(), "sessions")}}
	count := starhost.Hook{Event: "pre_tool_call", Call: func(
		ctx context.Context, _ *starhost.Event,
	) (starhost.Decision, error) {
		turn := host.TurnOf(ctx)
		state := effects.StateOf(turn.Session(), "p")
		n := 0
		if raw, ok := state.Get("n"); ok {
			_ = json.Unmarshal(raw, &n)
		}
		return starhost.Deny(fmt.Sprint(n + 1)), state.Set("n", json.RawMessage(fmt.Sprint(n+1)))
	}}
	const events = 40
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]bool{}
	for range events {
		wg.Go(func() {
			answer, err := event(t, hostOf(t, count), o, toolOf("s", "Bash"))
			mu.Lock()
			defer mu.Unlock()
			if err != nil || seen[answer.Err] {
				t.Errorf("got %q (again: %v), %v", answer.Err, seen[answer.Err], err)
			}
			seen[answer.Err] = true
		})
	}
	wg.Wait()
	if len(seen) != events {
		t.Errorf("got %d counts, want %d", len(seen), events)
	}
}

// TestStatesApart checks that a plugin that takes long in one session does not delay other
// sessions, also those whose files have similar names.
func TestStatesApart(t *testing.T) {
	o := hook.Options{States: &hook.States{Dir: filepath.Join(t.TempDir(), "sessions")}}
	entered, release := make(chan struct{}), make(chan struct{})
	slow := countingGuard()
	slow.Call = func(context.Context, *starhost.Event) (starhost.Decision, error) {
		close(entered)
		<-release
		return starhost.Decision{}, nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := event(t, hostOf(t, slow), o, toolOf("slow", "Bash")); err != nil {
			t.Error(err)
		}
	}()
	<-entered
	others := make(chan struct{})
	go func() {
		defer close(others)
		for i := range 128 { // session 75 is the first in the shard of the slow one
			answer, err := event(t, hostOf(t, countingGuard()), o, toolOf(fmt.Sprint(i), "Bash"))
			if err != nil || !strings.Contains(answer.Err, "call 1") {
				t.Errorf("session %d: got %q, %v", i, answer.Err, err)
			}
		}
	}()
	select {
	case <-others:
	case <-time.After(time.Minute):
		t.Error("other sessions wait for the slow one")
	}
	close(release)
	<-done
	<-others
}

// TestStatesLocks checks that starhost removes the locks of expired sessions with their states.
func TestStatesLocks(t *testing.T) {
	dir, now := filepath.Join(t.TempDir(), "sessions"), time.Now()
	o := hook.Options{States: &hook.States{Dir: dir, Now: func() time.Time { return now }}}
	for round := range 3 {
		for i := range 40 {
			if _, err := event(t, hostOf(t, countingGuard()), o, toolOf(fmt.Sprint(round, i), "Bash")); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(30 * 24 * time.Hour)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 16+3*40 { // files of shards and of the last round's sessions
		t.Errorf("got %d files, %v", len(entries), err)
	}
}

// TestStatesDamaged checks a state that starhost cannot read. A prompt and a result see an empty
// state. A call whose guard names ctx is refused; a guard's own denial stays. A message says what
// to do, and the file does not change.
func TestStatesDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	o := hook.Options{States: &hook.States{Dir: dir}}
	allows := starhost.Hook{Event: "pre_tool_call", Match: []string{"Read"}, Call: countingGuard().Call}
	allows.Call = func(context.Context, *starhost.Event) (starhost.Decision, error) {
		return starhost.Modify("arguments", json.RawMessage(`{"a":1}`)), nil
	}
	denies := countingGuard()
	denies.Match = []string{"Bash"}
	pure := hookOn("pre_tool_call", func(context.Context, *starhost.Event) starhost.Decision { return starhost.Deny("pure") })
	pure.Pure, pure.Match = true, []string{"Pure"}
	prompt := hookOn("pre_llm_call", func(context.Context, *starhost.Event) starhost.Decision {
		return starhost.TextContext("context")
	})
	h := hostOf(t, allows, denies, pure, prompt,
		hookOn("post_tool_call", func(context.Context, *starhost.Event) starhost.Decision { return starhost.Modify("result", "redacted") }))
	answerWithReports(t, h, o, promptOf("s", "hi"))
	names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	for what, text := range map[string]string{
		"half": `{"starhost_session":1,"ses`, "other version": `{"starhost_session":99}`, "empty": "", "big": strings.Repeat(" ", 5<<20),
	} {
		if err := os.WriteFile(names[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct{ event, want string }{
			{promptOf("s", "hi"), "context"},
			{toolOf("s", "Bash"), "denied by p: call 1"},
			{toolOf("s", "Read"), "cannot read the state"},
			{toolOf("s", "Pure"), "denied by p: pure"},
			{`{"hook_event_name":"PostToolUse","session_id":"s","tool_name":"x","tool_response":"secret"}`, "redacted"},
		} {
			answer, reports := answerWithReports(t, h, o, tt.event)
			said := answer.Out + answer.Err
			if !strings.Contains(said, tt.want) || strings.Contains(tt.event, "PreToolUse") != (answer.Code == 2) {
				t.Errorf("%s: %s: got %q, code %d, want %q", what, tt.event, said, answer.Code, tt.want)
			}
			if tt.want != "denied by p: pure" && !strings.Contains(reports, "remove it") {
				t.Errorf("%s: %s: got report %q", what, tt.event, reports)
			}
		}
		if got, err := os.ReadFile(names[0]); err != nil || string(got) != text {
			t.Errorf("%s: got another file, %v", what, err)
		}
	}
}

// TestStatesFull checks that a plugin that fills the state of a session loses its own new values, while a
// guard loses neither its state nor its denial, and that the stored JSON has no unnecessary escapes.
func TestStatesFull(t *testing.T) {
	o := hook.Options{States: &hook.States{Dir: filepath.Join(t.TempDir(), "sessions")}}
	size := 10
	fill := starhost.Hook{Event: "pre_tool_call", Call: func(
		ctx context.Context, _ *starhost.Event,
	) (starhost.Decision, error) {
		turn := host.TurnOf(ctx)
		return starhost.Decision{}, effects.StateOf(turn.Session(), "filler").Set("k", json.RawMessage(`"`+strings.Repeat("<", size)+`"`))
	}}
	for i, want := range []struct {
		size   int
		report string
	}{{10, ""}, {180_000, ""}, {1_048_560, "the new ctx.state of filler is not stored"}, {1_048_560, "limit 1048576"}, {20, ""}} {
		size = want.size
		answer, reports := answerWithReports(t, hostOf(t, fill, countingGuard()), o, toolOf("s", "Bash"))
		deny := fmt.Sprint("call ", i+1)
		if answer.Code != 2 || !strings.Contains(answer.Out, deny) ||
			!strings.Contains(reports, want.report) || want.report == "" && reports != "" {
			t.Errorf("%d bytes: got %v, reports %q, want %s, report %q", size, answer, reports, deny, want.report)
		}
	}
}

// TestStatesFullByOther checks that starhost stores the state of a plugin that did not grow, also if it is
// the largest state of the session.
func TestStatesFullByOther(t *testing.T) {
	o := hook.Options{States: &hook.States{Dir: filepath.Join(t.TempDir(), "sessions")}}
	plugin, size, had := "", 0, 0
	fill := starhost.Hook{Event: "pre_tool_call", Call: func(
		ctx context.Context, _ *starhost.Event,
	) (starhost.Decision, error) {
		state := effects.StateOf(host.TurnOf(ctx).Session(), plugin)
		old, _ := state.Get("k")
		had = max(0, len(old)-len(`""`))
		return starhost.Decision{}, state.Set("k", json.RawMessage(`"`+strings.Repeat("x", size)+`"`))
	}}
	for i, want := range []struct {
		plugin    string
		had, size int
		report    string
	}{
		{"large", 0, 700_000, ""},
		{"other", 0, 300_000, ""},
		{"other", 300_000, 400_000, "the new ctx.state of other is not stored"},
		{"other", 300_000, 300_000, ""},
		{"large", 700_000, 700_000, ""},
		{"third", 0, 400_000, "the new ctx.state of third is not stored"},
		{"third", 0, 10, ""},
	} {
		plugin, size = want.plugin, want.size
		_, reports := answerWithReports(t, hostOf(t, fill, countingGuard()), o, toolOf("s", "Bash"))
		if !strings.Contains(reports, want.report) || want.report == "" && reports != "" {
			t.Errorf("event %d: got reports %q, want %q", i+1, reports, want.report)
		}
		if had != want.had {
			t.Errorf("event %d: %s had %d bytes, want %d", i+1, plugin, had, want.had)
		}
	}
}

// TestStatesOwned checks that a guard keeps its values, whatever plugins of an untrusted project and the
// context of session_start store, and that starhost refuses a call if it could not store the values of a
// trusted plugin.
func TestStatesOwned(t *testing.T) {
	fill := func(event, layer string, plugins, size int) starhost.Hook {
		return starhost.Hook{Event: event, Call: func(
			ctx context.Context, _ *starhost.Event,
		) (starhost.Decision, error) {
			turn := host.TurnOf(ctx)
			for i := range plugins {
				state := effects.StateOf(turn.Session(), fmt.Sprint("filler", i))
				state.SetLayer(layer)
				if err := state.Set("k", json.RawMessage(`"`+strings.Repeat("<", size)+`"`)); err != nil {
					return starhost.Decision{}, err
				}
			}
			return starhost.Decision{}, nil
		}}
	}
	offer := hookOn("session_start", func(context.Context, *starhost.Event) starhost.Decision {
		list := make([]fragments.Fragment, 5)
		for i := range list {
			list[i].Content = strings.Repeat(fmt.Sprint(i), 250<<10)
		}
		return starhost.Decision{Action: starhost.ActionContext, Context: starhost.Context{Fragments: list}}
	})
	// The guard allows two calls in a session. It stores more than each of the plugins that fill the state.
	twice := starhost.Hook{Event: "pre_tool_call", Call: func(
		ctx context.Context, _ *starhost.Event,
	) (starhost.Decision, error) {
		turn := host.TurnOf(ctx)
		state := effects.StateOf(turn.Session(), "guard")
		calls, _ := state.Get("calls")
		if len(calls) >= 2+2*20_000 {
			return starhost.Deny("twice is enough"), nil
		}
		return starhost.Decision{}, state.Set("calls", json.RawMessage(`"`+strings.Repeat("x", max(0, len(calls)-2)+20_000)+`"`))
	}}
	for _, tt := range []struct {
		name  string
		hooks []starhost.Hook
		calls string // for each call: "+" if it passes, "-" if the guard refuses it, "!" if the host does
	}{
		{"the guard alone", nil, "++-"},
		{"a large plugin of a project", []starhost.Hook{fill("pre_tool_call", "project", 1, 1_048_500)}, "++-"},
		{"many plugins of a project", []starhost.Hook{fill("pre_tool_call", "project", 300, 10_000)}, "++-"},
		{"many, in front of a prompt", []starhost.Hook{fill("turn_start", "project", 300, 10_000)}, "++-"},
		{"context of session_start", []starhost.Hook{offer}, "++-"},
		{"managed plugins", []starhost.Hook{fill("pre_tool_call", "managed", 1, 1_048_500)}, "++-"},
		{"many trusted plugins", []starhost.Hook{fill("pre_tool_call", "", 60, 20_000)}, "!!!"},
	} {
		for _, inMemory := range []bool{false, true} {
			states := &hook.States{Dir: filepath.Join(t.TempDir(), "sessions")}
			if inMemory {
				states.Memory = hook.NewMemory(func(error) {})
			}
			h, o := hostOf(t, append(tt.hooks, twice)...), hook.Options{States: states}
			if _, err := event(t, h, o, promptOf("s", "hi")); err != nil {
				t.Fatal(err)
			}
			got := ""
			for range 3 {
				answer, err := event(t, h, o, toolOf("s", "Bash"))
				switch {
				case err != nil:
					t.Fatal(err)
				case !answer.Blocks:
					got += "+"
				case strings.Contains(answer.Out, "twice is enough"):
					got += "-"
				case strings.Contains(answer.Out, "starhost cannot store the state of this session, which a guard needs"):
					got += "!"
				default:
					t.Errorf("%s: got %s", tt.name, answer.Out)
				}
			}
			if got != tt.calls {
				t.Errorf("%s, in memory %v: got %s, want %s", tt.name, inMemory, got, tt.calls)
			}
		}
	}
}

// FuzzRead checks that any input of an agent gives an event or an error, and that every event gets
// an answer.
func FuzzRead(f *testing.F) {
	f.Add(promptOf("s", "hi"))
	f.Add(toolOf("s", "Bash"))
	f.Add(`{"sessionId":"s","prompt":"p","transformedPrompt":7}`)
	f.Add(`{"sessionId":"s","toolName":"bash","toolArgs":"{","toolResult":{"textResultForLlm":"x"}}`)
	f.Add(`{"hook_event_name":"pre_llm_call","extra":{"user_message":"x","conversation_history":[{"role":"user","content":[{}]}]}}`)
	h := hostOf(f, hookOn("pre_llm_call", func(_ context.Context, e *starhost.Event) starhost.Decision {
		return starhost.TextContext(e.UserMessage)
	}),
		hookOn("pre_tool_call", func(_ context.Context, e *starhost.Event) starhost.Decision {
			return starhost.Modify("arguments", json.RawMessage(`{"a":1}`))
		}))
	f.Fuzz(func(t *testing.T, payload string) {
		for _, agent := range hook.Agents {
			if agent.Lines {
				continue
			}
			e, err := agent.Read([]byte(payload))
			if err != nil {
				continue
			}
			answer, _, err := e.Answer(t.Context(), h, hook.Options{})
			if err == nil && answer.Out != "" && !json.Valid([]byte(answer.Out)) {
				t.Errorf("%s: %q is answered %q", agent.Name, payload, answer.Out)
			}
		}
	})
}
