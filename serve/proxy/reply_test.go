package proxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/model"
	"github.com/starhost/starhost/model/anthropic"
	"github.com/starhost/starhost/model/openai"
	"github.com/starhost/starhost/model/responses"
	"github.com/starhost/starhost/serve/proxy"
)

// decoders are the readers of replies that starhost's own clients have, by path.
var decoders = map[string]model.Dialect{
	messagesPath: anthropic.Dialect(), chatPath: openai.Dialect(), responsesPath: responses.Dialect(),
}

// request returns a small request.
func request(path string, stream bool) string {
	list := "messages"
	if path == responsesPath {
		list = "input"
	}
	return fmt.Sprintf(`{"model":"m","%s":[{"role":"user","content":"list files"}],"stream":%v}`, list, stream)
}

// decode lets a client of starhost's own read a reply.
func decode(path, kind, text string) (d model.Decoder, err error) {
	d = decoders[path].Decode("x", func(model.Piece) {})
	if kind == "whole" {
		return d, d.Whole([]byte(text))
	}
	for block := range strings.SplitSeq(text, "\n\n") {
		name, data := "", ""
		for line := range strings.SplitSeq(block, "\n") {
			if rest, ok := strings.CutPrefix(line, "event: "); ok {
				name = rest
			}
			if rest, ok := strings.CutPrefix(line, "data: "); ok {
				data += rest
			}
		}
		if data == "" {
			continue
		}
		if done, err := d.Event(name, []byte(data)); err != nil || done {
			return d, err
		}
	}
	return d, nil
}

// decoded returns the text of a reply, its calls and why it stopped, in one line.
func decoded(t *testing.T, path, kind, text string) string {
	t.Helper()
	d, err := decode(path, kind, text)
	if err != nil {
		return fmt.Sprintf("error %v in\n%s", err, text)
	}
	r, complete := d.Reply()
	out := r.Content
	for _, c := range r.ToolCalls {
		out += fmt.Sprintf(" [%s %s %s]", c.ID, c.Name, c.Arguments)
	}
	if r.Stop != "" {
		out += " stop: " + r.Stop
	}
	if !complete {
		out += " (cut)"
	}
	return out
}

// guard returns a handler that decides about the calls of one tool.
func guard(tool string, d starhost.Decision) handlers {
	return handlers{"pre_tool_call": func(e *starhost.Event) starhost.Decision {
		if e.Tool == tool || tool == "*" {
			return d
		}
		return starhost.Decision{}
	}}
}

