package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/starhost/starhost/decision"
)

// TestHooksAtOnce checks that processes that use one session and one log at the same time lose nothing: each
// record is one whole line, and each event sees the state that the event before it wrote.
func TestHooksAtOnce(t *testing.T) {
	const processes = 24
	home := t.TempDir()
	writeFiles(t, home, map[string]string{"count.star": `def count(ctx):
    n = ctx.state.get("n", 0) + 1
    ctx.state.set("n", n)
    return deny("call %d" % n)

register_hook("pre_tool_call", count)
`})
	var all sync.WaitGroup
	for i := range processes {
		all.Go(func() {
			cmd := exec.Command("starhost", "hook", "claude-code", "--deadline", "2m", "count.star")
			cmd.Dir = home
			cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
			cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"run %d"}}`, i))
			out, err := cmd.CombinedOutput() // hook ends with code 2 for a denial
			if !strings.Contains(string(out), `"permissionDecision":"deny"`) {
				t.Errorf("process %d: %v\n%s", i, err, out)
			}
		})
	}
	all.Wait()
	files, _ := filepath.Glob(filepath.Join(home, ".local/state/starhost/log/*.jsonl"))
	reasons, commands := map[string]bool{}, map[string]bool{}
	for _, file := range files { // there are two files if midnight passed meanwhile
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if line == "\n" {
				continue
			}
			var record struct {
				Decision struct{ Reason string }
				Input    struct{ Arguments struct{ Command string } }
			}
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			reasons[record.Decision.Reason], commands[record.Input.Arguments.Command] = true, true
		}
	}
	for i := range processes {
		if !reasons[fmt.Sprintf("call %d", i+1)] || !commands[fmt.Sprintf("run %d", i)] {
			t.Errorf("of number %d: the log has no record", i)
		}
	}
}

// TestHooksNameSetOnce checks the records of 24 processes with 20 plugins: few name the plugins, the others are short,
// and what log prints names them all, so that replay needs no other file.
func TestHooksNameSetOnce(t *testing.T) {
	const processes, plugins = 24, 20
	home := t.TempDir()
	files := map[string]string{}
	for i := range plugins {
		files[fmt.Sprintf("set/p%02d.star", i)] = fmt.Sprintf("def guard(call):\n    return deny(\"no\") if \"x%d\" in call.command else None\n\nregister_hook(\"pre_tool_call\", guard, match = \"Bash%d\")\n", i, i)
	}
	writeFiles(t, home, files)
	run := func(stdin string, args ...string) string {
		cmd := exec.Command("starhost", args...)
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if err != nil && cmd.ProcessState.ExitCode() > 2 {
			t.Errorf("%v: %v", args, err)
		}
		return string(out)
	}
	var all sync.WaitGroup
	for i := range processes {
		all.Go(func() {
			event := fmt.Sprintf(`{"session_id":"s%d","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash%d","tool_input":{"command":"x%d"}}`, i, i%plugins, i%plugins)
			run(event, "hook", "claude-code", "--deadline", "2m", "set")
		})
	}
	all.Wait()
	run(`{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash7","tool_input":{"command":""}}`, "hook", "claude-code", "--deadline", "2m", "set")
	logged, err := filepath.Glob(filepath.Join(home, ".local/state/starhost/log/decisions-*.jsonl"))
	if err != nil || len(logged) == 0 {
		t.Fatal(logged, err)
	}
	text, err := os.ReadFile(logged[len(logged)-1])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := lines[len(lines)-1]; len(last) > 1024 || strings.Contains(last, `"plugins"`) {
		t.Errorf("got a record of %d bytes, want at most 1024: %s", len(last), last)
	}
	printed := run("", "log", "-F", "jsonl")
	n := 0
	for line := range strings.Lines(printed) {
		if r, err := decision.ParseRecord([]byte(line)); err != nil || len(r.Set.Plugins) != plugins {
			t.Errorf("got %s, %v, want %d plugins", line, err, plugins)
		}
		n++
	}
	if n != processes+1 {
		t.Errorf("got %d records", n)
	}
	if shown := run("", "log", "show", "last", "-F", "json"); strings.Count(shown, `"sha256"`) != plugins {
		t.Errorf("got %s", shown)
	}
	folder, piped := run("", "replay", "set", "-F", "json"), run(printed, "replay", "set", "-F", "json", "--log", "-")
	if folder != piped || !strings.Contains(folder, fmt.Sprintf(`"same": %d`, processes+1)) {
		t.Errorf("got %s of the folder, and %s of what log prints", folder, piped)
	}
	if got := run("", "log", "show", "last", "--golden", "--plugin", "p07"); !strings.Contains(got, "The plugin was p07 ") {
		t.Errorf("got the case %q", got)
	}
	for _, name := range logged { // without the plugins, as if somebody had cut the file
		writeFiles(t, filepath.Dir(name), map[string]string{filepath.Base(name): lines[len(lines)-1] + "\n"})
	}
	cmd := exec.Command("starhost", "log", "show", "last", "--golden", "--plugin", "p07")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME=", "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.HasSuffix(string(out), " makes no golden case: the log does not have the plugins of its set any more\n") {
		t.Errorf("got %s, %v", out, err)
	}
}
