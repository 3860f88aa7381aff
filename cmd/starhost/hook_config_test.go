package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/starhost/starhost/serve/hook"
)

// flagSamples has two values for each kind of flag: the value that the user writes, and the
// value that a second run must get. A relative path becomes absolute.
var flagSamples = map[string][]string{
	"bool": {"true"}, "string": {"it's"}, "stringArray": {"a.b=it's \"x\" $HOME\n", "--c"},
	"size": {"64MiB"}, "span": {"1m"}, "steps": {"5"}, "uint64": {"7"},
}

// TestPrintConfigFlags gives hook every flag that it has, and checks that the printed command
// line has the same values. So a new flag cannot be missing there.
func TestPrintConfigFlags(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	fixed := map[string]string{"log-format": "json", "now": "2026-01-01", "config": "rel.toml", "directory": "."}
	args := []string{"hook", "picoclaw"}
	want := map[string]string{}
	hookFlagsOf(t).VisitAll(func(f *pflag.Flag) {
		values := flagSamples[f.Value.Type()]
		if v := fixed[f.Name]; v != "" {
			values = []string{v}
		}
		switch f.Name {
		case "help", "output": // these flags change what starhost prints, so the printed line does not have them
			return
		case "print-config":
			args = append(args, "--print-config")
			return
		}
		if values == nil {
			t.Fatalf("--%s: there is no sample of a %s", f.Name, f.Value.Type())
		}
		for _, v := range values {
			args = append(args, "--"+f.Name+"="+v)
		}
	})
	args = append(args, "sub/p.star")
	var out, stderr bytes.Buffer
	if code := run(t.Context(), args, strings.NewReader(""), &out, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	var printed struct {
		Hooks struct {
			Processes struct{ Starhost struct{ Command []string } }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &printed); err != nil {
		t.Fatal(err)
	}
	argv := printed.Hooks.Processes.Starhost.Command
	first, again := hookFlagsOf(t), hookFlagsOf(t)
	if err := first.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := again.Parse(argv[1:]); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	first.Visit(func(f *pflag.Flag) { want[f.Name] = f.Value.String() })
	again.Visit(func(f *pflag.Flag) { got[f.Name] = f.Value.String() })
	delete(want, "print-config")
	want["directory"], want["config"] = dir, filepath.Join(dir, "rel.toml")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-given +printed):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"hook", "picoclaw", filepath.Join(dir, "sub/p.star")}, again.Args()); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

// TestPrintConfigTimeout checks that the printed settings have the agent's timeout T and the flag --deadline
// with one second less. If the user gives --deadline D, the timeout is one second more than D.
func TestPrintConfigTimeout(t *testing.T) {
	for _, agent := range hook.Agents {
		for _, tt := range []struct {
			args     []string
			timeout  time.Duration
			deadline string
		}{
			{nil, agent.Timeout, (agent.Timeout - time.Second).String()},
			{[]string{"--deadline", "9500ms"}, 11 * time.Second, "9.5s"},
		} {
			var out, stderr bytes.Buffer
			args := append([]string{"hook", agent.Name, "--print-config"}, tt.args...)
			if code := run(t.Context(), args, strings.NewReader(""), &out, &stderr); code != 0 {
				t.Fatalf("%s: exit code %d: %s", agent.Name, code, stderr.String())
			}
			line := strings.NewReplacer("\n", "", " ", "", `"`, "", ",", "").Replace(out.String())
			seconds := fmt.Sprint(int(tt.timeout / time.Second))
			wanted := map[string]string{
				"copilot": "timeoutSec:" + seconds, "picoclaw": "interceptor_timeout_ms:" + seconds + "000",
				"gemini": "timeout:" + seconds + "000", "qwen": "timeout:" + seconds + "000", "kiro": "timeout_ms:" + seconds + "000",
				"windsurf": "command:", "cline": "exec", "docker-mcp": "exec:", // their settings have no timeout
				"opencode": "TIMEOUT=" + seconds + "000", "gptme": "TIMEOUT=" + seconds,
			}
			if wanted[agent.Name] == "" {
				wanted[agent.Name] = "timeout:" + seconds
			}
			if !strings.Contains(line, wanted[agent.Name]) || !strings.Contains(line, "--deadline"+tt.deadline) {
				t.Errorf("%s: got %s, want %s and --deadline %s", agent.Name, out.String(), wanted[agent.Name], tt.deadline)
			}
			strict := strings.Contains(line, "onFailure:block") || strings.Contains(line, "fail_closed:true") ||
				strings.Contains(line, "failClosed:true") || strings.Contains(line, "on_failure:block")
			if want := slices.Contains([]string{"claude-code", "hermes", "cursor", "goose"}, agent.Name); strict != want {
				t.Errorf("%s: got a field that fails closed: %v, want %v", agent.Name, strict, want)
			}
		}
	}
}

// TestHookUsage checks that a command line of hook with a mistake blocks the agent if the agent sends no
// event, and that the deadline on the command line counts.
func TestHookUsage(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, args := range [][]string{
		{"hook"}, {"hook", "claud"}, {"hook", "claude-code", "--typo"}, {"hook", "claude-code", "--deadline", "soon"},
		{"hook", "claude-code", "--deadline", "-1s"}, {"hook", "copilot", "-C", "/nowhere"},
	} {
		var out, stderr bytes.Buffer
		if code := run(t.Context(), args, null, &out, &stderr); code != 2 || stderr.Len() == 0 {
			t.Errorf("%q without an event: got code %d, %q, want 2 and a reason", args, code, stderr.String())
		}
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"spin.star": "def spin():\n    for _ in range(1 << 40):\n        pass\n\nregister_hook(\"pre_tool_call\", spin)\n"})
	for _, c := range callEvents {
		args := []string{c.agent, "--deadline", "200ms", "--timeout", "1h", "--max-steps", "1000000000000000", "spin.star"}
		out, stderr, code, _ := hookIn(t, dir, time.Hour, strings.NewReader(c.event), args...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(stderr, "within 200ms") {
			t.Errorf("%s: got code %d, %q, %q", c.agent, code, out, stderr)
		}
	}
}

// hookFlagsOf returns all flags of a new hook command, including the program's.
func hookFlagsOf(t *testing.T) *pflag.FlagSet {
	t.Helper()
	cmd, _, err := new(program).rootCommand([]string{"hook"}).Find([]string{"hook"})
	if err != nil {
		t.Fatal(err)
	}
	cmd.Flags().AddFlagSet(cmd.InheritedFlags())
	return cmd.Flags()
}
