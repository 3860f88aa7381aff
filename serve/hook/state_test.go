package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/serve/hook"
)

// event answers one event of Claude Code, with the host of a process of its own.
func event(t testing.TB, h *starhost.Host, o hook.Options, text string) (hook.Answer, error) {
	t.Helper()
	e, err := hook.AgentOf("claude-code").Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return e.Answer(t.Context(), h, o)
}

func promptOf(session, text string) string {
	line, _ := json.Marshal(map[string]string{"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": text})
	return string(line)
}

func toolOf(session, tool string) string {
	return fmt.Sprintf(`{"hook_event_name":"PreToolUse","session_id":%q,"tool_name":%q,"tool_input":{}}`, session, tool)
}

// files returns the names in a folder, hashes as H.
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
		names = append(names, name[:min(5, len(name))])
	}
	return names
}

// The folder is private, and what a session is called is no path.
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
	if _, err := event(t, hostOf(t), o, promptOf("s", "hi")); err == nil || !strings.Contains(err.Error(), "want mode 0700") {
		t.Errorf("a folder that others read: got %v", err)
	}
}

// What no plugin asks for is not read: a tool call whose guards are functions of the
// call alone touches nothing.
func TestStatesUnread(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	o := hook.Options{States: &hook.States{Dir: dir}}
	pure := on("pre_tool_call", func(context.Context, *starhost.Event) starhost.Decision { return starhost.Deny("no") })
	pure.Pure = true
	asks := on("pre_tool_call", func(context.Context, *starhost.Event) starhost.Decision { return starhost.Decision{} })
	asks.Match = []string{"asked"}
	h := hostOf(t, pure, asks, on("session_start", func(context.Context, *starhost.Event) starhost.Decision {
		t.Error("session_start was fired by a call that needs no session")
		return starhost.Decision{}
	}))
	answer, err := event(t, h, o, toolOf("s", "Bash"))
	if err != nil || answer.Code != 2 || files(t, dir) != nil {
		t.Errorf("got %v, %v, files %q", answer, err, files(t, dir))
	}
	if _, err := event(t, h, hook.Options{States: &hook.States{}}, toolOf("s", "Bash")); err != nil {
		t.Errorf("without a place: got %v", err)
	}
	if _, err := event(t, h, hook.Options{States: &hook.States{}}, toolOf("s", "asked")); err == nil {
		t.Error("without a place, where it is asked for: got no error")
	}
}

// Sessions that nothing happens in for a week are forgotten, and their files go.
func TestStatesOld(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	now := time.Now()
	o := hook.Options{States: &hook.States{Dir: dir, Now: func() time.Time { return now }}}
	h := hostOf(t, on("turn_start", func(_ context.Context, e *starhost.Event) starhost.Decision {
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
	if diff := cmp.Diff([]bool{true, true, false}, []bool{strings.Contains(ask(), "first true"), strings.Contains(ask(), "first false"), ask() != ""}); diff != "" {
		t.Errorf("three turns (-want +got):\n%s", diff)
	}
	now = now.Add(8 * 24 * time.Hour)
	if out := ask(); !strings.Contains(out, "first true") {
		t.Errorf("after a week: got %q, want a new session", out)
	}
}

// What was told once is not told again, after an end it is.
func TestStatesEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	o := hook.Options{States: &hook.States{Dir: dir}}
	h := hostOf(t, on("pre_llm_call", func(context.Context, *starhost.Event) starhost.Decision { return starhost.TextContext("context") }))
	var said []bool
	for _, text := range []string{promptOf("s", "a"), promptOf("s", "b"), `{"hook_event_name":"SessionEnd","session_id":"s"}`, promptOf("s", "a")} {
		answer, err := event(t, h, o, text)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, answer.Out != "")
	}
	if diff := cmp.Diff([]bool{true, false, false, true}, said); diff != "" {
		t.Errorf("said something (-want +got):\n%s", diff)
	}
}

// Processes that run at once lose nothing of each other's.
func TestStatesAtOnce(t *testing.T) {
	o := hook.Options{States: &hook.States{Dir: filepath.Join(t.TempDir(), "sessions")}}
	count := starhost.Hook{Event: "pre_tool_call", Call: func(_ context.Context, turn *starhost.Turn, _ *starhost.Event) (starhost.Decision, error) {
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

// A file that is damaged, or too big, is an error that says what to do, and what
// would get too big is not written.
func TestStatesDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions")
	o := hook.Options{States: &hook.States{Dir: dir}}
	if _, err := event(t, hostOf(t), o, promptOf("s", "hi")); err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	for what, text := range map[string]string{"half": `{"starhost_session":1,"ses`, "other version": `{"starhost_session":99}`, "empty": "", "big": strings.Repeat(" ", hook.MaxState+1)} {
		if err := os.WriteFile(names[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := event(t, hostOf(t), o, promptOf("s", "hi")); err == nil || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("%s: got %v", what, err)
		}
	}
	big := starhost.Hook{Event: "pre_tool_call", Call: func(_ context.Context, turn *starhost.Turn, _ *starhost.Event) (starhost.Decision, error) {
		for _, plugin := range []string{"p", "q"} {
			if err := effects.StateOf(turn.Session(), plugin).Set("k", json.RawMessage(`"`+strings.Repeat("x", 600_000)+`"`)); err != nil {
				return starhost.Decision{}, err
			}
		}
		return starhost.Decision{}, nil
	}}
	if _, err := event(t, hostOf(t, big), o, toolOf("new", "Bash")); err == nil || !strings.Contains(err.Error(), "limit 1048576") {
		t.Errorf("too big: got %v", err)
	}
}

// FuzzRead: whatever an agent sends, reading it ends with an event or an error, and
// every event is answered.
func FuzzRead(f *testing.F) {
	f.Add(promptOf("s", "hi"))
	f.Add(toolOf("s", "Bash"))
	f.Add(`{"sessionId":"s","prompt":"p","transformedPrompt":7}`)
	f.Add(`{"sessionId":"s","toolName":"bash","toolArgs":"{","toolResult":{"textResultForLlm":"x"}}`)
	f.Add(`{"hook_event_name":"pre_llm_call","extra":{"user_message":"x","conversation_history":[{"role":"user","content":[{}]}]}}`)
	h := hostOf(f, on("pre_llm_call", func(_ context.Context, e *starhost.Event) starhost.Decision {
		return starhost.TextContext(e.UserMessage)
	}),
		on("pre_tool_call", func(_ context.Context, e *starhost.Event) starhost.Decision {
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
			answer, err := e.Answer(t.Context(), h, hook.Options{})
			if err == nil && answer.Out != "" && !json.Valid([]byte(answer.Out)) {
				t.Errorf("%s: %q is answered %q", agent.Name, payload, answer.Out)
			}
		}
	})
}
