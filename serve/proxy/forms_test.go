package proxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/proxy"
)

// evil are arguments of a call, as JSON in a string, which the guard of TestHiddenCalls denies.
const evil = `"{\"command\":\"EVIL\"}"`

// chunks returns the stream of a chat with one chunk for each text of choices.
func chunks(choices ...string) string {
	var b strings.Builder
	for _, c := range choices {
		fmt.Fprintf(&b, "data: {\"id\":\"c\",\"choices\":[{%s}]}\n\n", c)
	}
	return b.String() + "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"
}

// toolCall returns a delta of a chat that has a part of a call.
func toolCall(index, function string) string {
	return fmt.Sprintf(`"index":0,"delta":{"tool_calls":[{"index":%s,"id":"1","function":{%s}}]}`, index, function)
}

// message returns a chat reply that is no stream, with a message.
func message(text string) string {
	return `{"choices":[{"index":0,"message":{` + text + `},"finish_reason":"tool_calls"}]}`
}

// named returns a stream with an event for each object. The name of an event is the type of its object.
func named(objects ...string) string {
	var b strings.Builder
	for _, o := range objects {
		_, kind, _ := strings.Cut(o, `"type":"`)
		kind, _, _ = strings.Cut(kind, `"`)
		fmt.Fprintf(&b, "event: %s\ndata: {%s}\n\n", kind, o)
	}
	return b.String()
}

