package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/agents/trace"
	"github.com/starhost/starhost/agents/tracetest"
	"github.com/starhost/starhost/decision"
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
	home = tracetest.Home(t, "../../agents/trace/testdata", agent)
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
	for _, name := range []string{"claude-code", "codex", "gemini", "qwen", "copilot", "opencode", "cline"} {
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

// TestReplayChanged checks that replay cannot tell what guards decide about a call of which the transcript has
// only the arguments that starhost gave it: the log says which these are.
func TestReplayChanged(t *testing.T) {
	for name, want := range map[string]int{"gemini": 1, "opencode": 1, "claude-code": 0, "codex": 0} {
		t.Run(name, func(t *testing.T) {
			home := pastHome(t, name)
			writeFiles(t, home, map[string]string{
				"read.star": "register_hook(\"pre_tool_call\", lambda call: deny(\"x\") if \"denied\" in (call.command or \"\") else None)\n",
			})
			if err := os.CopyFS(filepath.Join(home, ".local/state/starhost/log"), os.DirFS(filepath.Join(home, "log"))); err != nil {
				t.Fatal(err)
			}
			var out, stderr bytes.Buffer
			run(context.Background(), []string{"-C", home, "replay", "read.star", "--transcripts", "--agent", name, "-F", "json"}, strings.NewReader(""), &out, &stderr)
			var report struct {
				CannotTell int `json:"cannot_tell"`
				Groups     []struct{ Outcome, Reason, Example string }
			}
			if err := json.Unmarshal(out.Bytes(), &report); err != nil || report.CannotTell != want {
				t.Fatalf("got %d calls of which it cannot be told, want %d: %s%s", report.CannotTell, want, out.String(), stderr.String())
			}
			for _, g := range report.Groups {
				if g.Outcome == "cannot tell" && g.Reason != "the record lacks arguments: transcripts do not have it" {
					t.Errorf("got %+v", g)
				}
			}
		})
	}
}

// TestPastSecrets checks that no secret of a transcript is in a golden case or in the report, also if the
// guard repeats the call.
func TestPastSecrets(t *testing.T) {
	home := pastHome(t, "claude-code")
	writeFiles(t, home, map[string]string{"told.star": `
register_hook("pre_tool_call", lambda call, arguments: deny("no: %s %s" % (call.command, arguments)))
`})
	secrets := []string{
		"ghp_0123456789abcdefghijABCDEFGHIJ012345", "sk-ant-api03-0a1B2c3D4e5F6g7H8i9J", "AKIAABCDEFGHIJKLMNOP",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0", "hunter2-first", "hunter2-second", "hunter2-third", "hunter2-fourth", "hunter2-fifth",
		"Zm9vYmFyQmF6UXV4MDEyMzQ1Njc4OUFCQ0RFRg",
	}
	commands := []string{
		"git clone https://x:" + secrets[0] + "@github.com/a/b", "export ANTHROPIC_KEY=" + secrets[1], "aws configure set aws_access_key_id " + secrets[2],
		"curl -H 'Authorization: Bearer " + secrets[3] + "' https://a.example", "mysql --password " + secrets[4], "PGPASSWORD=" + secrets[5] + " psql",
		"curl https://me:" + secrets[6] + "@a.example", "echo \"password: " + secrets[7] + "\" > notes", "curl -d '{\"client_secret\": \"" + secrets[8] + "\"}' https://a.example",
		"echo " + secrets[9] + " | base64 -d",
	}
	var lines strings.Builder
	for i, command := range commands {
		quoted, _ := json.Marshal(command)
		fmt.Fprintf(&lines, `{"type":"assistant","sessionId":"s","cwd":"/w","timestamp":"2026-11-20T12:00:%02dZ","message":{"content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{"command":%s}}]}}`+"\n", i, i, quoted)
		fmt.Fprintf(&lines, `{"type":"user","sessionId":"s","cwd":"/w","timestamp":"2026-11-20T12:00:%02dZ","message":{"content":[{"type":"tool_result","tool_use_id":"t%d","content":"ok %s"}]}}`+"\n", i, i, secrets[i])
	}
	writeFiles(t, home, map[string]string{".claude/projects/-w/s.jsonl": lines.String()})
	for _, format := range []string{"pretty", "json", "github", "junit"} {
		var out, stderr bytes.Buffer
		run(context.Background(), []string{"-C", home, "replay", "told.star", "--transcripts", "--golden", "cases-" + format, "-F", format}, strings.NewReader(""), &out, &stderr)
		cases, err := filepath.Glob(filepath.Join(home, "cases-"+format, "*.txtar"))
		if err != nil || len(cases) < len(commands) {
			t.Fatalf("got %d cases: %v %s", len(cases), err, stderr.String())
		}
		texts := map[string]string{"standard output": out.String(), "standard error": stderr.String()}
		for _, name := range cases {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			texts[filepath.Base(name)] = string(text)
		}
		for where, text := range texts {
			for _, secret := range secrets {
				if before, _, ok := strings.Cut(text, secret); ok {
					t.Errorf("%s: %s has a secret: …%s%s", format, where, before[max(0, len(before)-100):], secret)
				}
			}
		}
	}
}

// answeredTo returns the answers in the log of a home to calls, each with its tool.
func answeredTo(t *testing.T, home string) (list []string) {
	t.Helper()
	for a, err := range decision.ReadAnswered(filepath.Join(home, ".local/state/starhost/log"), time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a.Agent+" "+a.Tool+" "+a.Answered)
	}
	return list
}

