package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/agents/trace"
	"github.com/starhost/starhost/serve/hook"
)

// pastPolicy decides by what a transcript has.
const pastPolicy = `
def guard(call, ctx):
    n = ctx.state.get("n", 0) + 1
    ctx.state.set("n", n)
    if n % 7 == 0:
        return deny("each seventh call at %s" % ctx.now[:10])
    if "denied" in (call.command or ""):
        return deny("E2E-DENIED")
    if "write" in call.kinds and call.paths:
        return ask("write %s" % call.paths[0])
    if call.server == "lab":
        return deny("lab")

register_hook("pre_tool_call", guard)
`

// pastHome makes a home with the transcripts of a real agent, and with a folder that has two plugins.
func pastHome(t *testing.T, agent string) (home string) {
	t.Helper()
	home = t.TempDir()
	if err := os.CopyFS(home, os.DirFS(filepath.Join("../../agents/trace/testdata", agent))); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, home, map[string]string{
		"past.star": pastPolicy, "pass.star": "register_hook(\"pre_tool_call\", lambda call: None)\n",
		"log.toml": "[log]\ninclude = [\"writes\"]\n",
	})
	for _, name := range []string{"XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	return home
}

// replayedGroups runs replay and returns the groups of its report without their examples.
func replayedGroups(t *testing.T, home string, args ...string) string {
	t.Helper()
	var out, stderr bytes.Buffer
	run(context.Background(), append([]string{"-C", home, "replay", "past.star", "-F", "json"}, args...), strings.NewReader(""), &out, &stderr)
	var report struct {
		Events int
		Groups []map[string]any
	}
	if err := json.Unmarshal(out.Bytes(), &report); err != nil || report.Events == 0 {
		t.Fatalf("replay %q: %v in %s%s", args, err, out.String(), stderr.String())
	}
	for _, g := range report.Groups {
		delete(g, "example")
	}
	text, _ := json.MarshalIndent(report, "", " ")
	return string(text)
}

// TestReplayTranscripts checks that a policy decides the same about a transcript and about the log of
// the same calls.
func TestReplayTranscripts(t *testing.T) {
	for _, name := range []string{"claude-code", "codex", "gemini", "qwen", "copilot", "cline"} { // opencode's file is not in the fixtures
		t.Run(name, func(t *testing.T) {
			home := pastHome(t, name)
			r := &trace.Reader{Getenv: os.Getenv}
			for c := range r.InOrder(agents.Find(name)) {
				if c.Result == trace.Refused {
					continue
				}
				event := hook.AgentOf(name).EventBefore(c.Session, c.Folder, c.Tool, c.Arguments)
				var out, stderr bytes.Buffer
				run(context.Background(), []string{"-C", home, "hook", name, "-c", "log.toml", "pass.star"}, strings.NewReader(event), &out, &stderr)
			}
			past := replayedGroups(t, home, "--transcripts", "--agent", name)
			logged := replayedGroups(t, home)
			// The log has the time of today, the transcript that of the call.
			past = strings.ReplaceAll(past, "2026-11-26", "DATE")
			if day := dayIn(logged); day != "" {
				logged = strings.ReplaceAll(logged, day, "DATE")
			}
			if past != logged {
				t.Errorf("transcripts:\n%s\nlog:\n%s", past, logged)
			}
		})
	}
}

// dayIn returns the day in a reason of pastPolicy.
func dayIn(text string) string {
	_, rest, ok := strings.Cut(text, "each seventh call at ")
	if !ok {
		return ""
	}
	return rest[:len("2026-11-26")]
}

// TestTranscriptsStayThere checks that no file has a word of a transcript after doctor and replay have
// read it.
func TestTranscriptsStayThere(t *testing.T) {
	home := pastHome(t, "claude-code")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	const word = "PLANTED-4711"
	err := filepath.WalkDir(filepath.Join(home, ".claude"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(name, bytes.ReplaceAll(text, []byte("touch "), []byte("touch "+word)), 0o600)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"replay", "past.star", "--transcripts"}, {"hook", "doctor", "--calls"}, {"hook", "doctor"}} {
		var out, stderr bytes.Buffer
		run(context.Background(), append([]string{"-C", home}, args...), strings.NewReader(""), &out, &stderr)
		if args[0] == "replay" && !strings.Contains(out.String(), word) {
			t.Errorf("%q does not show the command:\n%s%s", args, out.String(), stderr.String())
		}
	}
	for _, dir := range []string{home, temporary} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasPrefix(name, filepath.Join(home, ".claude")) {
				return err
			}
			text, err := os.ReadFile(name)
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s has a word of a transcript", name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
