package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// A scriptedEndpoint answers requests of all three protocols with the lines of a script, in order:
//
//	{"text": "…", "calls": [{"name": "page", "arguments": {…}}]}
//	{"status": 503, "body": "…"}
//	{"text": "half", "cut": true}
//
// After the last line it answers 400. It checks nothing; requests has the bodies.
type scriptedEndpoint struct {
	mu       sync.Mutex
	lines    []scriptedReply
	used     int
	requests bytes.Buffer
	log      string // a file that gets the requests, or ""
}

type scriptedReply struct {
	Text   string            `json:"text"`
	Calls  []scriptedCall    `json:"calls"`
	Status int               `json:"status"`
	Body   string            `json:"body"`
	Cut    bool              `json:"cut"`    // break the connection off after the text
	Stop   string            `json:"stop"`   // why the model stopped
	Header map[string]string `json:"header"` // headers of the response
}

type scriptedCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// newScriptedEndpoint returns an endpoint with the lines of a script.
func newScriptedEndpoint(script string) (*scriptedEndpoint, error) {
	e := new(scriptedEndpoint)
	for line := range strings.Lines(script) {
		var r scriptedReply
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		e.lines = append(e.lines, r)
	}
	return e, nil
}

func (e *scriptedEndpoint) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	write := map[string]func(*scriptedReply, int) (events []string, whole string){
		"/v1/chat/completions": writeChat, "/v1/responses": writeResponses, "/v1/messages": writeMessages,
	}[q.URL.Path]
	if write == nil {
		http.NotFound(w, q)
		return
	}
	body, _ := io.ReadAll(q.Body)
	e.mu.Lock()
	defer e.mu.Unlock()
	fmt.Fprintf(&e.requests, "%s %s\n", q.URL.Path, body)
	if e.log != "" {
		_ = os.WriteFile(e.log, e.requests.Bytes(), 0o666)
	}
	r := scriptedReply{Status: 400, Body: `{"error":{"message":"the script has ended"}}`}
	if e.used < len(e.lines) {
		r = e.lines[e.used]
	}
	e.used++
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	if r.Status != 0 {
		w.WriteHeader(r.Status)
		io.WriteString(w, r.Body)
		return
	}
	var asked struct {
		Stream bool `json:"stream"`
	}
	_ = json.Unmarshal(body, &asked)
	events, whole := write(&r, e.used)
	if !asked.Stream {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range events {
		fmt.Fprintf(w, "data: %s\n\n", event)
	}
}

func toJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// streamPieces splits a text into the pieces of a stream.
func streamPieces(text string) []string { return strings.SplitAfter(text, " ") }

func writeChat(r *scriptedReply, n int) (events []string, whole string) {
	chunk := func(delta string, finish string) string {
		return `{"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + `}]}`
	}
	for _, w := range streamPieces(r.Text) {
		events = append(events, chunk(`{"content":`+toJSON(w)+`}`, "null"))
	}
	if r.Cut {
		return events, `{"choices":[`
	}
	var calls []string
	for i, c := range r.Calls {
		call := fmt.Sprintf(`{"index":%d,"id":"call_%d_%d","type":"function","function":{"name":%q,"arguments":%s}}`, i, n, i, c.Name, toJSON(string(c.Arguments)))
		events, calls = append(events, chunk(`{"tool_calls":[`+call+`]}`, "null")), append(calls, call)
	}
	finish := `"stop"`
	if r.Stop != "" {
		finish = toJSON(r.Stop)
	}
	usage := `"usage":{"prompt_tokens":10,"completion_tokens":5}`
	events = append(events, chunk("{}", finish), `{"choices":[],`+usage+`}`, "[DONE]")
	return events, `{"choices":[{"index":0,"message":{"role":"assistant","content":` + toJSON(r.Text) + `,"tool_calls":[` + strings.Join(calls, ",") + `]},"finish_reason":` + finish + `}],` + usage + `}`
}

func writeResponses(r *scriptedReply, n int) (events []string, whole string) {
	for _, w := range streamPieces(r.Text) {
		events = append(events, `{"type":"response.output_text.delta","output_index":0,"delta":`+toJSON(w)+`}`)
	}
	if r.Cut {
		return events, `{"output":[`
	}
	items := []string{`{"type":"message","role":"assistant","content":[{"type":"output_text","text":` + toJSON(r.Text) + `}]}`}
	for i, c := range r.Calls {
		items = append(items, fmt.Sprintf(`{"type":"function_call","call_id":"call_%d_%d","name":%q,"arguments":%s}`, n, i, c.Name, toJSON(string(c.Arguments))))
	}
	whole = `{"status":"completed","output":[` + strings.Join(items, ",") + `],"usage":{"input_tokens":10,"output_tokens":5}}`
	return append(events, `{"type":"response.completed","response":`+whole+`}`), whole
}

func writeMessages(r *scriptedReply, n int) (events []string, whole string) {
	events = []string{
		`{"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
	}
	for _, w := range streamPieces(r.Text) {
		events = append(events, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`+toJSON(w)+`}}`)
	}
	if r.Cut {
		return events, `{"content":[`
	}
	blocks := []string{`{"type":"text","text":` + toJSON(r.Text) + `}`}
	for i, c := range r.Calls {
		head := fmt.Sprintf(`{"type":"tool_use","id":"call_%d_%d","name":%q,"input":`, n, i, c.Name)
		events = append(events, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s{}}}`, i+1, head),
			fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, i+1, toJSON(string(c.Arguments))))
		blocks = append(blocks, head+string(c.Arguments)+"}")
	}
	usage := `"usage":{"input_tokens":10,"output_tokens":5}`
	events = append(events, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},`+usage+`}`, `{"type":"message_stop"}`)
	return events, `{"type":"message","content":[` + strings.Join(blocks, ",") + `],"stop_reason":"end_turn",` + usage + `}`
}

// cmdEndpoint starts a scripted endpoint until the script ends, sets ENDPOINT to its URL and writes
// the requests to a file:
//
//	endpoint SCRIPT REQUESTS
func cmdEndpoint(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: endpoint SCRIPT REQUESTS")
	}
	e, err := newScriptedEndpoint(ts.ReadFile(args[0]))
	ts.Check(err)
	e.log = ts.MkAbs(args[1])
	server := httptest.NewServer(e)
	ts.Defer(server.Close)
	ts.Setenv("ENDPOINT", server.URL)
}

// cmdEnvsubst writes a file with $ENDPOINT replaced:
//
//	envsubst FROM TO
func cmdEnvsubst(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: envsubst FROM TO")
	}
	text := strings.NewReplacer("$ENDPOINT", ts.Getenv("ENDPOINT"), "$WORK", ts.Getenv("WORK")).Replace(ts.ReadFile(args[0]))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o666))
}
