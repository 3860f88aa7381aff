package proxy_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/proxy"
)

// says returns a handler that offers context.
func says(text string) func(*starhost.Event) starhost.Decision {
	return func(*starhost.Event) starhost.Decision { return starhost.TextContext(text) }
}

// sent returns the body that the upstream gets for a request.
func sent(t *testing.T, h *host.Host, o proxy.Options, path, body string) (string, *served) {
	t.Helper()
	u := newUpstream(t, replies(jsonType, reply(t, path, "whole")))
	o.Upstream = u.URL
	s := serve(t, h, o, "")
	if status, _, answer := s.ask(t, "POST", path, body); status != 200 {
		return fmt.Sprint(status, " ", strings.TrimSpace(answer)), s
	}
	got := u.last(t).body
	if !json.Valid([]byte(got)) {
		t.Errorf("the upstream got no JSON: %s", got)
	}
	return got, s
}

// TestContext checks that the proxy adds context at the end of the user's last message, after results of
// tools and cache breakpoints, and that all other bytes stay.
func TestContext(t *testing.T) {
	h := newHost(t, handlers{"pre_llm_call": says("C\"1")})
	tests := []struct{ name, path, body, want string }{
		{"a text", chatPath, `{ "messages" : [ {"role":"user","content":"caf\u00e9"} ] ,"x":1.0}`,
			`{ "messages" : [ {"role":"user","content":"caf\u00e9\n\nC\"1"} ] ,"x":1.0}`},
		{"space around", chatPath, "\n{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n ", "\n{\"messages\":[{\"role\":\"user\",\"content\":\"a\\n\\nC\\\"1\"}]}\n "},
		{"the last user's message", chatPath, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"r"}]}`,
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c\n\nC\"1"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"r"}]}`},
		{"blocks", chatPath, `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u"}} ]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u"}},{"text":"C\"1","type":"text"} ]}]}`},
		{"no user", chatPath, `{"messages":[{"role":"system","content":"s"}]}`,
			`{"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"text":"C\"1","type":"text"}]}]}`},
		{"no content", chatPath, `{"messages":[{"role":"user"}]}`, `{"messages":[{"role":"user","content":[{"text":"C\"1","type":"text"}]}]}`},
		{"behind a breakpoint", messagesPath, `{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}],"system":"s"}`,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"text":"C\"1","type":"text"}]}],"system":"s"}`},
		{"behind results", messagesPath, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"}]}]}`,
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"},{"text":"C\"1","type":"text"}]}]}`},
		{"a prefill", messagesPath, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"The"}]}`,
			`{"messages":[{"role":"user","content":"a\n\nC\"1"},{"role":"assistant","content":"The"}]}`},
		{"count_tokens", countPath, `{"messages":[{"role":"user","content":"a"}]}`, `{"messages":[{"role":"user","content":"a\n\nC\"1"}]}`},
		{"an input of one text", responsesPath, `{"input":"a","model":"m"}`, `{"input":"a\n\nC\"1","model":"m"}`},
		{"items", responsesPath, `{"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"reasoning","id":"r"},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"r"}]}`,
			`{"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"text":"C\"1","type":"input_text"}]},{"type":"reasoning","id":"r"},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":"r"}]}`},
		{"results alone", responsesPath, `{"input":[{"type":"function_call_output","call_id":"1","output":"r"}],"previous_response_id":"p"}`,
			`{"input":[{"type":"function_call_output","call_id":"1","output":"r"},{"role":"user","content":[{"text":"C\"1","type":"input_text"}]}],"previous_response_id":"p"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, s := sent(t, h, proxy.Options{}, tt.path, tt.body)
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if log := s.log.String(); strings.Contains(log, "breakpoint") {
				t.Errorf("got the log %s", log)
			}
		})
	}
	body := `{"messages":[{"role":"user","content":"a"},{"role":"system","content":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]}]}`
	if _, s := sent(t, h, proxy.Options{}, messagesPath, body); !strings.Contains(s.log.String(), "warning: a cache breakpoint behind the user's last message is lost") {
		t.Errorf("got the log %s", s.log)
	}
}

// TestPrompt checks how decisions of plugins change requests.
func TestPrompt(t *testing.T) {
	modify := func(name string, value any) func(*starhost.Event) starhost.Decision {
		return func(*starhost.Event) starhost.Decision { return starhost.Modify(name, value) }
	}
	messages := func(change func([]starhost.Message) []starhost.Message) func(*starhost.Event) starhost.Decision {
		return func(e *starhost.Event) starhost.Decision {
			return starhost.Modify("messages", starhost.NewList(change(append([]starhost.Message(nil), e.Messages.Items()...))))
		}
	}
	const talk = `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":"c"}]}`
	tests := []struct {
		name, path, body string
		hooks            handlers
		want             string
	}{
		{"system text", messagesPath, `{"messages":[{"role":"user","content":"a"}],"system":"own"}`, handlers{
			"pre_llm_call": func(*starhost.Event) starhost.Decision {
				c := starhost.Context{Fragments: []fragments.Fragment{{Content: "plugin's", Target: fragments.System}}}
				return starhost.Decision{Action: starhost.ActionContext, Context: c}
			},
		}, `{"messages":[{"role":"user","content":"a\n\nplugin's"}],"system":"own"}`},
		{"another system text", chatPath, `{"messages":[{"role":"system","content":"one"},{"role":"user","content":"a"},{"role":"developer","content":[{"type":"text","text":"two"}]}]}`,
			handlers{"pre_send": modify("system", "new")}, `{"messages":[{"role":"system","content":"new"},{"role":"user","content":"a"},{"role":"developer","content":[]}]}`},
		{"a first system text", responsesPath, `{"input":"a"}`, handlers{"pre_send": modify("system", "new")}, `{"input":"a","instructions":"new"}`},
		{"other words", messagesPath, `{"messages":[{"role":"user","content":[{"type":"text","text":"my key"},{"type":"text","text":"is 1","cache_control":{}}]}]}`,
			handlers{"turn_start": modify("user_message", "***"), "pre_llm_call": says("C")},
			`{"messages":[{"role":"user","content":[{"type":"text","text":"***","cache_control":{}},{"text":"C","type":"text"}]}]}`},
		{"words in front of results", messagesPath, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"}]}]}`,
			handlers{"turn_start": modify("user_message", "***")},
			`{"messages":[{"role":"user","content":"***"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"}]}]}`},
		{"words where none were", chatPath, `{"messages":[{"role":"user"}]}`, handlers{"turn_start": modify("user_message", "new")},
			`{"messages":[{"role":"user","content":"new"}]}`},
		{"another model", chatPath, `{"model":"big","messages":[{"role":"user","content":"a"}],"temperature":1,"top_p":1}`, handlers{
			"pre_llm_call": func(e *starhost.Event) starhost.Decision {
				if string(e.Options) != `{"temperature":1,"top_p":1}` || e.Model != "big" {
					return starhost.Decision{Action: starhost.ActionAbort, Reason: string(e.Options)}
				}
				return starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{
					"model": "small", "options": json.RawMessage(`{"temperature":0,"seed":1,"stream":true}`),
				}}
			},
		}, `{"model":"small","messages":[{"role":"user","content":"a"}],"temperature":0,"seed":1}`},
		{"an abort", messagesPath, `{"messages":[{"role":"user","content":"a"}]}`, handlers{
			"turn_start": func(*starhost.Event) starhost.Decision {
				return starhost.Decision{Action: starhost.ActionAbort, Reason: "no"}
			},
		}, `403 {"error":{"message":"denied by guards: no","type":"permission_error"},"type":"error"}`},
		{"vendor tools", messagesPath, `{"messages":[{"role":"user","content":"a"}],"tools":[{"type":"web_search_20250305","name":"web_search"}, {"name":"f","input_schema":{}}],"tool_choice":{"type":"tool","name":"web_search"}}`,
			handlers{"pre_send": modify("tools", []string{"f"})}, `{"messages":[{"role":"user","content":"a"}],"tools":[ {"name":"f","input_schema":{}}]}`},
		{"all tools", responsesPath, `{"input":"a","tools":[{"type":"web_search"},{"type":"mcp","server_label":"x"}],"tool_choice":"auto","parallel_tool_calls":true}`,
			handlers{"pre_send": modify("tools", []string{})}, `{"input":"a"}`},
		{"one server", responsesPath, `{"input":"a","tools":[{"type":"web_search"},{"type":"mcp","server_label":"x"}]}`,
			handlers{"pre_send": modify("tools", []string{"mcp_x"})}, `{"input":"a","tools":[{"type":"mcp","server_label":"x"}]}`},
		{"a member", chatPath, `{"web_search_options":{},"messages":[{"role":"user","content":"a"}]}`,
			handlers{"pre_llm_call": modify("tools", []string{})}, `{"messages":[{"role":"user","content":"a"}]}`},
		{"a text of the history", messagesPath, talk, handlers{"pre_send": messages(func(list []starhost.Message) []starhost.Message {
			list[1].Content = fragments.NewText("***")
			return list
		}), "turn_start": says("C")}, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"***"}]},{"role":"user","content":"c\n\nC"}]}`},
		{"dropped messages", messagesPath, talk, handlers{"pre_send": messages(func(list []starhost.Message) []starhost.Message {
			return list[2:]
		}), "turn_start": says("C")}, `{"messages":[{"role":"user","content":"c\n\nC"}]}`},
		{"the user's message", messagesPath, talk, handlers{"pre_send": messages(func(list []starhost.Message) []starhost.Message {
			list[2].Content = fragments.NewText("all new")
			return list
		}), "turn_start": says("C")}, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":"all new"}]}`},
		{"a dropped result", messagesPath, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}},{"type":"tool_use","id":"2","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"},{"type":"tool_result","tool_use_id":"2","content":"r"}]}]}`,
			handlers{"pre_send": messages(func(list []starhost.Message) []starhost.Message { return append(list[:2:2], list[3:]...) })},
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}},{"type":"tool_use","id":"2","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"2","content":"r"}]}]}`},
		{"the text of a result without one", messagesPath, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"},{"type":"tool_result","tool_use_id":"2","content":"r"}]}]}`,
			handlers{"pre_send": messages(func(list []starhost.Message) []starhost.Message {
				list[2].Content = fragments.NewText("x")
				return list
			})},
			`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"},{"type":"tool_result","tool_use_id":"2","content":"r"}]}]}`},
		{"a new message", messagesPath, talk, handlers{"pre_send": messages(func(list []starhost.Message) []starhost.Message {
			return append(list, starhost.Message{Role: "assistant", Content: fragments.NewText("x")})
		})}, `403 {"error":{"message":"starhost: pre_send made a message that the proxy cannot write: it can drop messages and change texts","type":"permission_error"},"type":"error"}`},
		{"another call", messagesPath, `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":"c"}]}`,
			handlers{"pre_send": messages(func(list []starhost.Message) []starhost.Message {
				list[1].ToolCalls = []starhost.ToolCall{{ID: "1", Name: "g"}}
				return list
			})}, `403 {"error":{"message":"starhost: pre_send made a message that the proxy cannot write: it can drop messages and change texts","type":"permission_error"},"type":"error"}`},
		{"fewer messages and other words", messagesPath, talk, handlers{"pre_send": messages(func(list []starhost.Message) []starhost.Message {
			list[2].Content = fragments.NewText("all new")
			return list[2:]
		})}, `403 {"error":{"message":"starhost: pre_send made a message that the proxy cannot write: it can drop messages and change texts","type":"permission_error"},"type":"error"}`},
		{"a picture", responsesPath, `{"input":"a"}`, handlers{"pre_llm_call": func(*starhost.Event) starhost.Decision {
			c := starhost.Context{Attachments: []fragments.Attachment{{Type: "image/png", Content: "x"}}}
			return starhost.Decision{Action: starhost.ActionContext, Context: c}
		}}, `{"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"detail":"auto","image_url":"data:image/png;base64,eA==","type":"input_image"}]}]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, _ := sent(t, newHost(t, tt.hooks), proxy.Options{}, tt.path, tt.body); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestEvents checks the arguments of the events that a request fires.
func TestEvents(t *testing.T) {
	var events []string
	note := func(e *starhost.Event) starhost.Decision {
		line := fmt.Sprint(e.Name, " ", e.UserMessage, " first=", e.IsFirstTurn, " model=", e.Model, " ", e.Platform)
		if e.Messages != nil {
			for _, m := range e.Messages.Items() {
				line += fmt.Sprintf(" %s:%s", m.Role, m.Content)
				for _, c := range m.ToolCalls {
					line += fmt.Sprintf("[%s %s]", c.Name, c.Arguments)
				}
			}
		}
		if e.Tools != nil {
			for _, tool := range e.Tools.Items() {
				line += fmt.Sprintf(" +%s:%s", tool.Name, tool.Description)
			}
		}
		events = append(events, line)
		return starhost.Decision{}
	}
	h := newHost(t, handlers{"turn_start": note, "pre_llm_call": note, "pre_send": note})
	body := `{"model":"m","input":[{"role":"developer","content":"d"},{"role":"user","content":"env"},{"role":"user","content":[{"type":"input_text","text":"q"}]},
		{"type":"local_shell_call","call_id":"1","action":{"command":["ls"]}},{"type":"local_shell_call_output","call_id":"1","output":"r"}],
		"tools":[{"type":"local_shell"},{"type":"function","name":"f","description":"F."}]}`
	sent(t, h, proxy.Options{}, responsesPath, body)
	sent(t, newHost(t, handlers{"turn_start": note}), proxy.Options{}, chatPath,
		`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`)
	want := []string{
		"turn_start q first=true model=m proxy",
		`pre_llm_call q first=true model=m proxy user:env user:q assistant:[local_shell {"command":["ls"]}] tool:r +f:F. +local_shell:`,
		`pre_send q first=true model=m proxy user:env user:q assistant:[local_shell {"command":["ls"]}] tool:r +f:F. +local_shell:`,
		"turn_start c first=false model= proxy",
	}
	if got := strings.Join(events, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// TestSessions checks that a conversation has state, that two clients share none, and that a request that
// counts tokens does not change it.
func TestSessions(t *testing.T) {
	p := starhost.Plugin{Name: "counter", Hooks: []starhost.Hook{
		{Event: "session_start", Call: func(context.Context, *starhost.Event) (starhost.Decision, error) {
			return starhost.TextContext("welcome"), nil
		}},
		{Event: "turn_start", Call: func(ctx context.Context, _ *starhost.Event) (starhost.Decision, error) {
			t := host.TurnOf(ctx)
			state, n := effects.StateOf(t.Session(), "counter"), 0
			if old, ok := state.Get("n"); ok {
				_ = json.Unmarshal(old, &n)
			}
			if err := state.Set("n", json.RawMessage(fmt.Sprint(n+1))); err != nil {
				return starhost.Decision{}, err
			}
			return starhost.TextContext(fmt.Sprint("n=", n+1)), nil
		}},
	}}
	h := host.New(host.Options{})
	if err := h.Add(p); err != nil {
		t.Fatal(err)
	}
	u := newUpstream(t, replies(jsonType, "{}"))
	s := serve(t, h, proxy.Options{Upstream: u.URL}, "")
	steps := []struct{ path, key, words, want string }{
		{messagesPath, "k", `"a"`, "a\n\nwelcome\nn=1"},
		{countPath, "k", `"a"`, "a\n\nwelcome\nn=2"},
		{messagesPath, "k", `"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"`, "c\n\nwelcome\nn=2"},
		{messagesPath, "other", `"a"`, "a\n\nwelcome\nn=1"},
		{messagesPath, "k", `"b"`, "b\n\nwelcome\nn=1"},
		{messagesPath, "k", `"a"`, "a\n\nwelcome\nn=3"},
	}
	for _, step := range steps {
		status, _, answer := s.ask(t, "POST", step.path, `{"messages":[{"role":"user","content":`+step.words+`}]}`, "X-Api-Key", step.key)
		var got struct{ Messages []struct{ Content string } }
		if err := json.Unmarshal([]byte(u.last(t).body), &got); err != nil || status != 200 {
			t.Fatal(status, answer, err)
		}
		if text := got.Messages[len(got.Messages)-1].Content; text != step.want {
			t.Errorf("%+v: got %q", step, text)
		}
	}
	if s.Sessions() != 3 {
		t.Errorf("got %d sessions, want 3", s.Sessions())
	}
}

// zstdOf returns a text as a frame of zstd. It compresses a block only if the block repeats one letter.
func zstdOf(text string) string {
	const most = 128 << 10
	out := "\x28\xb5\x2f\xfd\x00\x58" // no checksum, a window of 2 MiB
	for isLast := false; !isLast; {
		block := text[:min(len(text), most)]
		text = text[len(block):]
		head := len(block) << 3
		if isLast = text == ""; isLast {
			head |= 1
		}
		if len(block) > 1 && strings.Trim(block, block[:1]) == "" {
			head, block = head|1<<1, block[:1]
		}
		out += string([]byte{byte(head), byte(head >> 8), byte(head >> 16)}) + block
	}
	return out
}

// TestUnreadable checks the requests that the proxy refuses while a guard is loaded.
func TestUnreadable(t *testing.T) {
	guarded := newHost(t, handlers{"pre_tool_call": func(*starhost.Event) starhost.Decision { return starhost.Decision{} }})
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(`{"messages":[{"role":"user","content":"a"}]}`))
	_ = z.Close()
	const plain = `{"messages":[{"role":"user","content":"a"}]}`
	tests := []struct {
		name, path, body, encoding string
		status, unguarded          int
	}{
		{"plain", chatPath, plain, "", 200, 200},
		{"gzip", chatPath, zipped.String(), "gzip", 200, 200},
		{"no gzip", chatPath, plain, "gzip", 415, 200},
		{"zstd", chatPath, zstdOf(plain), "zstd", 200, 200},
		{"no zstd", chatPath, plain, "zstd", 415, 200},
		{"a part of zstd", chatPath, zstdOf(plain)[:20], "zstd", 415, 200},
		{"two zstd frames", chatPath, zstdOf(plain[:9]) + zstdOf(plain[9:]), "zstd", 200, 200},
		{"too large in zstd", chatPath, zstdOf(`{"messages":[{"role":"user","content":"` + strings.Repeat("a", proxy.MaxBody) + `"}]}`), "zstd", 415, 200},
		{"brotli", chatPath, plain, "br", 415, 200},
		{"two encodings", chatPath, plain, "gzip, gzip", 415, 200},
		{"two members", chatPath, `{"messages":[{"role":"user","content":"a","content":"b"}]}`, "", 400, 200},
		{"a name for Go", chatPath, `{"messages":[],"Messages":[{"role":"user","content":"a"}]}`, "", 400, 200},
		{"a name for Go, folded", chatPath, `{"message\u017f":[],"messages":[]}`, "", 400, 200},
		{"a name for Go, in a block", chatPath, `{"messages":[{"role":"user","content":[{"type":"text","text":"a","Text":"b"}]}]}`, "", 400, 200},
		{"no UTF-8", chatPath, "{\"a\":\"\xff\"}", "", 400, 200},
		{"no JSON", chatPath, "{", "", 400, 200},
		{"a list", chatPath, "[]", "", 400, 200},
		{"too deep", chatPath, strings.Repeat("[", 600) + strings.Repeat("]", 600), "", 400, 200},
		{"an unknown path", "/v1/embeddings", plain, "", 403, 200},
		{"a path that is nearly one", "/v1//messages", plain, "", 403, 200},
		{"an encoded path", "/v1/%6Dessages", plain, "", 403, 200},
	}
	for _, tt := range tests {
		for want, h := range map[int]*host.Host{tt.status: guarded, -tt.unguarded: newHost(t, nil)} {
			u := newUpstream(t, replies(jsonType, "{}"))
			s := serve(t, h, proxy.Options{Upstream: u.URL}, "")
			status, _, body := s.ask(t, "POST", tt.path, tt.body, "Content-Encoding", tt.encoding)
			if status != max(want, -want) {
				t.Errorf("%s: got %d %s, want %d", tt.name, status, body, want)
			}
			if status == 200 && (u.last(t).body != tt.body || u.last(t).header.Get("Content-Encoding") != tt.encoding) {
				t.Errorf("%s: the body changed", tt.name)
			}
		}
	}
	u := newUpstream(t, replies(jsonType, "{}"))
	s := serve(t, guarded, proxy.Options{Upstream: u.URL, PassUnknown: true}, "")
	for _, request := range []string{"POST /v1/embeddings", "GET /v1/models/m", "GET /v1/models", "GET /v1/responses/r"} {
		method, path, _ := strings.Cut(request, " ")
		if status, _, body := s.ask(t, method, path, ""); status != 200 {
			t.Errorf("%s: got %d %s", request, status, body)
		}
	}
	h := newHost(t, handlers{"turn_start": says("C")})
	s = serve(t, h, proxy.Options{Upstream: u.URL}, "")
	for _, path := range []string{"/v1/models/../responses/r", "/v1/models/%2e%2e/responses/r"} {
		if status, _, body := s.ask(t, "GET", path, ""); status != 403 {
			t.Errorf("GET %s: got %d %s, want 403", path, status, body)
		}
	}
	ends := serve(t, newHost(t, handlers{"turn_end": says("")}), proxy.Options{Upstream: u.URL}, "")
	if status, _, body := ends.ask(t, "POST", chatPath, `{"messages":[],"Messages":[]}`); status != 200 {
		t.Errorf("a name for Go without a guard: got %d %s", status, body)
	}
	s.SetUnpacked(4*proxy.MaxBody - 10)
	for encoding, body := range map[string]string{"gzip": zipped.String(), "zstd": zstdOf(plain)} {
		if status, _, body := s.ask(t, "POST", chatPath, body, "Content-Encoding", encoding); status != 503 {
			t.Errorf("too many %s bodies at once: got %d %s, want 503", encoding, status, body)
		}
	}
	if got := s.SetUnpacked(0); got != 4*proxy.MaxBody-10 {
		t.Errorf("got %d bytes after the request, want those before it", got)
	}
	status, _, _ := s.ask(t, "POST", chatPath, zipped.String(), "Content-Encoding", "gzip")
	if got := u.last(t); status != 200 || got.body != `{"messages":[{"role":"user","content":"a\n\nC"}]}` || got.header.Get("Content-Encoding") != "" {
		t.Errorf("got %d %+v", status, got)
	}
	// The program zstd wrote this frame. Its text has repetitions.
	const packed = "KLUv/QRY5QEANAN7Im1lc3NhZ2VzIjpbeyJyb2xlIjoidXNlciIsImNvbnRlbnQiOiJhYmMgYWJkICJ9XX0BAK9xfykDnT2GCA=="
	frame, _ := base64.StdEncoding.DecodeString(packed)
	status, _, _ = s.ask(t, "POST", chatPath, string(frame), "Content-Encoding", "zstd")
	want := `{"messages":[{"role":"user","content":"` + strings.Repeat("abc abd ", 200) + `\n\nC"}]}`
	if got := u.last(t); status != 200 || got.body != want || got.header.Get("Content-Encoding") != "" {
		t.Errorf("got %d %+v", status, got)
	}
}

// TestMissingGuard checks that a prompt does not pass while a guard of prompts is not loaded.
func TestMissingGuard(t *testing.T) {
	u := newUpstream(t, replies(jsonType, "{}"))
	h := newHost(t, nil)
	h.Lose(host.Guard{Err: fmt.Errorf("g.star is broken")})
	plugins := func() *host.Host { return h }
	s := serve(t, h, proxy.Options{Upstream: u.URL, Host: plugins}, "")
	if status, _, body := s.ask(t, "POST", chatPath, `{"messages":[]}`); status != 200 {
		t.Errorf("got %d %s", status, body)
	}
	h.Lose(host.Guard{Err: fmt.Errorf("p.star is broken"), Events: []string{"turn_start"}})
	if status, _, body := s.ask(t, "POST", chatPath, `{"messages":[]}`); status != 403 || !strings.Contains(body, "starhost: p.star is broken") {
		t.Errorf("got %d %s", status, body)
	}
}
