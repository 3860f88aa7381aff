package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/report"
)

// TestGuardsPage gives the commands of each table in docs/guards.md to the guard above the table.
func TestGuardsPage(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	src, err := os.ReadFile("../../docs/guards.md")
	if err != nil {
		t.Fatal(err)
	}
	plugin, rows := "", 0
	dir := t.TempDir()
	path := ""
	parts := strings.Split(string(src), "```")
	for i, part := range parts {
		if language, code, _ := strings.Cut(part, "\n"); i%2 == 1 {
			plugin, path = code, filepath.Join(dir, map[string]string{"python": "guard.star", "starlark": "guard.rules", "toml": "guard"}[language])
			if language == "toml" {
				writeFiles(t, path, map[string]string{"plugin.star": "register_guard()\n", "rules.toml": code})
			} else if err := os.WriteFile(path, []byte(plugin), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for line := range strings.Lines(part) {
			command, rest, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` | ")
			if !ok || plugin == "" || !strings.HasPrefix(line, "| `") {
				continue
			}
			rows++
			want, _, _ := strings.Cut(rest, " ")
			command = strings.ReplaceAll(command, `\|`, "|")
			if got := guardDecision(t, dir, path, command); got != want {
				t.Errorf("%s: got %s, want %s", command, got, want)
			}
		}
	}
	if rows < 20 {
		t.Errorf("got %d commands, want at least 20", rows)
	}
}

// TestRedactionRecipe gives a text with a key to the plugin of docs/guards.md, in an agent in which plugins
// cannot change the user's words, and in a request that starhost itself sends.
func TestRedactionRecipe(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	_, rest, _ := strings.Cut(readTestFile(t, "../../docs/guards.md"), "## Redaction\n")
	_, rest, _ = strings.Cut(rest, "```python\n")
	code, _, _ := strings.Cut(rest, "```")
	const key = "AKIAIOSFODNN7EXAMPLE"
	dir := t.TempDir()
	lenient, _, _ := strings.Cut(code, "register_hook(\"turn_start\"")
	writeFiles(t, dir, map[string]string{"recipe.star": code, "lenient.star": lenient})
	prompt := func(words string) string {
		return string(jsontext.Must(map[string]any{"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": dir, "prompt": words}))
	}
	result := string(jsontext.Must(map[string]any{
		"hook_event_name": "PostToolUse", "session_id": "s", "cwd": dir, "tool_name": "Bash", "tool_use_id": "1",
		"tool_input":    map[string]any{"command": "env"},
		"tool_response": map[string]any{"stdout": key, "stderr": "", "interrupted": false, "isImage": false},
	}))
	tests := []struct {
		name, stdin string
		args        []string
		code        int
		want, never string
	}{
		{"a refused prompt", prompt("Use " + key), []string{"hook", "claude-code", "recipe.star"}, 2, "AWS key in it", ""},
		{"another prompt", prompt("Use it"), []string{"hook", "claude-code", "recipe.star"}, 0, "", "AWS"},
		{"a kept prompt", prompt("Use " + key), []string{"hook", "claude-code", "lenient.star"}, 0,
			"a plugin changed the user's words, which Claude Code does not let it", ""},
		{"a result", result, []string{"hook", "claude-code", "recipe.star"}, 0, "<redacted key>", key},
		{"a request", "", []string{"eval", "--no-config", "lenient.star", "-p", "Use " + key, "-F", "text"}, 0,
			"Use <redacted key>", key},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, diagnostics bytes.Buffer
			args := append([]string{"-C", dir}, tt.args...)
			code := run(t.Context(), args, strings.NewReader(tt.stdin), &out, &diagnostics)
			got := strings.ReplaceAll(out.String()+diagnostics.String(), `\u003c`, "<")
			got = strings.ReplaceAll(got, `\u003e`, ">")
			if code != tt.code || !strings.Contains(got, tt.want) || tt.never != "" && strings.Contains(got, tt.never) {
				t.Errorf("got exit code %d: %s; want %d with %q, and no %q", code, got, tt.code, tt.want, tt.never)
			}
		})
	}
}

