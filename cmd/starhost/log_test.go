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
