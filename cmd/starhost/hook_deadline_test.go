package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/starhost/starhost/store"
)

// callEvents has the event before a tool call for each agent, and the form of a refusal that the agent reads.
var callEvents = []struct {
	agent, event string
	code         int
	out          string
}{
	{"claude-code", `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}}`, 2, `"permissionDecision":"deny"`},
	{"copilot", `{"sessionId":"s","timestamp":1,"toolName":"bash","toolArgs":{}}`, 0, `{"permissionDecision":"deny"`},
	{"hermes", `{"session_id":"s","hook_event_name":"pre_tool_call","tool_name":"terminal","tool_input":{},"extra":{}}`, 2, `{"action":"block"`},
}

// hookIn runs hook in a folder with a deadline. It returns what hook wrote, and how long it took.
func hookIn(
	t *testing.T, dir string, deadline time.Duration, stdin io.Reader, args ...string,
) (stdout, stderr string, code int, took time.Duration) {
	t.Helper()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	var out, errs bytes.Buffer
	p := &program{env: Env{
		stdin: stdin, stdout: &out, stderr: &errs, getenv: os.Getenv, lookupEnv: os.LookupEnv, deadline: deadline,
	}}
	code, took = runInTime(t, p, append([]string{"-C", dir, "hook"}, args...))
	return out.String(), errs.String(), code, took
}

// runInTime runs the program and returns the time that it took. If the program runs long after
// its deadline, the test fails with the stacks of all goroutines, which show the reason.
func runInTime(t *testing.T, p *program, args []string) (code int, took time.Duration) {
	t.Helper()
	begin, most := time.Now(), p.env.deadline+time.Minute
	ended := make(chan int, 1)
	go func() { ended <- p.run(t.Context(), args) }()
	select {
	case code = <-ended:
		return code, time.Since(begin)
	case <-time.After(most):
		stacks := make([]byte, 1<<20)
		t.Fatalf("hook did not end within its deadline and a minute:\n%s", stacks[:runtime.Stack(stacks, true)])
		return 0, 0
	}
}

