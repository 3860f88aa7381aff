package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/serve/hook"
)

// maxExponent is how fast the allocations of a command may grow: 1 is linear, 2 quadratic. bench
// measures the time and the peak memory of more work and larger sizes, as the goal P11.
const maxExponent = 1.3

// A growingRun is a command with its input and its files.
type growingRun struct {
	args  []string
	input string
	files map[string]string
}

// growingRuns have a command for a size.
var growingRuns = map[string]func(n int) growingRun{
	"eval, plugins":  func(n int) growingRun { return growingPlugins(n, "eval", "-p", "x") },
	"list, plugins":  func(n int) growingRun { return growingPlugins(n, "list") },
	"check, plugins": func(n int) growingRun { return growingPlugins(n, "check") },
	"fmt, plugins":   func(n int) growingRun { return growingPlugins(n, "fmt", "-l") },
	"hook, plugins":  func(n int) growingRun { return growingPlugins(n, "hook", "claude-code") },
	"MCP lists, tools": func(n int) growingRun {
		r := growingPlugins(n, "serve", "--mcp", "stdio")
		r.input = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}
`
		return r
	},
	"test, cases": func(n int) growingRun {
		r := growingPlugins(1, "test")
		for i := range n {
			r.files[fmt.Sprintf("p/golden/p0_c%d.txtar", i)] = "-- case.star --\nassert_eq(1, 1)\n-- want --\n"
		}
		return r
	},
	"prompt, fragments": func(n int) growingRun {
		source := fmt.Sprintf("register_fragment_loader(\"all\", lambda arg: [fragment(\"text %%d\" %% i) for i in range(%d)])\n", 10*n)
		return growingRun{args: []string{"eval", "p", "-p", "x", "-f", "all:x"}, files: map[string]string{"p/a.star": source}}
	},
	"prompt, references": func(n int) growingRun {
		r := growingPlugins(1, "eval", "-p", "x")
		for i := range n {
			r.args = append(r.args, "-f", fmt.Sprint("text0:", i))
		}
		return r
	},
	"hook, rules of a guard":    func(n int) growingRun { return growingGuard(10*n, "git status") },
	"hook, members of an event": func(n int) growingRun { return growingMembers(20*n, "value") },
	"hook, masked members":      func(n int) growingRun { return growingMembers(10*n, "password=hunter2hunter2") },
	"hook, bytes of a command":  func(n int) growingRun { return growingGuard(2, strings.Repeat("ls a && ", 2*n)) },
	"hook, secrets of a command": func(n int) growingRun {
		return growingGuard(2, "echo "+strings.Repeat("token=ghp_0123456789abcdefghijABCDEFGHIJ012345 ", 5*n))
	},
}

// growingEvent is a call with further members of its input.
func growingEvent(members string) string {
	return `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git status"` + members + `}}`
}

func growingMembers(n int, value string) growingRun {
	var members strings.Builder
	for i := range n {
		fmt.Fprintf(&members, `,"m%d":"%s"`, i, value)
	}
	r := growingPlugins(1, "hook", "claude-code")
	r.input = growingEvent(members.String())
	return r
}

// growingGuard is a guard of n rules that decides about a line.
func growingGuard(n int, line string) growingRun {
	var rules strings.Builder
	for i := range n {
		fmt.Fprintf(&rules, "[[rule]]\nname = \"r%d\"\nreason = \"x\"\nprograms = [\"git\"]\nsub = [\"push\"]\ndecision = \"ask\"\n\n", i)
	}
	return growingRun{
		args: []string{"hook", "claude-code", "p"}, input: strings.Replace(growingEvent(""), "git status", line, 1),
		files: map[string]string{"p/plugin.star": "register_guard(\"rules.toml\")\n", "p/rules.toml": rules.String()},
	}
}

func growingPlugins(n int, args ...string) growingRun {
	r := growingRun{args: append(args, "p"), input: growingEvent(""), files: map[string]string{}}
	for i := range n {
		r.files[fmt.Sprintf("p/p%d.star", i)] = fmt.Sprintf(`"""Plugin %[1]d."""

def tool%[1]d(name):
    """Returns a name.

    Args:
      name (string): the name.
    """
    return name

register_tool(tool%[1]d)
register_fragment_loader("text%[1]d", lambda arg: "text of " + arg)
register_hook("pre_tool_call", lambda call: ask("kubectl") if call.shell != None and call.shell.runs("kubectl") else None)
`, i)
	}
	return r
}

// TestGrowth counts what commands allocate for three sizes: the growth between the two larger ones,
// both above the smallest, must be nearly linear. A copy of all for each shows as 2.
func TestGrowth(t *testing.T) {
	if testbed.Race {
		t.Skip("the race detector allocates, too")
	}
	for name, make := range growingRuns {
		t.Run(name, func(t *testing.T) {
			var objects, bytes [3]float64
			for i, n := range [3]int{2, 40, 160} {
				objects[i], bytes[i] = allocated(t, make(n))
			}
			for unit, of := range map[string][3]float64{"objects": objects, "bytes": bytes} {
				if of[2] < 4*of[0] {
					continue // too little to say anything
				}
				exponent := math.Log((of[2]-of[0])/(of[1]-of[0])) / math.Log(4)
				t.Logf("%.0f, %.0f, %.0f %s: exponent %.2f", of[0], of[1], of[2], unit, exponent)
				if exponent > maxExponent {
					t.Errorf("got %.0f, %.0f and %.0f %s for the sizes 2, 40 and 160: exponent %.2f, want at most %.1f", of[0], of[1], of[2], unit, exponent, maxExponent)
				}
			}
		})
	}
}

// allocated runs a command four times in this process, and returns the fewest objects and bytes that a run behind the
// first one allocates: what else runs in the process may allocate, too.
func allocated(t *testing.T, r growingRun) (objects, bytes float64) {
	dir := t.TempDir()
	for name, text := range r.files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	variables := map[string]string{"HOME": dir}
	objects, bytes = math.Inf(1), math.Inf(1)
	for i := range 4 {
		var before, after runtime.MemStats
		var diagnostics strings.Builder
		p := &program{env: Env{
			stdin: strings.NewReader(r.input), stdout: io.Discard, stderr: &diagnostics, deadline: time.Minute,
			getenv: func(name string) string { return variables[name] }, lookupEnv: func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
		}}
		runtime.ReadMemStats(&before)
		code := p.run(context.Background(), append([]string{"-C", dir, "--no-config"}, r.args...))
		runtime.ReadMemStats(&after)
		if code != 0 && code != hook.ExitBlock {
			t.Fatalf("exit code %d: %s", code, diagnostics.String())
		}
		if i > 0 {
			objects, bytes = min(objects, float64(after.Mallocs-before.Mallocs)), min(bytes, float64(after.TotalAlloc-before.TotalAlloc))
		}
	}
	return objects, bytes
}
