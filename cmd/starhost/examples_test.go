package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/report"
)

// exampleFiles are the files for the examples of all commands.
var exampleFiles = map[string]string{
	"starhost.toml": "[plugins]\npaths = [\"plugins\"]\n",
	"oncall.star":   exampleLoader,
	"plugins/oncall.star": `"""Runbooks, and what restarts pods."""

def restart_pods(cluster):
    """Restarts all pods of a cluster.

    Args:
      cluster (string): Which one.
    """
    return "restarted " + cluster

register_tool(restart_pods)
register_command("page", lambda args: "paged " + args[0])
` + exampleLoader,
	"golden/oncall_why.txtar": sameQuestion,
	"plugins/golden/oncall_restart.txtar": `Pods are restarted.
-- case.star --
call_tool("restart_pods", cluster = "prod-1")
-- want --
== call_tool restart_pods
"restarted prod-1"
`,
}

const exampleLoader = `register_fragment_loader("runbook", lambda arg: "Read the runbook of %s." % arg)
`

// exampleRecord is a record of the decision log with a time to fill in.
const exampleRecord = `{"schema":"starhost.decision/1","id":"01JDXYZ0ZEFS7QVH5Q32Z34AYK","starhost":"devel","time":%q,` +
	`"agent":"claude-code","session":"1","turn":0,"event":"pre_tool_call","tool":"Bash","foreign":true,"kind":"shell",` +
	`"platform":"claude-code","workspace":"/w","mode":"enforce","input":{"arguments":{"command":"deploy web"}},` +
	`"set":{"revision":"ca6b3d4c","plugins":[{"name":"freeze","sha256":"8ab9b1fe"}]},"answered":"deny",` +
	`"decision":{"action":"deny","reason":"frozen","plugin":"freeze","pos":"freeze/plugin.star:1:49"},` +
	`"handlers":[{"action":"deny","reason":"frozen","plugin":"freeze","pos":"freeze/plugin.star:1:49","steps":9}],` +
	`"context":[],"errors":[],"masked":[],"cut":[],"omitted":[],"duration_us":68}`

// TestExamples checks that the help of every command has at least two examples, and runs the examples. It
// ignores programs after a pipe, and treats < and > as files.
func TestExamples(t *testing.T) {
	root := new(program).rootCommand(nil)
	for _, cmd := range allCommands(root) {
		t.Run(strings.ReplaceAll(cmd.CommandPath(), " ", "_"), func(t *testing.T) {
			lines := strings.Split(cmd.Example, "\n")
			if len(lines) < 2 {
				t.Fatalf("got %d examples, want two", len(lines))
			}
			for _, line := range lines {
				runExample(t, line)
			}
		})
	}
}

// A stopWriter calls stop when a write begins with a text.
type stopWriter struct {
	start string
	stop  func()
}

func (w stopWriter) Write(b []byte) (int, error) {
	if strings.HasPrefix(string(b), w.start) {
		w.stop()
	}
	return len(b), nil
}

// allCommands returns the visible commands below a command.
func allCommands(cmd *cobra.Command) []*cobra.Command {
	var list []*cobra.Command
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Name() != "help" {
			list = append(append(list, c), allCommands(c)...)
		}
	}
	return list
}

// runExample runs one line of an example in a new folder.
func runExample(t *testing.T, line string) {
	t.Helper()
	if strings.Contains(line, "starhost run ") || strings.Contains(line, "starhost chat ") {
		return // the example asks a model: golden/cli/run.txtar and chat.txtar test it
	}
	if strings.Contains(line, "starhost hook reset ") {
		return // the example asks at a terminal: golden/cli/hook_root.txtar tests it
	}
	if strings.Contains(line, "starhost bundle ") || strings.Contains(line, "starhost sync ") || strings.Contains(line, "replay --merge ") {
		return // the example needs an archive, a key, the managed config or reports: bundle.txtar, sync.txtar, sync_log.txtar and replay_parts.txtar
	}
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	writeFiles(t, dir, exampleFiles)
	model := ""
	if strings.Contains(line, "-F openai") { // the body of a request needs the name of a model
		model = "small"
	}
	t.Setenv("STARHOST_MODEL", model)
	line, _, _ = strings.Cut(line, " | ")
	line, _, _ = strings.Cut(line, " > ")
	line, from, _ := strings.Cut(line, " < ")
	args := words(t, line)
	if len(args) < 2 || args[0] != "starhost" {
		t.Fatalf("%q: want starhost COMMAND", line)
	}
	var stdin []byte
	if from != "" {
		var err error
		if stdin, err = os.ReadFile(filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	var stderr bytes.Buffer
	before := map[string][]string{ // some examples need a stored session or record
		"fragments": {"fragments set oncall oncall.star"},
		"sessions":  {"eval oncall.star --session mine -p hi", "eval oncall.star --session other -p hi"},
	}
	for _, line := range before[args[1]] {
		args := append([]string{"-C", dir}, strings.Fields(line)...)
		if code := run(t.Context(), args, nil, &stderr, &stderr); code != report.ExitOK {
			t.Fatalf("%s: exit code %d\n%s", line, code, &stderr)
		}
	}
	if args[1] == "hook" && args[2] == "doctor" { // the example needs a guard
		writeFiles(t, dir, map[string]string{"guard.star": "register_hook(\"pre_tool_call\", lambda call: None)\n"})
		code := run(t.Context(), []string{"-C", dir, "hook", "install", "claude-code", "guard.star"}, nil, &stderr, &stderr)
		if code != report.ExitOK {
			t.Fatalf("hook install: exit code %d\n%s", code, &stderr)
		}
	}
	if args[1] == "log" || args[1] == "replay" {
		now := time.Now().UTC()
		text := fmt.Sprintf("\n"+exampleRecord+"\n", now.Format(time.RFC3339))
		writeFiles(t, dir, map[string]string{
			"decisions-2026-11-23.jsonl": text,
			".local/state/starhost/log/decisions-" + now.Format(time.DateOnly) + ".jsonl": text,
			"plugins/freeze/plugin.star": "register_hook(\"pre_tool_call\", lambda call: deny(\"frozen\"), kind = \"shell\")\n",
		})
	}
	if args[1] == "sessions" {
		storeWaiting(t, dir, "waiting")
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	diagnostics := &lockedWriter{w: &stderr}
	if args[1] == "ui" { // the example serves until somebody stops it
		diagnostics.w = io.MultiWriter(&stderr, stopWriter{"open http://", stop})
	}
	args = append([]string{"-C", dir}, args[1:]...)
	if code := run(ctx, args, bytes.NewReader(stdin), diagnostics, diagnostics); code != report.ExitOK {
		t.Errorf("%s: exit code %d\n%s", line, code, stderr.String())
	}
}