// hiddenCalls are replies in which some client finds a call with the arguments evil.
func hiddenCalls() map[string][]hidden {
	const (
		whole = `"tool_calls":[{"id":"1","type":"function","function":{"name":"Bash","arguments":` + evil + `}}]`
		bash  = `"name":"Bash","arguments":` + evil
		begin = `"name":"Bash","arguments":"{\"command\":\""`
		use   = `"content_block":{"type":"tool_use","id":"t","name":"Bash","input":%s}`
		start = `"type":"message_start","message":{"id":"m","content":[]}`
		stop  = `"type":"message_stop"`
		item  = `{"type":"function_call","id":"f","call_id":"c","name":"Bash","arguments":%s}`
		text  = `{"type":"message","id":"m","content":[]}`

		oneAction  = `{"type":"computer_call","id":"i","call_id":"c","action":{"type":"click"}}`
		twoActions = `{"type":"computer_call","id":"i","call_id":"c","action":{"type":"click"},"actions":[{"type":"type","text":"EVIL"}]}`
	)
	hiddenUse := strings.Replace(fmt.Sprintf(use, `{}`), `"id"`, `"__json_buf":`+evil+`,"id"`, 1)
	evilUse, openUse := fmt.Sprintf(use, `{"command":"EVIL"}`), fmt.Sprintf(use, `{}`)
	partial := func(index, text string) string {
		return `"type":"content_block_delta","index":` + index + `,"delta":{"type":"input_json_delta","partial_json":` + text + `}`
	}
	evilItem, openItem, goodItem := fmt.Sprintf(item, evil), fmt.Sprintf(item, `""`), fmt.Sprintf(item, `"{}"`)
	added := func(i int, item string) string {
		return fmt.Sprintf(`"type":"response.output_item.added","output_index":%d,"item":%s`, i, item)
	}
	ended := func(i int, item string) string {
		return fmt.Sprintf(`"type":"response.output_item.done","output_index":%d,"item":%s`, i, item)
	}
	completed := func(items string) string {
		return `"type":"response.completed","response":{"id":"r","output":[` + items + `]}`
	}
	delta := `"type":"response.function_call_arguments.delta","output_index":0,"delta":` + evil
	return map[string][]hidden{
		chatPath: {
			{name: "a call", body: chunks(toolCall("0", bash))},
			{name: "no space", body: strings.ReplaceAll(chunks(toolCall("0", bash)), "data: ", "data:")},
			{name: "CRLF", body: strings.ReplaceAll(chunks(toolCall("0", bash)), "\n", "\r\n")},
			{name: "CR", body: strings.ReplaceAll(chunks(toolCall("0", bash)), "\n", "\r")},
			{name: "two line ends", body: strings.ReplaceAll(chunks(toolCall("0", bash)), "\n\n", "\n\r\n")},
			{name: "many lines of data", body: strings.ReplaceAll(chunks(toolCall("0", bash)), `{"index"`, "\ndata: {\"index\"")},
			{name: "no end", body: strings.TrimRight(strings.Split(chunks(toolCall("0", bash)), "data: {\"choices\"")[0], "\n")},
			{name: "a mark in an event", body: ": x\n\ufeff" + chunks(toolCall("0", bash))},
			{name: "an event error", body: "event: error\n" + chunks(toolCall("0", bash))},
			{name: "an error beside it", body: strings.Replace(chunks(toolCall("0", bash)), `{"id"`, `{"error":{},"id"`, 1)},
			{name: "an index of text", body: chunks(toolCall("0", begin), toolCall(`"0"`, `"arguments":"EVIL\"}"`))},
			{name: "no index", body: chunks(toolCall("0", begin), toolCall("null", `"arguments":"echo "`), toolCall("0", `"arguments":"EVIL\"}"`))},
			{name: "a list of arguments", body: chunks(toolCall("0", begin), toolCall("0", `"arguments":["EVIL "]`), toolCall("0", `"arguments":"ls\"}"`))},
			{name: "a list as the name", body: chunks(toolCall("0", `"name":"Read","arguments":`+evil), toolCall("0", `"name":["Bash"]`))},
			{name: "in a member of the client", body: chunks(strings.Replace(toolCall("0", `"name":"Bash","arguments":"{}"`), `"function"`, `"x":`+evil+`,"function"`, 1))},
			{name: "in a member of the function", body: chunks(toolCall("0", `"name":"Bash","arguments":"{}","parsed_arguments":{"command":"EVIL"}`))},
			{name: "in a member of the old call", body: chunks(`"index":0,"delta":{"function_call":{"name":"Bash","arguments":"{}","x":` + evil + `}}`)},
			{name: "a message", body: chunks(`"index":0,"message":{` + whole + `}`)},
			{name: "a prototype", body: chunks(`"index":0,"delta":{"content":"a","__proto__":{` + whole + `}}`)},
			{name: "the second choice", body: chunks(strings.Replace(toolCall("0", bash), `"index":0`, `"index":1`, 1))},
			{name: "a choice of text", body: chunks(toolCall("0", begin), strings.Replace(toolCall("0", `"arguments":"EVIL\"}"`), `"index":0`, `"index":"0"`, 1))},
			{name: "function_call", body: chunks(`"index":0,"delta":{"function_call":{` + bash + `}}`)},
			{name: "an object of calls", body: chunks(`"index":0,"delta":{"tool_calls":{"0":{"index":0,"function":{` + bash + `}}}}`)},
			{name: "behind the end", body: chunks(`"index":0,"delta":{},"finish_reason":"stop"`, toolCall("0", bash))},
			{name: "a function and a tool", body: chunks(toolCall("0", bash+`},"custom":{"name":"Read","input":"x"`))},
			{name: "another name in case", body: strings.Replace(chunks(toolCall("0", bash)), "tool_calls", "Tool_calls", 1)},
			{name: "status 202", status: 202, body: chunks(toolCall("0", bash))},
			{name: "two encodings", encoding: []string{"identity", "gzip"}, body: chunks(toolCall("0", bash))},
			{name: "a stream of JSON", body: message(whole)},
			{name: "JSON", kind: jsonType, body: message(whole)},
			{name: "a stream as JSON", kind: jsonType, body: chunks(toolCall("0", bash))},
			{name: "no type", kind: "none", body: message(whole)},
			{name: "status 201", status: 201, kind: jsonType, body: message(whole)},
			{name: "another type", kind: jsonType, body: message(strings.Replace(whole, `"function"`, `"weird"`, 1))},
			{name: "an object of choices", kind: jsonType, body: `{"choices":{"0":{"message":{` + whole + `}}}}`},
			{name: "an object of calls", kind: jsonType, body: message(`"tool_calls":{"0":{"function":{` + bash + `}}}`)},
			{name: "arguments in an object", kind: jsonType, body: message(strings.Replace(whole, evil, `{"command":"EVIL"}`, 1))},
			{name: "a list as the input", kind: jsonType, body: message(`"tool_calls":[{"type":"custom","custom":{"name":"Bash","input":["EVIL"]}}]`)},
			{name: "a call without a part", kind: jsonType, body: message(`"tool_calls":[{"type":"function","name":"Bash","arguments":` + evil + `}]`)},
			{name: "another name in case", kind: jsonType, body: message(strings.Replace(whole, "tool_calls", "toolſCalls", 1) + `,"Tool_Calls":[{` + bash + `}]`)},
			{name: "function_call", kind: jsonType, body: message(`"function_call":{` + bash + `}`)},
			{name: "the second choice", kind: jsonType, body: `{"choices":[{"index":0,"message":{"content":"a"}},{"index":1,"message":{` + whole + `}}]}`},
		},
		messagesPath: {
			{name: "a call", body: named(start, `"type":"content_block_start","index":0,`+evilUse, stop)},
			{name: "in the start", body: named(`"type":"message_start","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"EVIL"}}]}`, stop)},
			{name: "in a member of the client", body: named(start, `"type":"content_block_start","index":0,`+hiddenUse, partial("0", `""`),
				`"type":"content_block_stop","index":0`, stop)},
			{name: "in a member of the client, JSON", kind: jsonType, body: `{"content":[` + strings.TrimPrefix(hiddenUse, `"content_block":`) + `]}`},
			{name: "no index", body: named(start, `"type":"content_block_start",`+evilUse, stop)},
			{name: "an index of text", body: named(start, `"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}`,
				`"type":"content_block_start","index":1,`+openUse, partial("1", `"{\"command\":\""`), partial(`"1"`, `"EVIL "`), partial("1", `"ls\"}"`), stop)},
			{name: "a list as a part", body: named(start, `"type":"content_block_start","index":0,`+openUse, partial("0", `"{\"command\":\""`), partial("0", `["EVIL "]`),
				partial("0", `"ls\"}"`), stop)},
			{name: "another type", body: named(start) + "event: content_block_start\ndata: {\"type\":\"ping\",\"index\":0," + evilUse + "}\n\n" + named(stop)},
			{name: "no type", body: named(start) + "event: content_block_start\ndata: {\"index\":0," + evilUse + "}\n\n" + named(stop)},
			{name: "the index again", body: named(start, `"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}`,
				`"type":"content_block_start","index":0,`+evilUse, stop)},
			{name: "behind the end", body: named(start, stop, `"type":"content_block_start","index":0,`+evilUse)},
			{name: "an object of blocks", kind: jsonType, body: `{"content":{"0":{"type":"tool_use","name":"Bash","input":{"command":"EVIL"}}}}`},
			{name: "JSON", kind: jsonType, body: `{"content":[{"type":"tool_use","name":"Bash","input":{"command":"EVIL"}}]}`},
		},
		responsesPath: {
			{name: "a call", body: named(added(0, openItem), delta, ended(0, evilItem), completed(evilItem))},
			{name: "at the end alone", body: named(completed(evilItem))},
			{name: "at the end, behind a text", body: named(added(0, text), ended(0, text), completed(text+","+evilItem))},
			{name: "another call at the end", body: named(added(0, openItem), ended(0, goodItem), completed(evilItem))},
			{name: "other parts", body: named(added(0, openItem), delta, ended(0, goodItem), completed(""))},
			{name: "another start", body: named(added(0, evilItem), ended(0, goodItem), completed(""))},
			{name: "another type at the start", body: named(added(0, evilItem), ended(0, text), completed(""))},
			{name: "in a member of the client", body: named(added(0, strings.Replace(openItem, `"id"`, `"x":`+evil+`,"id"`, 1)), ended(0, goodItem), completed(""))},
			{name: "in a member at the end", body: named(added(0, openItem), ended(0, strings.Replace(goodItem, `"id"`, `"x":`+evil+`,"id"`, 1)), completed(""))},
			{name: "two ends", body: named(added(0, openItem), ended(0, evilItem), ended(0, goodItem), completed(""))},
			{name: "no end", body: named(added(0, openItem), delta, completed(""))},
			{name: "no index", body: named(strings.Replace(added(0, openItem), `"output_index":0,`, "", 1), strings.Replace(ended(0, evilItem), `"output_index":0,`, "", 1), completed(""))},
			{name: "behind an item without an end", body: named(added(0, text), added(1, openItem), ended(1, evilItem), added(2, openItem), ended(2, goodItem), completed(""))},
			{name: "at the start of the reply", body: named(`"type":"response.created","response":{"output":[`+evilItem+`]}`, completed(""))},
			{name: "an object of items", kind: jsonType, body: `{"output":{"0":` + evilItem + `}}`},
			{name: "arguments in an object", kind: jsonType, body: `{"output":[` + strings.Replace(evilItem, evil, `{"command":"EVIL"}`, 1) + `]}`},
			{name: "JSON", kind: jsonType, body: `{"output":[` + evilItem + `]}`},
			{name: "actions beside an action", kind: jsonType, body: `{"output":[` + twoActions + `]}`},
			{name: "actions beside an action, stream", body: named(added(0, twoActions), ended(0, twoActions), completed(twoActions))},
			{name: "actions at the end alone", body: named(added(0, oneAction), ended(0, oneAction), completed(strings.ReplaceAll(twoActions, `"action"`, `"x"`)))},
			{name: "actions in another case", kind: jsonType, body: `{"output":[` + strings.ReplaceAll(twoActions, "actions", "Actions") + `]}`},
		},
	}
}