// guardDecision returns the decision of a plugin on a shell command of Claude Code.
func guardDecision(t *testing.T, dir, plugin, command string) string {
	t.Helper()
	event := jsontext.Must(map[string]any{
		"hook_event_name": "PreToolUse", "session_id": "s", "cwd": dir, "tool_name": "Bash", "tool_use_id": "1",
		"tool_input": map[string]any{"command": command},
	})
	var out, diagnostics bytes.Buffer
	code := run(t.Context(), []string{"-C", dir, "hook", "claude-code", plugin}, bytes.NewReader(event), &out, &diagnostics)
	if code == 2 { // blocked, with the reason on standard error
		return "deny"
	}
	if code != report.ExitOK || diagnostics.Len() > 0 {
		t.Fatalf("%s: got exit code %d: %s", command, code, diagnostics.String())
	}
	if strings.TrimSpace(out.String()) == "" || strings.TrimSpace(out.String()) == "{}" {
		return "none"
	}
	var answer struct {
		HookSpecificOutput struct{ PermissionDecision string }
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatalf("%s: %v: %s", command, err, out.String())
	}
	return answer.HookSpecificOutput.PermissionDecision
}

// TestRulesFiles loads files of Codex' rules.
func TestRulesFiles(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"no rules", "# none\n", ""},
		{"a function first", "def f():\n    return [\"ls\"]\nprefix_rule(pattern = f())\n", ""},
		{"positional arguments", `prefix_rule(["ls"], "prompt", "why")`, ""},
		{"a network rule", "\nnetwork_rule(host = \"a.example\", protocol = \"https\", decision = \"allow\")\n", "a.rules:2: network_rule is not enforced"},
		{"an example that does not match", `prefix_rule(pattern = ["git"], match = ["go test"])`, `a.rules:1:12: fail: prefix_rule git: match: "go test" does not match`},
		{"an example that matches", `prefix_rule(pattern = ["git"], not_match = [["git", "a"]])`, `prefix_rule git: not_match: ["git", "a"] matches`},
		{"an unknown decision", `prefix_rule(pattern = ["git"], decision = "deny")`, `got "deny", want allow, prompt or forbidden`},
		{"no pattern", `prefix_rule(pattern = [])`, "pattern: got [], want a list of words"},
		{"a relative path", `host_executable(name = "git", paths = ["bin/git"])`, `paths: got "bin/git", want absolute paths that end in /git`},
		{"paths behind the rule", "prefix_rule(pattern = [\"git\"], match = [\"/opt/git a\"])\nhost_executable(name = \"git\", paths = [\"/bin/git\"])", `a.rules:2:16: fail: prefix_rule git: match: "/opt/git a" does not match`},
		{"the program with its flag", "# mine\n\n  \nprefix_rule(\n    pattern = [\"rm -rf\"],\n)", `a.rules:4:12: fail: prefix_rule: pattern: got the program "rm -rf"`},
		{"a misspelt name", "prefix_rule(patern = [])", `a.rules:1:12: function prefix_rule got an unexpected keyword argument "patern"`},
		{"a number", `prefix_rule(pattern = ["git", 7])`, `a.rules:1:12: fail: prefix_rule: pattern: got ["git", 7]`},
		{"a syntax error", "def f(:\n", "a.rules:1:8: got ':', want ')'"},
		{"another program", `host_executable(name = "git", paths = ["/bin/go"])`, `paths: got "/bin/go"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{"a.rules": tt.text})
			var out, diagnostics bytes.Buffer
			code := run(t.Context(), []string{"-C", dir, "check", "a.rules"}, nil, &out, &diagnostics)
			got := out.String() + diagnostics.String()
			if !strings.Contains(got, tt.want) || tt.want == "" && code != report.ExitOK {
				t.Errorf("got exit code %d, %s, want %q", code, got, tt.want)
			}
		})
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"rules/a.rules": "", "rules/b.star": "", "starhost.toml": "[plugins]\npaths = [\"rules\"]\n"})
	var out, diagnostics bytes.Buffer
	code := run(t.Context(), []string{"-C", dir, "-c", dir + "/starhost.toml", "list"}, nil, &out, &diagnostics)
	if code != report.ExitOK || strings.Contains(out.String(), "a.rules") {
		t.Errorf("a folder of plugins: got exit code %d, want b alone:\n%s%s", code, out.String(), diagnostics.String())
	}
}
