package main

import (
	"bytes"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/starhost/starhost/report"
)

// pageReplies are the model's replies to the examples of docs/run.md, in order.
const pageReplies = `{"text": "Let me look.", "calls": [{"name": "status", "arguments": {"service": "checkout"}}, {"name": "restart", "arguments": {"service": "checkout"}}]}
{"text": "Checkout is up. I could not restart it."}
{"text": "Yes."}
{"text": "I do not know about yesterday."}
{"text": "", "calls": [{"name": "scale", "arguments": {"service": "checkout"}}]}
{"text": "Checkout has twice the machines."}
{"text": "", "calls": [{"name": "scale", "arguments": {"service": "db"}}]}
{"text": "The DBAs decide about that."}
{"text": "Hello."}
{"text": "Two lines, I see."}
`

// TestRunPage runs the commands of docs/run.md against a scripted endpoint, and compares what they
// print. "…" in the page stands for any text in a line.
func TestRunPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/run.md")
	if err != nil {
		t.Fatal(err)
	}
	e, err := newScriptedEndpoint(pageReplies)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(e)
	defer server.Close()
	dir := t.TempDir()
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "STARHOST_STORE", "STARHOST_MODEL"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", dir)
	blocks := regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	files := map[string]string{}
	for _, block := range blocks {
		switch block[1] {
		case "python":
			files["ops.star"] = block[2]
		case "sh":
			files[".config/starhost/review.sh"] = block[2]
		case "toml":
			files[".config/starhost/config.toml"] += strings.ReplaceAll(block[2], "http://127.0.0.1:11434", server.URL)
		}
	}
	writeFiles(t, dir, files)
	commands := 0
	for _, block := range blocks {
		if block[1] != "console" {
			continue
		}
		line, want, _ := strings.Cut(strings.TrimPrefix(block[2], "$ "), "\n")
		args := words(t, line)
		var out, diagnostics bytes.Buffer
		stdin := strings.NewReader("Hi.\n!multi\nTwo\nlines\n!end\n")
		code := run(t.Context(), append([]string{"-C", dir}, args[1:]...), stdin, &out, &diagnostics)
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", ".*")
		got := strings.TrimSpace(diagnostics.String() + out.String())
		wantCode := report.ExitOK
		if strings.Contains(want, "[E0723]") {
			wantCode = report.ExitLimit
		}
		if code != wantCode || !regexp.MustCompile("^"+pattern+"$").MatchString(got) {
			t.Errorf("%s: got exit code %d:\n%s\nwant:\n%s", line, code, got, want)
		}
		commands++
	}
	if commands != 10 || e.used != len(e.lines) {
		t.Errorf("got %d commands and %d requests, want 10 and %d", commands, e.used, len(e.lines))
	}
}
