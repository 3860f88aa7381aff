package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starhost/starhost/decision"
)

// TestServeUndecided checks the records of requests, calls and replies that plugins did not decide, in the
// proxy and for gateways: because a guard is not loaded or too late, or because starhost cannot read the
// bytes.
func TestServeUndecided(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch body, _ := io.ReadAll(r.Body); {
		case strings.Contains(string(body), "unread"):
			io.WriteString(w, "<html>")
			return
		case strings.Contains(string(body), "stream"):
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: <html>\n\n")
			return
		}
		io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[`+
			`{"id":"c","type":"function","function":{"name":"Bash","arguments":"{\"command\":"}}]},"finish_reason":"tool_calls"}]}`)
	}))
	defer upstream.Close()
	const (
		guards  = "register_hook(\"pre_tool_call\", lambda: None)\n"
		broken  = "register_hook(\"pre_tool_call\", lambda: None)\nregister_hook(\"turn_start\", undefined)\n"
		hang    = "def hang():\n    for _ in range(1 << 40):\n        pass\n\nregister_hook(\"turn_start\", hang)\n"
		chat    = "/v1/chat/completions"
		request = `{"model":"m","messages":[{"role":"user","content":"Go."}]}`
		unread  = `{"model":"unread","messages":[{"role":"user","content":"Go."}]}`
		stream  = `{"model":"m","stream":true,"messages":[{"role":"user","content":"Go."}]}`
		gateway = "/litellm/beta/litellm_basic_guardrail_api"
		texts   = `{"input_type":"request","texts":["Go."],"request_data":{}}`
	)
	for _, tt := range []struct{ name, plugin, server, path, body, event, reason string }{
		{"proxy: a lost guard", broken, "--proxy", chat, request, "turn_start", "undefined: undefined"},
		{"proxy: a call without JSON", guards, "--proxy", chat, request, "pre_tool_call", `the arguments of "Bash" are no JSON object`},
		{"proxy: a request without JSON", guards, "--proxy", chat, "{", "turn_start", "the body: unexpected end of file"},
		{"proxy: a request of two readings", guards, "--proxy", chat, `{"Messages":[]}`, "turn_start", `got the name "Messages", want "messages"`},
		{"proxy: a reply without JSON", guards, "--proxy", chat, unread, "post_llm_call", "plugins cannot read the reply: "},
		{"proxy: an event without JSON", guards, "--proxy", chat, stream, "post_llm_call", "plugins cannot read the reply: "},
		{"gateway: a lost guard", broken, "--guardrail", gateway, texts, "turn_start", "undefined: undefined"},
		{"gateway: a handler", hang, "--guardrail", gateway, texts, "turn_start", "the plugins gave no answer within 300ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "p.star"), tt.plugin)
			write(t, filepath.Join(dir, "token"), "0123456789abcdef\n")
			write(t, filepath.Join(dir, "config.toml"), "[log]\npath = \"log\"\ninclude = [\"prompt\"]\n")
			args := []string{"p.star", "-c", "config.toml", "--token-file", "token", "--timeout", "1h", "--max-steps", "1000000000000000",
				"--deadline", "300ms", tt.server, "127.0.0.1:0"}
			if tt.server == "--proxy" {
				args = append(args, "--upstream", upstream.URL)
			}
			_, addrs := start(t, dir, 1, args...)
			curl(t, dir, []string{
				"-H", "Authorization: Bearer 0123456789abcdef", "-H", "X-Starhost-Token: 0123456789abcdef",
				"-d", tt.body, addrs[0] + tt.path,
			})
			var found []*decision.Record
			for _, r := range recordsIn(t, filepath.Join(dir, "log")) {
				if len(r.Handlers) == 0 && len(r.Errors) > 0 {
					found = append(found, r)
				}
			}
			if len(found) != 1 {
				t.Fatalf("got %d records, want one", len(found))
			}
			r := found[0]
			answered := "deny"
			if strings.HasSuffix(tt.name, "a lost guard") {
				answered = "abort" // the host itself refuses the prompt
			}
			isCall := r.Event == "pre_tool_call"
			isBash := r.Tool == "Bash" && r.Foreign
			isOther := r.Event != tt.event || r.Answered != answered || isCall != isBash
			if isOther || !strings.Contains(r.Errors[0], tt.reason) {
				t.Errorf("got the record %+v, want one of %s: %s", r, tt.event, tt.reason)
			}
			hasText := r.Event == "turn_start" && strings.Contains(tt.body, "Go.")
			if hasText && !strings.Contains(string(r.Input["user_message"]), "Go.") {
				t.Errorf("got the input %s, want the text", r.Input)
			}
		})
	}
}