// TestHookDeadline checks that the agent gets its refusal in time if a handler, loading,
// standard input or the session's lock takes too long. Events that guards cannot refuse pass.
func TestHookDeadline(t *testing.T) {
	const deadline = 300 * time.Millisecond
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // TempDir would fail: the abandoned calls may still write states
	writeFiles(t, dir, map[string]string{
		"hang.star":  "def hang():\n    for _ in range(1 << 40):\n        pass\n\nregister_hook(\"pre_tool_call\", hang)\nregister_hook(\"turn_start\", hang)\nregister_hook(\"post_tool_call\", hang)\n",
		"load.star":  "[x for _ in range(1 << 30) for x in range(1 << 30)]\n",
		"state.star": "register_hook(\"pre_tool_call\", lambda ctx: None)\n",
	})
	states := filepath.Join(dir, "home/.local/state/starhost/sessions")
	if err := os.MkdirAll(states, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, shard := range "0123456789abcdef" {
		unlock, err := lockedfile.MutexAt(filepath.Join(states, "lock-"+string(shard))).Lock()
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
	}
	forever := []string{"--timeout", "1h", "--max-steps", "1000000000000000"}
	endless, end := io.Pipe() // nobody writes to or closes it
	defer end.Close()
	for _, c := range callEvents {
		for what, args := range map[string][]string{
			"a handler": append(forever, "hang.star"), "with --fail-closed": append(forever, "--fail-closed", "hang.star"),
			"loading": append(forever, "load.star"), "the lock": {"state.star"}, "standard input": {"state.star"},
		} {
			var stdin io.Reader = strings.NewReader(c.event)
			if what == "standard input" {
				stdin = endless
			}
			out, stderr, code, took := hookIn(t, dir, deadline, stdin, append([]string{c.agent}, args...)...)
			if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(out+stderr, "no answer within 300ms") || took < deadline {
				t.Errorf("%s: %s: got code %d after %v, %q, %q", c.agent, what, code, took, out, stderr)
			}
		}
	}
	args := append(append([]string{"claude-code"}, forever...), "hang.star")
	out, _, code, _ := hookIn(t, dir, deadline, strings.NewReader(`{"session_id":"","hook_event_name":"UserPromptSubmit","prompt":"x"}`), args...)
	if code != 2 || !strings.Contains(out, `"decision":"block"`) {
		t.Errorf("a prompt: got code %d, %q", code, out)
	}
	out, stderr, code, _ := hookIn(t, dir, deadline, strings.NewReader(`{"session_id":"","hook_event_name":"PostToolUse","tool_name":"x","tool_response":"y"}`), args...)
	withheld := `"updatedToolOutput":"[starhost withholds this result: the plugins gave no answer within`
	if code != 0 || !strings.Contains(out, withheld) || !strings.Contains(stderr, "no answer within") {
		t.Errorf("a result: got code %d, %q, %q", code, out, stderr)
	}
}

// An endlessReader is an input without an end that contains no event.
type endlessReader struct{}

func (endlessReader) Read(b []byte) (int, error) { return copy(b, strings.Repeat(" ", len(b))), nil }

// TestHookUnreadable checks that hook refuses unreadable input, with and without --fail-closed.
func TestHookUnreadable(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"p.star": "register_hook(\"pre_tool_call\", lambda: None)\n"})
	for _, c := range callEvents {
		inputs := map[string]io.Reader{"over 16 MiB": endlessReader{}, "broken": io.MultiReader(strings.NewReader(c.event[:40]), brokenReader{})}
		for what, text := range map[string]string{
			"nothing": "", "half": c.event[:len(c.event)-1], "more": c.event + "{}",
			"deep": strings.Replace(c.event, "{}", strings.Repeat("[", 11_000)+strings.Repeat("]", 11_000), 1),
		} {
			inputs[what] = strings.NewReader(text)
		}
		for what, stdin := range inputs {
			out, stderr, got, _ := hookIn(t, dir, time.Minute, stdin, c.agent, "p.star")
			if got != c.code || !strings.Contains(out, c.out) {
				t.Errorf("%s: %s: got code %d, %q, %q", c.agent, what, got, out, stderr)
			}
		}
		out, stderr, got, _ := hookIn(t, dir, time.Minute, strings.NewReader(c.event), c.agent, "--fail-closed", "p.star")
		if got != 0 || out != "" || stderr != "" {
			t.Errorf("%s: a plain event: got code %d, %q, %q", c.agent, got, out, stderr)
		}
		unknown := `{"session_id":"s","hook_event_name":"Unheard"}`
		if _, _, got, _ := hookIn(t, dir, time.Minute, strings.NewReader(unknown), c.agent, "--fail-closed=false", "p.star"); got != 0 {
			t.Errorf("%s: an unknown event with --fail-closed=false: got code %d, want 0", c.agent, got)
		}
		out, _, got, _ = hookIn(t, dir, time.Minute, strings.NewReader(unknown), c.agent, "--fail-closed", "p.star")
		if got != c.code || !strings.Contains(out, c.out) {
			t.Errorf("%s: an unknown event with --fail-closed: got code %d, %q", c.agent, got, out)
		}
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

// TestHookStateFails checks that a denial stays a denial if starhost cannot read or store the session's
// state, because a plugin fills it, others can read its folder, a file in the folder is no session, or no
// folder exists.
func TestHookStateFails(t *testing.T) {
	plugin := "def deny_all(ctx):\n    ctx.state.set(\"k\", \"x\" * 1048560)\n    return deny(\"no\")\n\nregister_hook(\"pre_tool_call\", deny_all)\n"
	for _, c := range callEvents {
		for what, spoil := range map[string]func(states string) error{
			"full":      func(string) error { return nil },
			"mode 0755": func(states string) error { return os.Chmod(states, 0o755) },
			"no folder": func(states string) error {
				return errors.Join(os.RemoveAll(states), os.WriteFile(states, nil, 0o600))
			},
			"corrupt":     func(states string) error { return spoilFiles(states, "x") },
			"another one": func(states string) error { return spoilFiles(states, `{"starhost_session":9}`) },
		} {
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{"p.star": plugin, "first.star": "register_hook(\"pre_tool_call\", lambda ctx: None)\n"})
			hookIn(t, dir, time.Minute, strings.NewReader(c.event), c.agent, "first.star")
			if err := spoil(filepath.Join(dir, "home/.local/state/starhost/sessions")); err != nil {
				t.Fatal(err)
			}
			out, stderr, code, _ := hookIn(t, dir, time.Minute, strings.NewReader(c.event), c.agent, "p.star")
			denied := strings.Contains(out, c.out) && strings.Contains(out, "denied by p: no")
			if code != c.code || !denied || !strings.Contains(stderr, "hook: ") {
				t.Errorf("%s: %s: got code %d, %q, %q", c.agent, what, code, out, stderr)
			}
		}
	}
}

