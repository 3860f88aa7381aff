package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/store"
)

// askingModel is a model that asks for a deployment in each reply.
type askingModel struct{}

func (askingModel) Complete(context.Context, *host.Prompt) (starhost.Reply, error) {
	call := starhost.ToolCall{ID: "c1", Name: "deploy", Arguments: json.RawMessage(`{"to":"\u001b[2J"}`)}
	return starhost.Reply{ToolCalls: []starhost.ToolCall{call}}, nil
}

// storeWaiting stores a session whose turn waits for an approval, as an embedding program does, in
// the default database of a home.
func storeWaiting(t *testing.T, home, id string) {
	t.Helper()
	file := filepath.Join(home, ".local", "share", "starhost", "starhost.db")
	db, err := store.Open(store.Options{URL: "sqlite:", Default: file})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	h := host.New(host.Options{Sessions: db, PauseTurns: true})
	tool := starhost.Tool{Name: "deploy", Description: "Deploys.", Approval: starhost.ApprovalAsk}
	tool.Parameters = json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`)
	tool.Call = func(context.Context, starhost.ToolCall) (starhost.Result, error) {
		return starhost.Result{}, nil
	}
	if err := h.Add(starhost.Plugin{Name: "p", Tools: []starhost.Tool{tool}}); err != nil {
		t.Fatal(err)
	}
	s, err := h.Continue(t.Context(), host.SessionConfig{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Turn(t.Context(), host.Request{Text: "Deploy it."}, askingModel{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Store(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestSessionsAnswer checks that sessions shows the question of a waiting turn, and stores only one answer to
// it.
func TestSessionsAnswer(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "STARHOST_STORE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", dir)
	storeWaiting(t, dir, "w")
	steps := []struct {
		args string
		code int
		want string
	}{
		{"list", report.ExitOK, "1 turn"}, {"list", report.ExitOK, "waits"},
		{"show w", report.ExitOK, `deploy {"to":"\u001b[2J"}`}, {"show w", report.ExitOK, "tool deploy asks for approval"},
		{"show w -F json", report.ExitOK, `"answer": ""`},
		{"answer w maybe", report.ExitUsage, `got "maybe", want yes or no`},
		{"answer w", report.ExitUsage, "got 1 arguments, want a session's id and yes or no"},
		{"answer w yes --question 0", report.ExitUsage, "want at least 8 digits"},
		{"answer w yes --question 00000000", report.ExitNegative, "the question is another one, "},
		{"answer x yes", report.ExitFile, "there is no stored session"},
		{"answer w yes", report.ExitOK, "answered  w: yes"},
		{"answer w no", report.ExitNegative, "has an answer"},
		{"list", report.ExitOK, "answered"},
		{"show w -F json", report.ExitOK, `"answer": "yes"`},
	}
	for _, s := range steps {
		var out bytes.Buffer
		args := append([]string{"-C", dir, "sessions"}, strings.Fields(s.args)...)
		if code := run(t.Context(), args, nil, &out, &out); code != s.code || !strings.Contains(out.String(), s.want) {
			t.Errorf("%s: got exit code %d, want %d and %s:\n%s", s.args, code, s.code, s.want, &out)
		}
	}
	db, err := store.Open(store.Options{URL: "sqlite:" + filepath.Join(dir, ".local", "share", "starhost", "starhost.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	saved, err := db.LoadSession(t.Context(), "w")
	if err != nil || saved.Paused == nil || saved.Paused.Answer == nil || saved.Paused.Answer.Given.IsZero() {
		t.Errorf("got %+v, %v", saved.Paused, err)
	}
}