// TestCalls checks the decisions about calls of the client's own tools, in all protocols, streaming
// or not.
func TestCalls(t *testing.T) {
	deny := starhost.Deny("not this")
	modified := starhost.Modify("arguments", json.RawMessage(`{"command":"ls -l"}`))
	tests := []struct {
		name  string
		hooks handlers
		want  map[string]string // the expected replies, by path
	}{
		{"one is denied", guard("Bash", deny), map[string]string{
			messagesPath:  `Let me look.denied by guards: not this [toolu_2 Read {}]`,
			chatPath:      "Let me look.\n\ndenied by guards: not this [call_2 Read {}]",
			responsesPath: `Let me look.denied by guards: not this [call_2 patch {"input":"*** Begin"}] [call_3 local_shell {"type":"exec"}]`,
		}},
		{"all are denied", guard("*", deny), map[string]string{
			messagesPath:  `Let me look.denied by guards: not thisdenied by guards: not this`,
			chatPath:      "Let me look.\n\ndenied by guards: not this\ndenied by guards: not this",
			responsesPath: `Let me look.denied by guards: not thisdenied by guards: not thisdenied by guards: not this`,
		}},
		{"a person would have to agree", guard("Bash", starhost.Ask("who says so?")), map[string]string{
			messagesPath: `Let me look.approval is needed and nobody can give it: who says so? [toolu_2 Read {}]`,
		}},
		{"one is changed", guard("Bash", modified), map[string]string{
			messagesPath:  `Let me look. [toolu_1 Bash {"command":"ls -l"}] [toolu_2 Read {}]`,
			chatPath:      `Let me look. [call_1 Bash {"command":"ls -l"}] [call_2 Read {}]`,
			responsesPath: `Let me look. [call_1 Bash {"command":"ls -l"}]`,
		}},
		{"a text takes no arguments", guard("patch", modified), map[string]string{
			responsesPath: `starhost: a plugin changed the call to one that the client's tool does not take`,
		}},
		{"a text is changed", guard("patch", starhost.Modify("arguments", json.RawMessage(`{"input":"*** End"}`))), map[string]string{
			responsesPath: `*** End`,
		}},
		{"a guard fails", handlers{"pre_tool_call": func(*starhost.Event) starhost.Decision { panic("bug") }}, map[string]string{
			messagesPath: `the guard of guards failed: panic: bug`,
		}},
		{"the text of a reply", handlers{"post_llm_call": func(e *starhost.Event) starhost.Decision {
			return starhost.Modify("response", strings.ToUpper(e.Response))
		}}, map[string]string{
			messagesPath:  `LET ME LOOK. [toolu_1 Bash {"command": "ls"}] [toolu_2 Read {}]`,
			chatPath:      `LET ME LOOK. [call_1 Bash {"command": "ls"}] [call_2 Read {}]`,
			responsesPath: `LET ME LOOK.`,
		}},
	}
	for _, tt := range tests {
		for path, want := range tt.want {
			for _, kind := range []string{"whole", "stream"} {
				t.Run(fmt.Sprint(tt.name, path, " ", kind), func(t *testing.T) {
					script, contentType := reply(t, path, "stream"), streamType
					if kind == "whole" { // the same for a stream and for a whole reply
						script, contentType = wholeOf(t, path), jsonType
					}
					u := newUpstream(t, replies(contentType, script))
					s := serve(t, newHost(t, tt.hooks), proxy.Options{Upstream: u.URL}, "")
					status, _, got := s.ask(t, "POST", path, request(path, kind == "stream"))
					line := decoded(t, path, kind, got)
					if path == responsesPath { // the client's decoder does not know all calls
						checkResponses(t, want, kind, got)
						return
					}
					if status != 200 || line != want && !strings.Contains(line, want) {
						t.Errorf("got %d %s\nwant %s\nin %s", status, line, want, got)
					}
					if path == messagesPath && strings.Contains(tt.name, "all") && !strings.Contains(got, `"stop_reason":"end_turn"`) {
						t.Errorf("got the wrong stop reason in %s", got)
					}
				})
			}
		}
	}
}

// wholeOf returns the reply of the recorded stream in the form that is no stream.
func wholeOf(t *testing.T, path string) string {
	switch path {
	case messagesPath:
		return strings.NewReplacer(` \u00e9 \ud83d\ude00`, "", `"command":"ls", "n":1.0`, `"command": "ls"`).Replace(reply(t, path, "whole"))
	case chatPath:
		return strings.NewReplacer(`"content": null`, `"content": "Let me look."`,
			`"type": "custom", "custom": {"name": "patch", "input": "*** Begin"}`, `"type":"function","function":{"name":"Read","arguments":"{}"}`).
			Replace(reply(t, path, "whole"))
	}
	return reply(t, path, "whole")
}

// TestReplyMasked checks that no string of the old text is left in a reply whose text plugins replaced.
func TestReplyMasked(t *testing.T) {
	h := newHost(t, handlers{"post_llm_call": func(*starhost.Event) starhost.Decision {
		return starhost.Modify("response", "***")
	}})
	for path, body := range map[string]string{
		messagesPath:  `{"content":[{"type":"text","text":"key 1"},{"type":"text","text":"key 2"}],"stop_reason":"end_turn"}`,
		responsesPath: `{"output":[{"type":"message","content":[{"type":"output_text","text":"key 1"},{"type":"output_text","text":"key 2"}]}]}`,
	} {
		s := serve(t, h, proxy.Options{Upstream: newUpstream(t, replies(jsonType, body)).URL}, "")
		status, _, got := s.ask(t, "POST", path, request(path, false))
		if status != 200 || !strings.Contains(got, "***") || strings.Contains(got, "key") {
			t.Errorf("%s: got %d %s", path, status, got)
		}
	}
}

