package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGuardsPage gives the commands of each table in docs/guards.md to the guard above the table.
func TestGuardsPage(t *testing.T) {
	src, err := os.ReadFile("../../docs/guards.md")
	if err != nil {
		t.Fatal(err)
	}
	plugin, rows := "", 0
	dir := t.TempDir()
	path := filepath.Join(dir, "guard.star")
	parts := strings.Split(string(src), "```")
	for i, part := range parts {
		if code, ok := strings.CutPrefix(part, "python\n"); ok && i%2 == 1 {
			plugin = code
			if err := os.WriteFile(path, []byte(plugin), 0o600); err != nil {
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

// guardDecision returns the decision of a plugin on a shell command of Claude Code.
func guardDecision(t *testing.T, dir, plugin, command string) string {
	t.Helper()
	event := mustJSON(map[string]any{
		"hook_event_name": "PreToolUse", "session_id": "s", "cwd": dir, "tool_name": "Bash", "tool_use_id": "1",
		"tool_input": map[string]any{"command": command},
	})
	var out, diagnostics bytes.Buffer
	code := run(t.Context(), []string{"-C", dir, "hook", "claude-code", plugin}, bytes.NewReader(event), &out, &diagnostics)
	if code == 2 { // blocked, with the reason on standard error
		return "deny"
	}
	if code != exitOK || diagnostics.Len() > 0 {
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