// A hidden is a reply with a call that a guard could miss.
type hidden struct {
	name, kind, body string
	status           int
	encoding         []string
}

// TestHiddenCalls checks that an endpoint cannot hide from guards a call that some client finds.
func TestHiddenCalls(t *testing.T) {
	h := newHost(t, handlers{"pre_tool_call": func(e *starhost.Event) starhost.Decision {
		if e.Tool == "Bash" && strings.HasPrefix(strings.TrimLeft(string(e.Arguments), `{"comandiput:[`), "EVIL") {
			return starhost.Deny("no")
		}
		return starhost.Decision{}
	}})
	for path, list := range hiddenCalls() {
		for _, tt := range list {
			u := newUpstream(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil // otherwise net/http would guess one
				switch tt.kind {
				case "":
					w.Header().Set("Content-Type", streamType)
				case jsonType:
					w.Header().Set("Content-Type", jsonType)
				}
				for _, e := range tt.encoding {
					w.Header().Add("Content-Encoding", e)
				}
				w.WriteHeader(max(tt.status, 200))
				_, _ = w.Write([]byte(tt.body))
			})
			s := serve(t, h, proxy.Options{Upstream: u.URL}, "")
			status, _, got := s.ask(t, "POST", path, request(path, tt.kind == ""))
			if strings.Contains(got, "EVIL") {
				t.Errorf("%s, %s: got %d %s", path, tt.name, status, got)
			}
		}
	}
}

