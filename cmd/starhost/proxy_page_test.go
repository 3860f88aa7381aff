package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// proxyReplies has the replies of the page's model, each with a text of the requests that get it. The first
// match counts.
var proxyReplies = []struct{ in, out string }{
	{`"role":"tool"`, `"id": "c3", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "It is ada."}, "finish_reason": "stop"}]`},
	{"Who is", `"id": "c2", "choices": [{"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": [{"id": "t", "type": "function", "function": {"name": "who_is_on_call", "arguments": "{\"team\":\"a\"}"}}]}, "finish_reason": "tool_calls"}]`},
	{`Clean up.\n\nAnswer in one line.`, `"id": "c1", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": [{"id": "t", "type": "function", "function": {"name": "bash", "arguments": "{\"command\":\"rm -rf /\"}"}}]}, "finish_reason": "tool_calls"}]`},
}

// TestProxyPage runs the commands of docs/proxy.md with a fake endpoint, and compares what they
// print.
func TestProxyPage(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		for _, reply := range proxyReplies {
			if strings.Contains(string(body), reply.in) && strings.Contains(string(body), "who_is_on_call") {
				_, _ = io.WriteString(w, "{"+reply.out+"}")
				return
			}
		}
		http.Error(w, string(body), http.StatusBadRequest)
	}))
	defer endpoint.Close()
	page, err := os.ReadFile("../../docs/proxy.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "s") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	blocks := regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	commands := 0
	for _, block := range blocks {
		if block[1] == "python" {
			write(t, filepath.Join(dir, "guard.star"), block[2])
		}
		if block[1] != "console" {
			continue
		}
		for _, part := range strings.Split("\n"+block[2], "\n$ ")[1:] {
			line, want, _ := strings.Cut(part, "\n")
			args := words(t, strings.ReplaceAll(line, "http://127.0.0.1:11434", endpoint.URL))
			commands++
			if args[len(args)-1] == "&" {
				start(t, dir, 1, args[2:len(args)-1]...)
				continue
			}
			if got := curl(t, dir, args[1:]); got != strings.TrimSpace(want) {
				t.Errorf("%s: got\n%s\nwant\n%s", line, got, want)
			}
		}
	}
	if commands != 5 {
		t.Errorf("got %d commands, want 5", commands)
	}
}

// TestServeProxyLog checks that the decision log has the events of the proxy, and no key.
func TestServeProxyLog(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{"+proxyReplies[2].out+"}")
	}))
	defer endpoint.Close()
	dir, err := os.MkdirTemp("", "s") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	write(t, filepath.Join(dir, "guard.star"), `register_hook("pre_tool_call", lambda call: deny("no") if "rm" in call.command else None)
register_hook("turn_start", lambda: "Answer in one line.")
`)
	write(t, filepath.Join(dir, "config.toml"), "[log]\nenabled = true\npath = \"log\"\n")
	t.Run("serve", func(t *testing.T) {
		start(t, dir, 1, "-c", filepath.Join(dir, "config.toml"), "guard.star", "--proxy", "unix:s", "--upstream", endpoint.URL)
		curl(t, dir, []string{"--unix-socket", "s", "-H", "Authorization: Bearer sk-secret", "-d", `{"messages":[{"role":"user","content":"Clean up."}]}`, "http://localhost/v1/chat/completions"})
	})
	var records strings.Builder
	_ = filepath.Walk(filepath.Join(dir, "log"), func(name string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			text, _ := os.ReadFile(name)
			records.Write(text)
		}
		return err
	})
	got := records.String()
	for _, want := range []string{`"pre_tool_call"`, `"turn_start"`, `"deny"`, `"proxy"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the log has no %s: %s", want, got)
		}
	}
	if strings.Contains(got, "sk-secret") {
		t.Errorf("the log has the key: %s", got)
	}
}
