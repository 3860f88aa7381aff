package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/report"
)

// TestQuestion checks which text a user sees before a call that needs approval, and what the answers do.
// "Always" counts for the same tool, arguments and reasons.
func TestQuestion(t *testing.T) {
	ask := starhost.Decision{Plugin: "policy", Reason: "production\x1b[2J", Pos: starhost.Pos{File: "policy.star", Line: 3, Col: 5}}
	request := host.ApprovalRequest{
		Call:   starhost.ToolCall{Name: "restart", Arguments: json.RawMessage(`{"service":"db"}`)},
		Plugin: "ops", Reasons: []string{"tool restart asks for approval", ask.Reason}, Asks: []starhost.Decision{ask},
	}
	other := request
	other.Reasons = other.Reasons[:1]
	var shown bytes.Buffer
	answers := []string{"y", "n", "", "no", "Always", "n", "n", "n"}
	foreign, renamed := request, request
	foreign.Call.Arguments, renamed.Call.Name = json.RawMessage(`{"service":"all"}`), "remove"
	approve := newQuestion(&shown, func(prompt string) (string, error) {
		shown.WriteString(prompt + "\n")
		if len(answers) == 0 {
			return "", io.EOF
		}
		answer := answers[0]
		answers = answers[1:]
		return answer, nil
	}, true)
	var got []bool
	for _, r := range []host.ApprovalRequest{
		request, request, request, request, request, request, other, foreign, renamed, other,
	} {
		answer, err := approve(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, answer.Yes)
	}
	if diff := cmp.Diff([]bool{true, false, false, false, true, true, false, false, false, false}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	want := `ops restart {"service":"db"}
  tool restart asks for approval
  policy: production\u001b[2J (policy.star:3:5)
  a = yes, and not asked again for this tool with these arguments and reasons until chat ends
run it? [y/n/a] 
`
	if !strings.HasPrefix(shown.String(), want) {
		t.Errorf("got %q, want it to begin with %q", shown.String(), want)
	}
}

// TestChatComplete checks the completion of a line.
func TestChatComplete(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.star": `
register_fragment_loader("note", lambda arg: arg)
register_command("page", lambda args: "x", description = "Pages.", complete = lambda arg: ["checkout", "db"])
`})
	env, res := Env{dir: dir, noConfig: true, getenv: func(string) string { return "" }}.fresh(), new(Result)
	set, err := env.load(t.Context(), res, new(loadFlags), []string{filepath.Join(dir, "a.star")})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	c := &chat{conversation: &conversation{Env: env, Result: res, set: set, session: set.Host.NewSession(host.SessionConfig{})}}
	tests := map[string][]string{
		"/pa": {"/page"}, "/page che": {"checkout"}, "!fr": {"!fragment"}, "!fragment no": {"note:"}, "hello": nil, "": nil, "!fragment a b": nil,
	}
	for text, want := range tests {
		if _, got := c.complete(t.Context(), text); !cmp.Equal(want, got) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// TestRunOutputCloses checks that a run ends when nobody reads its text.
func TestRunOutputCloses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for q.Context().Err() == nil {
			if _, err := io.WriteString(w, `data: {"choices":[{"delta":{"content":"more "}}]}`+"\n\n"); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"config.toml": "[store]\nurl = \"none\"\n[model.m]\nbase_url = \"" + server.URL + "\"\n"})
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"run", "-C", dir, "-c", "config.toml", "-m", "m/x", "-p", "hi"}, strings.NewReader(""), brokenWriter{}, &stderr)
	if code != report.ExitFile || !strings.Contains(stderr.String(), "standard output: closed [E0708]") {
		t.Errorf("got exit code %d, %s", code, stderr.String())
	}
}

// TestRunCancelled checks that ctrl-C ends a run whose endpoint is silent.
func TestRunCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		io.Copy(io.Discard, q.Body)
		cancel(errors.Join(context.Canceled))
		<-q.Context().Done()
	}))
	defer server.Close()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"config.toml": "[store]\nurl = \"none\"\n[model.m]\nbase_url = \"" + server.URL + "\"\n"})
	var out, stderr bytes.Buffer
	code := run(ctx, []string{"run", "-C", dir, "-c", "config.toml", "-m", "m/x", "-p", "hi"}, strings.NewReader(""), &out, &stderr)
	if code != report.ExitInterrupted || !strings.Contains(stderr.String(), "interrupted [E0709]") {
		t.Errorf("got exit code %d, %s", code, stderr.String())
	}
}