// TestReplyUsage checks which counts of tokens plugins see. Some endpoints of Chat Completions repeat their
// counts by the names of Responses.
func TestReplyUsage(t *testing.T) {
	var got starhost.Usage
	h := newHost(t, handlers{"post_llm_call": func(e *starhost.Event) starhost.Decision {
		got = e.Usage
		return starhost.Decision{}
	}})
	for _, tt := range []struct {
		path, usage string
		want        starhost.Usage
	}{
		{messagesPath, `{"input_tokens":10,"output_tokens":7,"cache_read_input_tokens":3,"cache_creation_input_tokens":2}`, starhost.Usage{Input: 15, Output: 7, Cached: 3}},
		{chatPath, `{"prompt_tokens":10,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4}}`, starhost.Usage{Input: 10, Output: 7, Cached: 4}},
		{chatPath, `{"prompt_tokens":10,"completion_tokens":7,"input_tokens":10,"output_tokens":7,"input_tokens_details":null}`, starhost.Usage{Input: 10, Output: 7}},
		{chatPath, `{"prompt_tokens":"10","completion_tokens":7,"prompt_tokens_details":[1]}`, starhost.Usage{Output: 7}},
		{responsesPath, `{"input_tokens":10,"output_tokens":7,"input_tokens_details":{"cached_tokens":4}}`, starhost.Usage{Input: 10, Output: 7, Cached: 4}},
		{responsesPath, `3`, starhost.Usage{}},
	} {
		s := serve(t, h, proxy.Options{Upstream: newUpstream(t, replies(jsonType, `{"usage":`+tt.usage+`}`)).URL}, "")
		got = starhost.Usage{Input: -1}
		if status, _, text := s.ask(t, "POST", tt.path, request(tt.path, false)); status != 200 || got != tt.want {
			t.Errorf("%s %s: got %+v, want %+v; %d %s", tt.path, tt.usage, got, tt.want, status, text)
		}
	}
}

// TestEmptyChunk checks that the client gets no event from which plugins took everything.
func TestEmptyChunk(t *testing.T) {
	body := chunks(toolCall("0", `"name":"Bash","arguments":""`), toolCall("0", `"arguments":"{}"`))
	u := newUpstream(t, replies(streamType, body))
	s := serve(t, newHost(t, guard("Bash", starhost.Deny("no"))), proxy.Options{Upstream: u.URL}, "")
	_, _, got := s.ask(t, "POST", chatPath, request(chatPath, true))
	if strings.Contains(got, `"delta":{}}`) || strings.Count(got, "data: ") != 3 {
		t.Errorf("got %s", got)
	}
}

// TestAgents checks that guards see which agent sent a request.
func TestAgents(t *testing.T) {
	var got []string
	h := newHost(t, handlers{"pre_tool_call": func(e *starhost.Event) starhost.Decision {
		got = append(got, e.Agent)
		return starhost.Decision{}
	}})
	body := `{"content":[{"type":"tool_use","id":"1","name":"Bash","input":{}}],"stop_reason":"tool_use"}`
	s := serve(t, h, proxy.Options{Upstream: newUpstream(t, replies(jsonType, body)).URL}, "")
	for _, program := range []string{"claude-cli/2.0 (external)", "codex_cli_rs/0.5", "curl/8"} {
		s.ask(t, "POST", messagesPath, request(messagesPath, false), "User-Agent", program)
	}
	if diff := cmp.Diff([]string{"claude-code", "codex", ""}, got); diff != "" {
		t.Error(diff)
	}
}

// TestReasoning checks that the next request contains no reasoning that the endpoint has not stored.
func TestReasoning(t *testing.T) {
	h := newHost(t, guard("Bash", starhost.Decision{Action: starhost.ActionRespond, Result: &starhost.Result{ForLLM: "x"}}))
	for store, want := range map[string]bool{"false": false, "true": true} {
		body := `{"store":` + store + `,"output":[{"type":"reasoning","id":"r"},{"type":"function_call","call_id":"1","name":"Bash","arguments":"{}"}]}`
		u := newUpstream(t, replies(jsonType, body), replies(jsonType, secondReplies[responsesPath]["whole"]))
		s := serve(t, h, proxy.Options{Upstream: u.URL}, "")
		s.ask(t, "POST", responsesPath, request(responsesPath, false))
		if next := u.last(t).body; strings.Contains(next, "reasoning") != want || !strings.Contains(next, `"function_call"`) {
			t.Errorf("store %s: got %s", store, next)
		}
	}
}

