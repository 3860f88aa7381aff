//go:build unix

package agents

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A reply is one reply of the fake model: a text, or calls of tools.
type reply struct {
	text  string
	calls []call
	// before runs before the model replies. Nil runs nothing.
	before func()
}

type call struct {
	tool string
	args map[string]any
}

// A model is a fake model on loopback in the dialects of Anthropic, OpenAI (chat and responses) and
// Gemini. It gives the scripted replies to requests that offer tools, one after the other, and then
// the text "done". Requests without tools, as for titles, get the text "ok".
type model struct {
	*httptest.Server
	mu       sync.Mutex
	replies  []reply
	requests []string // bodies of the requests with tools
	others   []string // methods and paths of all requests
	asked    int      // calls in the replies so far
	// before may change the next replies for a request. Nil changes nothing.
	before func(body string)
}

func startModel(t *testing.T, replies []reply) *model {
	t.Helper()
	m := &model{replies: replies}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(func() {
		m.CloseClientConnections()
		m.Close()
	})
	return m
}

// seen returns the bodies of the requests with tools.
func (m *model) seen() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.requests...)
}

// next returns the reply to a request and the reply's number.
func (m *model) next(r *http.Request, body []byte) (reply, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.others = append(m.others, r.Method+" "+r.URL.Path)
	var in struct{ Tools []json.RawMessage }
	if json.Unmarshal(body, &in) != nil || len(in.Tools) == 0 {
		return reply{text: "ok"}, 0
	}
	m.requests = append(m.requests, string(body))
	n := len(m.requests)
	if m.before != nil && len(m.replies) > 0 {
		m.before(string(body))
	}
	if len(m.replies) == 0 {
		return reply{text: "done"}, n
	}
	out := m.replies[0]
	m.replies = m.replies[1:]
	m.asked += len(out.calls)
	return out, n
}

const maxBody = 64 << 20

func (m *model) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	path := r.URL.Path
	dialect := map[string]func(io.Writer, reply, int, bool){
		"/v1/messages": writeAnthropic, "/v1/chat/completions": writeChat, "/v1/responses": writeResponses,
	}[path]
	if strings.Contains(path, "enerateContent") {
		dialect = writeGemini
	}
	if err != nil || r.Method != http.MethodPost || dialect == nil {
		m.mu.Lock()
		m.others = append(m.others, r.Method+" "+r.Host+path)
		m.mu.Unlock()
		http.Error(w, `{"error":{"message":"the fake model has no such path"}}`, http.StatusNotFound)
		return
	}
	var in struct{ Stream bool }
	_ = json.Unmarshal(body, &in) // a request that is no JSON gets the reply "ok"
	stream := in.Stream || strings.Contains(path, "streamGenerateContent")
	w.Header().Set("Content-Type", "application/json")
	if stream {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	out, n := m.next(r, body)
	if out.before != nil {
		out.before()
	}
	dialect(w, out, n, stream)
}

type dict = map[string]any

// event writes a server-sent event. Its name is "" for a dialect without names.
func event(w io.Writer, name string, data any) {
	if name != "" {
		fmt.Fprintf(w, "event: %s\n", name)
	}
	text, _ := json.Marshal(data) // dicts of texts, numbers, lists and dicts
	fmt.Fprintf(w, "data: %s\n\n", text)
}

func jsonText(v any) string {
	text, _ := json.Marshal(v) // dicts of texts, numbers, lists and dicts
	return string(text)
}

func callID(n, i int) string { return fmt.Sprintf("call_%d_%d", n, i) }