// FuzzHiddenCalls lets a client read any reply behind a proxy whose guard denies all calls. The client must
// find no call, and the proxy must not panic.
func FuzzHiddenCalls(f *testing.F) {
	for path, list := range hiddenCalls() {
		for _, tt := range list {
			f.Add(path, tt.body)
		}
		f.Add(path, reply(f, path, "whole"))
		f.Add(path, strings.ReplaceAll(reply(f, path, "stream"), "\x00", ""))
	}
	u := newUpstream(f, replies(jsonType, ""))
	s := serve(f, newHost(f, guard("*", starhost.Deny("no"))), proxy.Options{Upstream: u.URL}, "")
	f.Fuzz(func(t *testing.T, path, answer string) {
		if _, ok := decoders[path]; !ok {
			path = chatPath
		}
		kind, form := streamType, "stream"
		if strings.HasPrefix(strings.TrimSpace(answer), "{") {
			kind, form = jsonType, "whole"
		}
		u.mu.Lock()
		u.seen, u.scripts = nil, []http.HandlerFunc{replies(kind, strings.ReplaceAll(answer, "\x00", ""))}
		u.mu.Unlock()
		status, _, got := s.ask(t, "POST", path, request(path, form == "stream"))
		d, err := decode(path, form, got)
		if r, _ := d.Reply(); status == http.StatusOK && err == nil && len(r.ToolCalls) > 0 {
			t.Errorf("%s: the client finds %+v in\n%s", path, r.ToolCalls, got)
		}
		if strings.Contains(s.log.String(), "panic") {
			t.Fatalf("got %s", s.log)
		}
		s.log.clear()
	})
}

