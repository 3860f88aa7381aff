//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestBrokenUntrustedConfig breaks the config of a project that the user does not trust. The user's
// guard decides all the same, within the time of one event, and a warning names the mistake.
func TestBrokenUntrustedConfig(t *testing.T) {
	write := func(text string) func(file string) error {
		return func(file string) error { return os.WriteFile(file, []byte(text), 0o600) }
	}
	tests := []struct {
		name string
		make func(file string) error
		want string // the warning
	}{
		{"no TOML", write("[plugins"), "invalid TOML"},
		{"an unknown key", write("nothing = 1"), `unknown key "nothing"`},
		{"a wrong value behind a right one", write("limits.steps = 1\nlimits.memory = true"), "limits.memory: got true"},
		{"no text", write("\xff"), "got bytes that are not UTF-8"},
		{"a deep value", write("x = " + strings.Repeat("[", 10_000)), "nested more than"},
		{"a huge file", write(strings.Repeat("#", 2<<20)), "got 2097152 bytes"},
		{"a long key", write(strings.Repeat("k", 500_000) + " = 1"), "unknown key"},
		{"a folder", func(file string) error { return os.Mkdir(file, 0o700) }, "got a folder"},
		{"a fifo", func(file string) error { return syscall.Mkfifo(file, 0o600) }, "got a special file"},
		{"a link that leads nowhere", func(file string) error { return os.Symlink("nowhere", file) }, "no such file"},
		{"a link that leads to itself", func(file string) error { return os.Symlink(file, file) }, "too many"},
	}
	const guard = `register_hook("pre_tool_call", lambda arguments: deny("freeze") if "rm" in str(arguments) else None)
register_hook("approve_tool_call", lambda arguments: deny("freeze") if "rm" in str(arguments) else None)
register_tool(lambda text: text, name = "echo", description = "Repeats.", parameters = {"type": "object", "properties": {"text": {"type": "string"}}})
`
	surfaces := []struct {
		name string
		args []string
		in   string
		want string // the expected standard output
	}{
		{"claude-code", []string{"hook", "claude-code"},
			`{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm"}}`, `"permissionDecision":"deny"`},
		{"copilot", []string{"hook", "copilot"}, `{"sessionId":"s","toolName":"bash","toolArgs":{"command":"rm"}}`, `"permissionDecision":"deny"`},
		{"hermes", []string{"hook", "hermes"},
			`{"hook_event_name":"pre_tool_call","tool_name":"terminal","tool_input":{"command":"rm"},"session_id":"s","extra":{}}`, `"action":"block"`},
		{"picoclaw", []string{"hook", "picoclaw"},
			`{"jsonrpc":"2.0","id":1,"method":"hook.approve_tool","params":{"tool":"exec","arguments":{"command":"rm"}}}` + "\n", `"approved":false`},
		{"eval", []string{"eval", "--call", "echo", "--args", `{"text":"rm"}`}, "", "denied by freeze: freeze"},
	}
	for _, tt := range tests {
		for _, s := range surfaces {
			t.Run(tt.name+" "+s.name, func(t *testing.T) {
				dir := t.TempDir()
				home, repo := filepath.Join(dir, "home"), filepath.Join(dir, "repo")
				t.Setenv("HOME", home)
				for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
					t.Setenv(name, "")
				}
				writeFiles(t, dir, map[string]string{
					"home/.config/starhost/config.toml": "plugins.paths = [\"~/guards\"]\n", "home/guards/freeze.star": guard, "repo/x": "",
				})
				if err := tt.make(filepath.Join(repo, "starhost.toml")); err != nil {
					t.Fatal(err)
				}
				var out, stderr strings.Builder
				done := make(chan int, 1)
				go func() {
					args := append([]string{"-C", repo, "-v"}, s.args...)
					done <- run(t.Context(), args, strings.NewReader(s.in), &out, &stderr)
				}()
				select {
				case <-done:
				case <-time.After(time.Minute):
					t.Fatal("no answer within a minute")
				}
				if !strings.Contains(out.String(), s.want) {
					t.Errorf("output: got %s%s, want %s", &out, &stderr, s.want)
				}
				if want := "this config is ignored, because the project is not trusted"; !strings.Contains(stderr.String(), tt.want) || !strings.Contains(stderr.String(), want) {
					t.Errorf("standard error: got %s, want %s and %s", &stderr, tt.want, want)
				}
				if stderr.Len() > 2000 {
					t.Errorf("standard error: got %d bytes", stderr.Len())
				}
			})
		}
	}
}