// writeAnthropic writes a reply of POST /v1/messages.
func writeAnthropic(w io.Writer, r reply, n int, stream bool) {
	usage := dict{"input_tokens": 10, "output_tokens": 5}
	stop, content := "end_turn", []any{}
	if r.text != "" {
		content = append(content, dict{"type": "text", "text": r.text})
	}
	for i, c := range r.calls {
		stop = "tool_use"
		content = append(content, dict{"type": "tool_use", "id": "tool" + callID(n, i), "name": c.tool, "input": c.args})
	}
	message := dict{
		"id": fmt.Sprint("msg_", n), "type": "message", "role": "assistant", "model": "fake", "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": usage,
	}
	if !stream {
		_, _ = io.WriteString(w, jsonText(message))
		return
	}
	message["content"], message["stop_reason"] = []any{}, nil
	event(w, "message_start", dict{"type": "message_start", "message": message})
	for i, block := range content {
		b := block.(dict)
		begin, delta := dict{"type": "text", "text": ""}, dict{"type": "text_delta", "text": b["text"]}
		if b["type"] == "tool_use" {
			begin = dict{"type": "tool_use", "id": b["id"], "name": b["name"], "input": dict{}}
			delta = dict{"type": "input_json_delta", "partial_json": jsonText(b["input"])}
		}
		event(w, "content_block_start", dict{"type": "content_block_start", "index": i, "content_block": begin})
		event(w, "content_block_delta", dict{"type": "content_block_delta", "index": i, "delta": delta})
		event(w, "content_block_stop", dict{"type": "content_block_stop", "index": i})
	}
	event(w, "message_delta", dict{"type": "message_delta", "delta": dict{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	event(w, "message_stop", dict{"type": "message_stop"})
}

// writeChat writes a reply of POST /v1/chat/completions.
func writeChat(w io.Writer, r reply, n int, stream bool) {
	usage := dict{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
	message, finish := dict{"role": "assistant", "content": r.text}, "stop"
	var calls []any
	for i, c := range r.calls {
		finish = "tool_calls"
		calls = append(calls, dict{
			"index": i, "id": callID(n, i), "type": "function", "function": dict{"name": c.tool, "arguments": jsonText(c.args)},
		})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	part := func(kind string, choices ...any) dict {
		return dict{"id": fmt.Sprint("chat_", n), "object": kind, "created": 1, "model": "fake", "choices": choices}
	}
	if !stream {
		out := part("chat.completion", dict{"index": 0, "message": message, "finish_reason": finish})
		out["usage"] = usage
		_, _ = io.WriteString(w, jsonText(out))
		return
	}
	event(w, "", part("chat.completion.chunk", dict{"index": 0, "delta": message, "finish_reason": nil}))
	event(w, "", part("chat.completion.chunk", dict{"index": 0, "delta": dict{}, "finish_reason": finish}))
	last := part("chat.completion.chunk")
	last["choices"], last["usage"] = []any{}, usage
	event(w, "", last)
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// writeResponses writes a reply of POST /v1/responses.
func writeResponses(w io.Writer, r reply, n int, stream bool) {
	items := []any{}
	if r.text != "" {
		items = append(items, dict{
			"type": "message", "id": fmt.Sprint("item_", n), "role": "assistant", "status": "completed",
			"content": []any{dict{"type": "output_text", "text": r.text, "annotations": []any{}}},
		})
	}
	for i, c := range r.calls {
		item := dict{
			"type": "function_call", "id": fmt.Sprintf("fc_%d_%d", n, i), "call_id": callID(n, i), "name": c.tool,
			"arguments": jsonText(c.args), "status": "completed",
		}
		if namespace, name, ok := strings.Cut(c.tool, "/"); ok {
			item["namespace"], item["name"] = namespace, name
		}
		items = append(items, item)
	}
	response := func(status string, output []any) dict {
		return dict{
			"id": fmt.Sprint("resp_", n), "object": "response", "created_at": 1, "status": status, "model": "fake", "output": output,
			"usage": dict{
				"input_tokens": 10, "input_tokens_details": dict{"cached_tokens": 0}, "output_tokens": 5,
				"output_tokens_details": dict{"reasoning_tokens": 0}, "total_tokens": 15,
			},
		}
	}
	if !stream {
		_, _ = io.WriteString(w, jsonText(response("completed", items)))
		return
	}
	event(w, "response.created", dict{"type": "response.created", "response": response("in_progress", []any{})})
	for i, item := range items {
		event(w, "response.output_item.added", dict{"type": "response.output_item.added", "output_index": i, "item": item})
		event(w, "response.output_item.done", dict{"type": "response.output_item.done", "output_index": i, "item": item})
	}
	event(w, "response.completed", dict{"type": "response.completed", "response": response("completed", items)})
}

// writeGemini writes a reply of POST /v1beta/models/MODEL:streamGenerateContent.
func writeGemini(w io.Writer, r reply, n int, stream bool) {
	parts := []any{}
	if r.text != "" {
		parts = append(parts, dict{"text": r.text})
	}
	for i, c := range r.calls {
		parts = append(parts, dict{"functionCall": dict{"id": callID(n, i), "name": c.tool, "args": c.args}})
	}
	out := dict{
		"candidates":    []any{dict{"index": 0, "content": dict{"role": "model", "parts": parts}, "finishReason": "STOP"}},
		"usageMetadata": dict{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}, "modelVersion": "fake",
	}
	if !stream {
		_, _ = io.WriteString(w, jsonText(out))
		return
	}
	event(w, "", out)
}

// offeredTools returns the tools of a request in any of the dialects, with the names of their
// arguments. A tool of a namespace has the name NAMESPACE/TOOL.
func offeredTools(request string) map[string]string {
	type tool struct {
		Type, Name           string
		Function             *tool
		FunctionDeclarations []tool `json:"functionDeclarations"`
		Tools                []tool
		InputSchema          struct{ Properties dict } `json:"input_schema"`
		Parameters           struct{ Properties dict }
		JSONSchema           struct{ Properties dict } `json:"parametersJsonSchema"`
	}
	var in struct{ Tools []tool }
	if json.Unmarshal([]byte(request), &in) != nil {
		return nil
	}
	all := map[string]string{}
	var add func(prefix string, tools []tool)
	add = func(prefix string, tools []tool) {
		for _, one := range tools {
			switch {
			case one.Function != nil:
				add(prefix, []tool{*one.Function})
			case one.FunctionDeclarations != nil:
				add(prefix, one.FunctionDeclarations)
			case one.Type == "namespace":
				add(one.Name+"/", one.Tools)
			case one.Name != "":
				var names []string
				for _, properties := range []dict{one.InputSchema.Properties, one.Parameters.Properties, one.JSONSchema.Properties} {
					names = slices.AppendSeq(names, maps.Keys(properties))
				}
				slices.Sort(names)
				all[prefix+one.Name] = strings.Join(names, " ")
			}
		}
	}
	add("", in.Tools)
	return all
}
