package main

import (
	"strings"
	"testing"

	"github.com/starhost/starhost/report"
)

// TestRoles checks that the input and a flag set the roles of the session.
func TestRoles(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"a.star":  `register_tool(lambda: "restarted", name = "restart", description = "Restarts.", roles = ["sre"])`,
		"request": `{"messages": [{"role": "user", "content": "hi"}], "session": {"roles": ["sre", "dev"]}}`,
	})
	for _, tt := range []struct {
		args []string
		want int
	}{
		{nil, report.ExitNegative},
		{[]string{"--role", "sre"}, report.ExitOK},
		{[]string{"-i", "request"}, report.ExitOK},
		{[]string{"-i", "request", "--role", "ops"}, report.ExitNegative},
	} {
		runIn(t, dir, tt.want, append([]string{"eval", "a.star", "--call", "restart"}, tt.args...)...)
	}
}

// TestInputWorkspace checks that guards see the workspace of the input.
func TestInputWorkspace(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"a.star": `register_tool(lambda: "restarted", name = "restart", description = "Restarts.")
register_hook("pre_tool_call", lambda workspace: deny("not in " + workspace) if workspace == "/prod" else None)`,
		"prod": `{"messages": [{"role": "user", "content": "hi"}], "session": {"workspace": "/prod"}}`,
		"test": `{"messages": [{"role": "user", "content": "hi"}], "session": {"workspace": "/test"}}`,
	})
	runIn(t, dir, report.ExitOK, "eval", "a.star", "--call", "restart")
	runIn(t, dir, report.ExitOK, "eval", "a.star", "--call", "restart", "-i", "test")
	runIn(t, dir, report.ExitNegative, "eval", "a.star", "--call", "restart", "-i", "prod")
}

// TestInputWithoutGo checks that messages about JSON name no types of Go.
func TestInputWithoutGo(t *testing.T) {
	dir := t.TempDir()
	for _, in := range []string{

		`{"messages": [{"role": "user", "content": 5}]}`, `{"tools": [{"name": 1}]}`, `{"messages": [{"role": "user", "attachments": [{"width": 1.5}]}]}`,
		`{"tools": [{"name": "a", "approval": 1}]}`, `{"session": {"roles": [1]}}`, `{"session": {"id": []}}`, `{"options": 5}`, `{"options": {"model": 5}}`,
		`{"messages": [{"role": "tool", "is_error": "yes"}]}`, `{"tools": [{"name": "a", "timeout": "x"}]}`, `{"messages": [{"attachments": [{"width": 1e999}]}]}`,
	} {
		writeFiles(t, dir, map[string]string{"request": in})
		_, diagnostics := runIn(t, dir, report.ExitUsage, "eval", "-i", "request")
		for _, word := range []string{"Go ", "struct", "unmarshal", "int64", "starhost.", "json:"} {
			if strings.Contains(strings.ReplaceAll(diagnostics, "starhost docs", ""), word) {
				t.Errorf("%s: got %s", in, diagnostics)
			}
		}
	}
}