// checkResponses checks that the last event of a reply of Responses has the same items as the stream.
func checkResponses(t *testing.T, want, kind, text string) {
	t.Helper()
	var response struct{ Output []json.RawMessage }
	var items []json.RawMessage
	sequence := 0
	if kind == "whole" {
		if err := json.Unmarshal([]byte(text), &response); err != nil {
			t.Fatal(err)
		}
		items = response.Output
	}
	for line := range strings.SplitSeq(text, "\n") {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || kind == "whole" {
			continue
		}
		var e struct {
			Type     string
			Index    int `json:"output_index"`
			Sequence int `json:"sequence_number"`
			Item     json.RawMessage
			Response *struct{ Output []json.RawMessage }
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if e.Sequence != sequence {
			t.Errorf("got the number %d, want %d: %s", e.Sequence, sequence, data)
		}
		sequence++
		if e.Type == "response.output_item.done" {
			if e.Index != len(items) {
				t.Errorf("item %d has the number %d", len(items), e.Index)
			}
			items = append(items, e.Item)
		}
		if e.Type == "response.completed" {
			response.Output = e.Response.Output
		}
	}
	compact := func(list []json.RawMessage) string { b, _ := json.Marshal(list); return string(b) }
	if got := compact(items); got != compact(response.Output) {
		t.Errorf("the items of the events are\n%s\nthose of the last event\n%s", got, compact(response.Output))
	}
	line := ""
	for _, item := range items {
		var i struct {
			Type, Name, Arguments, Input string
			CallID                       string `json:"call_id"`
			Content                      []struct{ Text string }
		}
		if err := json.Unmarshal(item, &i); err != nil {
			t.Fatal(err)
		}
		switch i.Type {
		case "message":
			line += i.Content[0].Text
		case "function_call":
			line += fmt.Sprintf(" [%s %s %s]", i.CallID, i.Name, i.Arguments)
		case "custom_tool_call":
			line += fmt.Sprintf(` [%s %s {"input":%q}]`, i.CallID, i.Name, i.Input)
		case "local_shell_call":
			line += fmt.Sprintf(` [%s local_shell {"type":"exec"}]`, i.CallID)
		}
	}
	if line != want && !strings.Contains(line, want) {
		t.Errorf("got  %s\nwant %s\nin %s", line, want, text)
	}
}

// secondReplies are replies to a request that has the results of calls.
var secondReplies = map[string]map[string]string{
	messagesPath: {
		"whole": `{"content":[{"type":"text","text":"All done."}],"stop_reason":"end_turn","usage":{"input_tokens":20,"output_tokens":7}}`,
		"stream": `event: message_start
data: {"type":"message_start","message":{"id":"msg_2","content":[],"usage":{"input_tokens":20,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"All done."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

`,
	},
	chatPath: {
		"whole": `{"choices":[{"index":0,"message":{"role":"assistant","content":"All done."},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":7,"total_tokens":27}}`,
		"stream": `data: {"id":"c2","choices":[{"index":0,"delta":{"role":"assistant","content":"All "},"finish_reason":null}]}

data: {"id":"c2","choices":[{"index":0,"delta":{"content":"done."},"finish_reason":null}]}

data: {"id":"c2","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"id":"c2","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":7,"total_tokens":27}}

data: [DONE]

`,
	},
	responsesPath: {
		"whole": `{"id":"resp_2","status":"completed","output":[{"type":"message","id":"msg_2","content":[{"type":"output_text","text":"All done."}]}],"usage":{"input_tokens":20,"output_tokens":7}}`,
		"stream": `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_2","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"type":"message","id":"msg_2","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":2,"output_index":0,"item_id":"msg_2","content_index":0,"delta":"All done."}

event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":3,"output_index":0,"item":{"type":"message","id":"msg_2","content":[{"type":"output_text","text":"All done."}]}}

event: response.completed
data: {"type":"response.completed","sequence_number":4,"response":{"id":"resp_2","status":"completed","output":[{"type":"message","id":"msg_2","content":[{"type":"output_text","text":"All done."}]}],"usage":{"input_tokens":20,"output_tokens":7}}}

`,
	},
}

// TestRounds checks that a call of a plugin's tool, and a call that a plugin answers, never reaches the
// client: the model gets the result, and its next reply continues the first one.
func TestRounds(t *testing.T) {
	answered := guard("Bash", starhost.Decision{Action: starhost.ActionRespond, Result: &starhost.Result{ForLLM: "a file"}})
	schema := json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"},"n":{}}}`)
	list := func(context.Context, starhost.ToolCall) (starhost.Result, error) {
		return starhost.Result{ForLLM: "a file"}, nil
	}
	lister := starhost.Tool{Name: "Bash", Description: "Runs.", Parameters: schema, Call: list}
	results := map[string]string{
		messagesPath:  `{"content":[{"content":"a file","tool_use_id":"toolu_1","type":"tool_result"}],"role":"user"}`,
		chatPath:      `{"content":"a file","role":"tool","tool_call_id":"call_1"}`,
		responsesPath: `{"call_id":"call_1","output":"a file","type":"function_call_output"}`,
	}
	want := map[string]string{
		messagesPath: "Let me look.All done.", chatPath: "Let me look.\n\nAll done.", responsesPath: "Let me look.All done.",
	}
	usages := map[string][]string{
		messagesPath: {`"cache_read_input_tokens":3`, `"input_tokens":30`, `"output_tokens":`}, chatPath: {`"total_tokens":42`},
		responsesPath: {`"input_tokens":30`, `"output_tokens":12`},
	}
	for path := range decoders {
		for _, kind := range []string{"whole", "stream"} {
			for _, own := range []bool{true, false} {
				t.Run(fmt.Sprint(path, " ", kind, " own ", own), func(t *testing.T) {
					first, contentType := reply(t, path, "stream"), streamType
					if kind == "whole" {
						first, contentType = wholeOf(t, path), jsonType
					}
					u := newUpstream(t, replies(contentType, first), replies(contentType, secondReplies[path][kind]))
					h, o := newHost(t, answered), proxy.Options{Upstream: u.URL}
					if own {
						h, o.Tools = newHost(t, nil, lister), []string{"B*"}
					}
					s := serve(t, h, o, "")
					status, _, got := s.ask(t, "POST", path, request(path, kind == "stream"))
					if path == responsesPath {
						checkResponses(t, want[path], kind, got)
					} else if line := decoded(t, path, kind, got); status != 200 || line != want[path] {
						t.Errorf("got %d %q, want %q in\n%s", status, line, want[path], got)
					}
					if strings.Contains(got, "Bash") {
						t.Errorf("the client got the call: %s", got)
					}
					isJoined := !strings.Contains(got, `"id":"c2"`) && strings.Count(got, `"role"`) == 1
					if path == chatPath && kind == "stream" && !isJoined {
						t.Errorf("got two ids or roles: %s", got)
					}
					for _, usage := range usages[path] {
						if !strings.Contains(got, usage) {
							t.Errorf("got no %s in\n%s", usage, got)
						}
					}
					all := u.requests()
					if len(all) != 2 || !json.Valid([]byte(all[1].body)) {
						t.Fatalf("got %d requests, the last %v", len(all), all)
					}
					next := all[1].body
					hasRest := strings.Contains(next, "call_2") || strings.Contains(next, "toolu_2")
					if hasRest || !strings.Contains(next, results[path]) || !strings.Contains(next, "Let me look.") {
						t.Errorf("the second request is %s", next)
					}
					if own != strings.Contains(all[0].body, "Runs.") {
						t.Errorf("the first request is %s", all[0].body)
					}
				})
			}
		}
	}
}

// TestReplyID checks that a stream of several replies has one id, and that the client's next request
// continues the endpoint's last reply.
func TestReplyID(t *testing.T) {
	second := secondReplies[responsesPath]["stream"]
	u := newUpstream(t, replies(streamType, reply(t, responsesPath, "stream")), replies(streamType, second))
	h := newHost(t, guard("Bash", starhost.Decision{Action: starhost.ActionRespond, Result: &starhost.Result{ForLLM: "x"}}))
	s := serve(t, h, proxy.Options{Upstream: u.URL}, "")
	_, _, got := s.ask(t, "POST", responsesPath, request(responsesPath, true))
	if strings.Contains(got, "resp_2") || strings.Count(got, `"id":"resp_1"`) != 2 {
		t.Errorf("got %s", got)
	}
	s.ask(t, "POST", responsesPath, `{"input":"go on", "previous_response_id":"resp_1"}`)
	if got, want := u.last(t).body, `{"input":"go on", "previous_response_id":"resp_2"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOwnTools checks which tools of plugins the proxy offers, and that the number of rounds has a limit.
func TestOwnTools(t *testing.T) {
	calls := 0
	tool := func(name string) starhost.Tool {
		call := func(context.Context, starhost.ToolCall) (starhost.Result, error) {
			calls++
			return starhost.Result{ForLLM: "again", IsError: true}, nil
		}
		return starhost.Tool{Name: name, Description: "A tool.", Call: call}
	}
	h := newHost(t, nil, tool("Bash"), tool("page"), tool("other"))
	body := `{"messages":[{"role":"user","content":"a"}],"tools":[{"name":"Bash","input_schema":{}}]}`
	got, _ := sent(t, h, proxy.Options{Tools: []string{"Ba*", "page"}}, messagesPath, body)
	want := `{"messages":[{"role":"user","content":"a"}],"tools":[{"name":"Bash","input_schema":{}},{"description":"A tool.","input_schema":{"type":"object","properties":{},"additionalProperties":false},"name":"page"}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	u := newUpstream(t, replies(jsonType, `{"content":[{"type":"tool_use","id":"t","name":"page","input":{}}],"stop_reason":"tool_use"}`))
	s := serve(t, h, proxy.Options{Upstream: u.URL, Tools: []string{"page"}, Rounds: 3}, "")
	calls = 0
	_, _, answer := s.ask(t, "POST", messagesPath, body)
	if calls != 2 || len(u.requests()) != 3 || !strings.Contains(answer, "limit [limits] rounds") || strings.Contains(answer, "tool_use") {
		t.Errorf("got %d calls, %d requests, %s", calls, len(u.requests()), answer)
	}
	if next := u.last(t).body; strings.Count(next, `"is_error":true`) != 2 {
		t.Errorf("got %s", next)
	}
}

// TestAbort checks the two forms in which a client hears of an abort: a status before the first byte, and an
// event after it.
func TestAbort(t *testing.T) {
	stop := starhost.Decision{Action: starhost.ActionAbort, Reason: "enough"}
	events := map[string]string{
		messagesPath:  "event: error\ndata: {\"error\":{\"message\":\"enough\",\"type\":\"permission_error\"},\"type\":\"error\"}\n\n",
		chatPath:      "data: {\"error\":{\"code\":\"starhost\",\"message\":\"enough\",\"param\":null,\"type\":\"permission_error\"}}\n\n",
		responsesPath: "event: error\ndata: {\"code\":\"starhost\",\"message\":\"enough\",\"param\":null,\"sequence_number\":9,\"type\":\"error\"}\n\n",
	}
	for path, event := range events {
		u := newUpstream(t, replies(streamType, reply(t, path, "stream")))
		s := serve(t, newHost(t, guard("Bash", stop)), proxy.Options{Upstream: u.URL}, "")
		status, _, got := s.ask(t, "POST", path, request(path, true))
		before, _, _ := strings.Cut(got, event)
		if status != 200 || !strings.HasSuffix(got, event) || strings.Contains(got, "Bash") || !strings.Contains(before, "look.") {
			t.Errorf("%s: got %d\n%s", path, status, got)
		}
		early := newHost(t, handlers{"post_llm_call": func(*starhost.Event) starhost.Decision { return stop }})
		for _, kind := range []string{"stream", "whole"} {
			contentType := streamType
			if kind == "whole" {
				contentType = jsonType
			}
			u = newUpstream(t, replies(contentType, reply(t, path, kind)))
			s = serve(t, early, proxy.Options{Upstream: u.URL}, "")
			status, header, got := s.ask(t, "POST", path, request(path, kind == "stream"))
			if status != 403 || header.Get("Content-Type") != jsonType || !strings.Contains(got, "enough") {
				t.Errorf("%s %s: got %d %s", path, kind, status, got)
			}
		}
	}
}

// TestLostGuard checks that no call passes while a guard does not load.
func TestLostGuard(t *testing.T) {
	h := newHost(t, nil)
	h.Lose(host.Guard{Err: fmt.Errorf("g.star is broken")})
	plugins := func() *host.Host { return h }
	for path := range decoders {
		u := newUpstream(t, replies(streamType, reply(t, path, "stream")))
		s := serve(t, nil, proxy.Options{Upstream: u.URL, Host: plugins}, "")
		if _, _, got := s.ask(t, "POST", path, request(path, true)); strings.Contains(got, "Bash") || !strings.Contains(got, "starhost: g.star is broken") {
			t.Errorf("%s: got %s", path, got)
		}
	}
}

// TestGoneGuard checks that no call passes in a session whose guard was removed.
func TestGoneGuard(t *testing.T) {
	h := newHost(t, guard("other", starhost.Deny("no")))
	u := newUpstream(t, replies(streamType, reply(t, chatPath, "stream")))
	s := serve(t, nil, proxy.Options{Upstream: u.URL, Host: func() *host.Host { return h }}, "")
	for _, isGone := range []bool{false, true} {
		if isGone {
			h = newHost(t, nil)
		}
		if _, _, got := s.ask(t, "POST", chatPath, request(chatPath, true)); strings.Contains(got, "Bash") == isGone {
			t.Errorf("gone %v: got %s", isGone, got)
		}
	}
}

// TestEnd checks that turn_end fires for a reply without calls for the client.
func TestEnd(t *testing.T) {
	var ends []string
	h := newHost(t, handlers{"turn_end": func(e *starhost.Event) starhost.Decision {
		ends = append(ends, fmt.Sprint(e.UserMessage, ": ", e.Response, " ", e.Completed))
		return starhost.Decision{}
	}})
	for _, script := range []string{reply(t, messagesPath, "stream"), secondReplies[messagesPath]["stream"]} {
		u := newUpstream(t, replies(streamType, script))
		s := serve(t, h, proxy.Options{Upstream: u.URL}, "")
		s.ask(t, "POST", messagesPath, request(messagesPath, true))
	}
	if diff := cmp.Diff([]string{"list files: All done. true"}, ends); diff != "" {
		t.Error(diff)
	}
}

// TestComputerActions checks that a call of the computer with several actions reaches guards and the client
// with all its actions, and that guards can change them.
func TestComputerActions(t *testing.T) {
	const actions = `[{"type":"type","text":"a"},{"type":"click","x":1}]`
	item := func(more string) string {
		return `{"type":"computer_call","id":"i","call_id":"c",` + more + `"actions":` + actions + `,"status":"completed"}`
	}
	change := func(arguments string) starhost.Decision {
		return starhost.Modify("arguments", json.RawMessage(arguments))
	}
	tests := []struct {
		name, item string
		decision   starhost.Decision
		want       string
	}{
		{"passes", item(""), starhost.Decision{}, `"actions":` + actions},
		{"beside none", item(`"action":null,`), starhost.Decision{}, `"actions":` + actions},
		{"changed", item(""), change(`{"actions":[{"type":"wait"}]}`), `"actions":[{"type":"wait"}]`},
		{"changed to another form", item(""), change(`{"actions":[],"action":{}}`), "one that the client's tool does not take"},
		{"denied", item(""), starhost.Deny("not now"), "not now"},
		{"one action", `{"type":"computer_call","id":"i","call_id":"c","action":{"type":"wait"}}`, starhost.Decision{}, `"action":{"type":"wait"}`},
	}
	for _, tt := range tests {
		var seen []string
		h := newHost(t, handlers{"pre_tool_call": func(e *starhost.Event) starhost.Decision {
			seen = append(seen, e.Tool+" "+string(e.Arguments))
			return tt.decision
		}})
		whole := `{"id":"r","output":[` + tt.item + `]}`
		stream := named(`"type":"response.output_item.added","output_index":0,"item":`+tt.item,
			`"type":"response.output_item.done","output_index":0,"item":`+tt.item, `"type":"response.completed","response":`+whole)
		for kind, body := range map[string]string{jsonType: whole, streamType: stream} {
			u := newUpstream(t, replies(kind, body))
			s := serve(t, h, proxy.Options{Upstream: u.URL}, "")
			status, _, got := s.ask(t, "POST", responsesPath, request(responsesPath, kind == streamType))
			hasText := strings.Contains(got, `"a"`)
			if status != 200 || !strings.Contains(got, tt.want) || hasText != strings.Contains(tt.want, `"a"`) {
				t.Errorf("%s, %s: got %d %s, want %s", tt.name, kind, status, got, tt.want)
			}
		}
		want := `computer {"actions":` + actions + `}`
		if !strings.Contains(tt.item, "actions") {
			want = `computer {"type":"wait"}`
		}
		if len(seen) == 0 || slices.ContainsFunc(seen, func(s string) bool { return s != want }) {
			t.Errorf("%s: the guard saw %q, want %s", tt.name, seen, want)
		}
	}
}