// TestAnsweredCalls checks what is in the log about calls of which no handler hears: that they were answered,
// and that one ran with other arguments than starhost was asked about.
func TestAnsweredCalls(t *testing.T) {
	ran := func(event, command, more string) string {
		return `{"hook_event_name":"` + event + `","session_id":"s","cwd":"/","tool_name":"Bash","tool_use_id":"c","tool_input":{"command":"` + command + `"}` + more + "}"
	}
	tests := []struct {
		name, agent string
		events      []string
		want        []string
	}{
		{"no handler hears of it", "claude-code", []string{`{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/","tool_name":"Read","tool_use_id":"c","tool_input":{"file_path":"/x"}}`},
			[]string{"claude-code Read none"}},
		{"it ran as asked", "claude-code", []string{ran("PreToolUse", "ls", ""), ran("PostToolUse", "ls", `,"tool_response":{}`)}, []string{"claude-code Bash none"}},
		{"it ran otherwise", "claude-code", []string{ran("PreToolUse", "ls", ""), ran("PostToolUse", "rm x", `,"tool_response":{}`)},
			[]string{"claude-code Bash none", "claude-code Bash " + decision.RanOther}},
		{"PicoClaw", "picoclaw", []string{`{"jsonrpc":"2.0","id":1,"method":"hook.hello","params":{}}
{"jsonrpc":"2.0","id":2,"method":"hook.before_tool","params":{"meta":{"SessionKey":"s"},"tool":"exec","arguments":{"command":"ls"}}}
{"jsonrpc":"2.0","id":3,"method":"hook.before_tool","params":{"meta":{"SessionKey":"s"},"tool":"exec","arguments":{"command":"frozen"}}}
{"jsonrpc":"2.0","id":4,"method":"hook.before_tool","params":{"meta":{"SessionKey":"s"},"tool":"read_file","arguments":{"path":"x"}}}
`}, []string{"picoclaw exec none", "picoclaw exec deny", "picoclaw read_file none"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("HOME", home)
			writeFiles(t, home, map[string]string{"guard.star": "register_hook(\"pre_tool_call\", lambda call: deny(\"x\") if \"frozen\" in call.command else None, kind = \"shell\")\n"})
			for _, event := range tt.events {
				var out, stderr bytes.Buffer
				run(context.Background(), []string{"-C", home, "hook", tt.agent, "guard.star"}, strings.NewReader(event), &out, &stderr)
			}
			if diff := cmp.Diff(tt.want, answeredTo(t, home)); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}