// spoilFiles replaces the contents of all session files.
func spoilFiles(states, text string) error {
	names, err := filepath.Glob(filepath.Join(states, "*.json"))
	for _, name := range names {
		err = errors.Join(err, os.WriteFile(name, []byte(text), 0o600))
	}
	return err
}

// A stuckWriter is the end of a pipe from which nobody reads.
type stuckWriter struct{ release chan struct{} }

func (w stuckWriter) Write(b []byte) (int, error) { <-w.release; return len(b), nil }

// TestHookOutputFails checks that the exit code blocks if the agent cannot get a necessary
// answer. A reader of standard output or standard error that does not read must not delay hook.
func TestHookOutputFails(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	writeFiles(t, dir, map[string]string{
		"ask.star":    "register_hook(\"pre_tool_call\", lambda: ask(\"look\"))\n",
		"change.star": "register_hook(\"pre_tool_call\", lambda: modify(arguments = {\"a\": 1}))\n",
		"abort.star":  "register_hook(\"pre_tool_call\", lambda: abort(\"stop\"))\n",
		"log.star":    "def say(ctx):\n    ctx.log(\"warn\", \"x\")\n    return deny(\"no\")\n\nregister_hook(\"pre_tool_call\", say)\n",
	})
	stuck := stuckWriter{make(chan struct{})}
	defer close(stuck.release)
	event := callEvents[0].event
	for _, tt := range []struct {
		plugin         string
		stdout, stderr io.Writer
	}{
		{"ask.star", failing{}, io.Discard}, {"change.star", failing{}, io.Discard}, {"abort.star", failing{}, io.Discard}, {"log.star", failing{}, failing{}},
		{"log.star", io.Discard, stuck}, {"log.star", stuck, io.Discard},
	} {
		p := &program{env: Env{
			stdin: strings.NewReader(event), stdout: tt.stdout, stderr: tt.stderr,
			getenv: os.Getenv, lookupEnv: os.LookupEnv,
		}}
		p.env.deadline = 3 * time.Second
		code, took := runInTime(t, p, []string{"-C", dir, "hook", "claude-code", "-v", tt.plugin})
		if code != 2 {
			t.Errorf("%s to %T, %T: got code %d after %v, want 2", tt.plugin, tt.stdout, tt.stderr, code, took)
		}
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("broken") }

// TestHookSilentDatabase checks that hook ends soon after its answer if a guard's database does not answer.
// Agents wait for the end of the process, and run the call after their timeout.
func TestHookSilentDatabase(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close() // the server accepts connections into its queue, and answers none
	db, err := store.Open(store.Options{URL: "postgres://u@" + server.Addr().String() + "/d"})
	if err != nil {
		t.Fatal(err)
	}
	go db.Check(t.Context()) // the check fails when the test ends
	conn, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	begin := time.Now()
	(&databases{byURL: map[string]*store.DB{"d": db}}).close()
	if took := time.Since(begin); took > closeWait+3*time.Second { // a use of a database takes up to 5 s
		t.Errorf("close took %v, want about %v", took, closeWait)
	}
}