// TestRedirect checks that an endpoint cannot redirect a client to an address without guards.
func TestRedirect(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
	})
	for want, h := range map[int]*host.Host{502: newHost(t, guard("*", starhost.Deny("no"))), 307: newHost(t, nil)} {
		s := serve(t, h, proxy.Options{Upstream: u.URL}, "")
		r, _ := http.NewRequestWithContext(t.Context(), "POST", s.url+chatPath, strings.NewReader(request(chatPath, false)))
		a, err := testClient.Transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != want {
			t.Errorf("got %d, want %d", a.StatusCode, want)
		}
	}
}

// TestReplyBounds checks the limits of replies that plugins must see whole.
func TestReplyBounds(t *testing.T) {
	const over = 17 << 20
	words := chunks(`"index":0,"delta":{"content":"` + strings.Repeat("w", 1<<20) + `"}`)
	words = strings.Repeat(words[:strings.Index(words, "\n\n")+2], over>>20)
	tests := []struct{ name, kind, body, want string }{
		{"a line without an end", streamType, strings.Repeat("x", over), "502 starhost: plugins cannot read the reply: got an event of more than 16777216 bytes"},
		{"comments without an end", streamType, strings.Repeat(": x\n", over/4), "502 starhost: plugins cannot read the reply: got an event of more than 16777216 bytes"},
		{"a text", streamType, words, "200 starhost: plugins cannot read the reply: got more than 16777216 bytes"},
		{"JSON", jsonType, strings.Repeat(" ", over), "502 starhost: plugins cannot read the reply: got more than 16777216 bytes"},
		{"many values", streamType, chunks(toolCall("0", `"name":"Bash"`), `"index":0,"x":[`+strings.Repeat("[],", 1<<20)+`1]`), "502 starhost: plugins cannot read the reply: a call of a tool has more than"},
	}
	for _, tt := range tests {
		u := newUpstream(t, replies(tt.kind, tt.body))
		s := serve(t, newHost(t, guard("*", starhost.Deny("no"))), proxy.Options{Upstream: u.URL}, "")
		status, _, got := s.ask(t, "POST", chatPath, request(chatPath, true))
		number, want, _ := strings.Cut(tt.want, " ")
		if fmt.Sprint(status) != number || !strings.Contains(got, want) {
			t.Errorf("%s: got %d %.100s … %s", tt.name, status, got, got[max(0, len(got)-200):])
		}
		if left := s.SetReplies(0); left != 0 {
			t.Errorf("%s: %d bytes are left after the request", tt.name, left)
		}
	}
	for _, tt := range [][2]string{
		{jsonType, message(`"content":"a"`)}, {streamType, chunks(toolCall("0", `"name":"Bash","arguments":"{}"`))},
		{streamType, chunks(`"index":0,"delta":{"content":"a text that no guard hears"}`)},
	} {
		kind, body := tt[0], tt[1]
		u := newUpstream(t, replies(kind, body))
		s := serve(t, newHost(t, guard("*", starhost.Decision{})), proxy.Options{Upstream: u.URL}, "")
		s.SetReplies(16*proxy.MaxBody - 10)
		if status, _, got := s.ask(t, "POST", chatPath, request(chatPath, true)); status != 503 || !strings.Contains(got, "too many replies at once") {
			t.Errorf("%s: got %d %s, want 503", kind, status, got)
		}
		if left := s.SetReplies(0); left != 16*proxy.MaxBody-10 {
			t.Errorf("%s: got %d bytes after the request, want those before it", kind, left)
		}
		if status, _, got := s.ask(t, "POST", chatPath, request(chatPath, true)); status != 200 || got != body {
			t.Errorf("%s: got %d %s", kind, status, got)
		}
	}
}
