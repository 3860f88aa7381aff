package model_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/model"
	"github.com/starhost/starhost/model/anthropic"
	"github.com/starhost/starhost/model/openai"
	"github.com/starhost/starhost/model/responses"
)

// TestMain checks that no goroutine remains after the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(testbed.Alone(m)) }

var dialects = []model.Dialect{openai.Dialect(), responses.Dialect(), anthropic.Dialect()}

// key is the key of all tests. It must not occur in any text.
const key = `sk-test-"0123456789`

// A run is the outcome of a request.
type run struct {
	reply                 starhost.Reply
	err                   error
	text, reasoning, tool string // streamed
	requests              int
	bodies                []string
	sleeps                []time.Duration
}

// everything returns all texts of the outcome.
func (r *run) everything() string {
	return fmt.Sprintf("%+v %v %s %s %s", r.reply, r.err, r.text, r.reasoning, r.tool)
}

// ask sends a prompt to a server that the handler plays. change changes the client's options.
func ask(t *testing.T, d model.Dialect, p *host.Prompt, change func(*model.Options), handler http.HandlerFunc) run {
	t.Helper()
	var (
		r      run
		guard  sync.Mutex
		bodies []string
	)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body)
		q.Body = io.NopCloser(bytes.NewReader(body))
		guard.Lock()
		bodies = append(bodies, string(body))
		guard.Unlock()
		handler(w, q)
	}))
	defer server.Close()
	o := model.Options{
		Name: "acme", BaseURL: server.URL, Key: func() (string, error) { return key, nil }, KeyName: "ACME_KEY",
		HTTP: model.NewHTTP(),
		Stream: func(p model.Piece) {
			switch p.Kind {
			case model.PieceText:
				r.text += p.Text
			case model.PieceReasoning:
				r.reasoning += p.Text
			case model.PieceTool:
				r.tool += fmt.Sprintf("%d:%s:%s;", p.Call, p.Name, p.Text)
			}
		},
		Sleep: func(ctx context.Context, pause time.Duration) error {
			r.sleeps = append(r.sleeps, pause)
			return ctx.Err()
		},
	}
	if change != nil {
		change(&o)
	}
	defer o.HTTP.CloseIdleConnections()
	r.reply, r.err = model.NewClient(d, o).Complete(t.Context(), p)
	guard.Lock()
	defer guard.Unlock()
	r.requests, r.bodies = len(bodies), bodies
	if strings.Contains(r.everything(), key) || strings.Contains(r.everything(), key[:12]) {
		t.Errorf("the outcome contains the key: %s", r.everything())
	}
	return r
}

func prompt() *host.Prompt {
	return &host.Prompt{
		Model: "m", System: "Be brief.",
		Messages: []starhost.Message{{Role: starhost.RoleUser, Content: fragments.NewText("What time is it?")}},
	}
}

// stream returns the recorded stream of a dialect.
func stream(t testing.TB, d model.Dialect) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + d.API + ".sse")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func sendStream(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, text)
	}
}

// each runs a test for each dialect.
func each(t *testing.T, test func(*testing.T, model.Dialect)) {
	for _, d := range dialects {
		t.Run(d.API, func(t *testing.T) { test(t, d) })
	}
}

// answerText, reasoning and calls are the content of all recorded streams.
const (
	answerText = "Let me schäuen 🙂."
	reasoning  = "Look up the time."
)

// TestStream checks the answer of the recorded streams, which is the same in all dialects, and that
// the client sends it back as the endpoint wrote it.
func TestStream(t *testing.T) {
	each(t, func(t *testing.T, d model.Dialect) {
		r := ask(t, d, prompt(), nil, sendStream(stream(t, d)))
		if r.err != nil {
			t.Fatal(r.err)
		}
		native := r.reply.Native
		r.reply.Native = nil
		want := starhost.Reply{
			Content: answerText, Usage: starhost.Usage{Input: 20, Output: 7, Cached: 5},
			ToolCalls: []starhost.ToolCall{
				{ID: "call_a", Name: "now", Arguments: json.RawMessage(`{"zone":"UTC"}`)},
				{ID: "call_b", Name: "host", Arguments: json.RawMessage(`{}`)},
			},
		}
		if diff := cmp.Diff(want, r.reply); diff != "" {
			t.Errorf("reply (-want +got):\n%s", diff)
		}
		if r.text != answerText || r.reasoning != reasoning || !strings.HasPrefix(r.tool, "0:now:") {
			t.Errorf("pieces: got %q, %q, %q", r.text, r.reasoning, r.tool)
		}
		next := prompt()
		next.Messages = append(next.Messages,
			starhost.Message{
				Role: starhost.RoleAssistant, Content: fragments.NewText(answerText),
				ToolCalls: want.ToolCalls, Native: native,
			},
			starhost.Message{Role: starhost.RoleTool, CallID: "call_a", ToolName: "now", Content: fragments.NewText("12:00")})
		for _, part := range sentBack[d.API] {
			again := ask(t, d, next, nil, sendStream(stream(t, d)))
			if !strings.Contains(again.bodies[0], part) {
				t.Errorf("the next request does not contain %s:\n%s", part, again.bodies[0])
			}
		}
		other := *next
		other.Model = "another"
		again := ask(t, d, &other, nil, sendStream(stream(t, d)))
		if part := sentBack[d.API][0]; strings.Contains(again.bodies[0], part) {
			t.Errorf("a request to another model contains %s:\n%s", part, again.bodies[0])
		}
	})
}

// sentBack are parts of the next request.
var sentBack = map[string][]string{
	"openai": {
		`"reasoning_details":[{"type":"reasoning.encrypted","data":"AAE="},{"type":"reasoning.text","text":"x"}]`,
		`"extra_content":{"google":{"thought_signature":"c2ln"}}`, `"reasoning_content":"Look up the time."`,
	},
	"responses": {
		`{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Look up the time."}],"encrypted_content":"gAAAAB=="},{"id":"msg_1"`,
	},
	"anthropic": {
		`{"signature":"c2lnbmF0dXJl","thinking":"Look up the time.","type":"thinking"},{"data":"ZGF0YQ==","type":"redacted_thinking"},{"text":"Let me`,
	},
}

// TestChangedText checks that a text that a plugin changed takes the place of the model's text, and
// that the reasoning remains.
func TestChangedText(t *testing.T) {
	each(t, func(t *testing.T, d model.Dialect) {
		r := ask(t, d, prompt(), nil, sendStream(stream(t, d)))
		next := prompt()
		next.Messages = append(next.Messages, starhost.Message{
			Role: starhost.RoleAssistant, Content: fragments.NewText("[redacted]"),
			ToolCalls: r.reply.ToolCalls, Native: r.reply.Native,
		})
		again := ask(t, d, next, nil, sendStream(stream(t, d)))
		body := again.bodies[0]
		if strings.Contains(body, "Let me") || !strings.Contains(body, "[redacted]") || !strings.Contains(body, "Look up the time.") {
			t.Errorf("got %s", body)
		}
		next.Messages[1].ToolCalls = nil // the host ignored them
		again = ask(t, d, next, nil, sendStream(stream(t, d)))
		if body := again.bodies[0]; strings.Contains(body, "call_a") || !strings.Contains(body, "[redacted]") {
			t.Errorf("without calls: got %s", body)
		}
	})
}

// TestCut cuts each stream at every byte: the client returns an error with the text so far, and no
// answer that is not whole. It never loses an answer whose last event arrived.
func TestCut(t *testing.T) {
	each(t, func(t *testing.T, d model.Dialect) {
		whole := stream(t, d)
		wholeFrom := strings.Index(whole, lastEvent[d.API]) + len(lastEvent[d.API])
		var cut int
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			sendStream(whole[:cut])(w, nil)
		}))
		defer server.Close()
		h := model.NewHTTP()
		defer h.CloseIdleConnections()
		for cut = range len(whole) + 1 {
			streamed := ""
			o := model.Options{Name: "acme", BaseURL: server.URL, HTTP: h, Stream: func(p model.Piece) {
				if p.Kind == model.PieceText {
					streamed += p.Text
				}
			}}
			r, err := model.NewClient(d, o).Complete(t.Context(), prompt())
			switch {
			case r.Content != streamed || !strings.HasPrefix(answerText, streamed):
				t.Fatalf("cut at %d: got %q, streamed %q", cut, r.Content, streamed)
			case cut >= wholeFrom && (err != nil || len(r.ToolCalls) != 2 || r.Content != answerText):
				t.Fatalf("cut at %d, behind the last event: got %+v, %v", cut, r, err)
			case cut < wholeFrom && err == nil:
				t.Fatalf("cut at %d: got %+v and no error", cut, r)
			}
		}
	})
}

// lastEvent ends the part of a stream that an answer needs.
var lastEvent = map[string]string{
	"openai": `"finish_reason":"tool_calls"}]}`, "responses": `"total_tokens":27}}}`, "anthropic": `{"type":"message_stop"}`,
}

// TestFaults checks the faults of an endpoint: tries, texts and limits.
func TestFaults(t *testing.T) {
	status := func(code int, header, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if name, value, ok := strings.Cut(header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(code)
			io.WriteString(w, body)
		}
	}
	endless := func(event string) http.HandlerFunc {
		return func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for q.Context().Err() == nil {
				if _, err := io.WriteString(w, event); err != nil {
					return
				}
			}
		}
	}
	const late = -1 // on a slow machine, the time can end before the request
	silent := func(w http.ResponseWriter, q *http.Request) { <-q.Context().Done() }
	tests := []struct {
		name     string
		change   func(*model.Options)
		handler  http.HandlerFunc
		want     string
		requests int
	}{
		{"429", nil, status(429, "Retry-After: 3", `{"error":{"type":"rate_limit","message":"slow down"}}`), "429 Too Many Requests: rate_limit: slow down", 5},
		{"500", nil, status(500, "", "oops"), "500 Internal Server Error: oops", 5},
		{"502", nil, status(502, "", "<html><body>bad"), "502 Bad Gateway: the endpoint answered with a page of HTML", 5},
		{"503", nil, status(503, "", ""), "503 Service Unavailable", 5},
		{"529", nil, status(529, "", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), "529: overloaded_error: Overloaded", 5},
		{"400", nil, status(400, "", `{"error":"bad"}`), "400 Bad Request: bad", 1},
		{"401 with the key", nil, status(401, "", `{"error":{"message":"wrong key `+strings.ReplaceAll(key, `"`, `\"`)+`"}}`), "401 Unauthorized: wrong key <secret ACME_KEY>", 1},
		{"504", nil, status(504, "", ""), "504 Gateway Timeout", 1},
		{"redirect", nil, status(302, "Location: http://elsewhere/", ""), "302 Found: the endpoint is at http://elsewhere/: starhost follows no redirect, because it would send the key there", 1},
		{"long pause", nil, status(429, "Retry-After: 3600", `{}`), "429 Too Many Requests:  (the endpoint asks to wait 1h0m0s, limit 1m0s)", 1},
		{"long text", nil, status(400, "", strings.Repeat("x", 1<<20)), "400 Bad Request: " + strings.Repeat("x", 197) + "…", 1},
		{"nothing", nil, status(200, "", ""), "the stream broke off", 1},
		{"no JSON", nil, sendStream("data: {\n\n"), "unexpected end of JSON input", 1},
		{"silent", func(o *model.Options) { o.Limits.Silence = 20 * time.Millisecond }, silent, "the endpoint was silent for 20ms, the most that starhost waits", late},
		{"slow", func(o *model.Options) { o.Limits.Timeout = 50 * time.Millisecond }, endless(": ping\n\n"), "no whole answer in 50ms, limit [model] timeout", late},
		{"slow without a stream", func(o *model.Options) { o.Stream, o.Limits.Timeout = nil, 20*time.Millisecond }, silent, "no whole answer in 20ms, limit [model] timeout", late},
		{"endless line", func(o *model.Options) { o.Limits.Answer = 1000 }, endless("data: x"), "got a line of more than 8000 bytes, the most that starhost reads", 1},
		{"endless event", func(o *model.Options) { o.Limits.Answer = 1000 }, endless("data: x\n"), "got an event of more than 8000 bytes, the most that starhost reads", 1},
		{"endless comments", func(o *model.Options) { o.Limits.Answer = 1000 }, endless(": x\n\n"), "got a stream longer than 256 times [limits] answer", 1},
		{"endless body", func(o *model.Options) { o.Stream, o.Limits.Answer = nil, 1000 }, status(200, "", strings.Repeat(" ", 8001)), "got a response of more than 8000 bytes, limit 8 times [limits] answer", 1},
	}
	each(t, func(t *testing.T, d model.Dialect) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				r := ask(t, d, prompt(), tt.change, tt.handler)
				if r.err == nil || !strings.HasSuffix(r.err.Error(), tt.want) ||
					r.requests != tt.requests && (tt.requests != late || r.requests > 1) {
					t.Errorf("got %d requests, %v; want %d, %s", r.requests, r.err, tt.requests, tt.want)
				}
				if tt.name == "429" && (len(r.sleeps) != 4 || r.sleeps[0] != 3*time.Second) {
					t.Errorf("pauses: got %v, want 4 of 3 s", r.sleeps)
				}
				if tt.name == "500" && (len(r.sleeps) != 4 || r.sleeps[3] < 4*time.Second || r.sleeps[3] > 6*time.Second) {
					t.Errorf("pauses: got %v, want about 0.5, 1, 2 and 4 s", r.sleeps)
				}
			})
		}
	})
}

// TestLongAnswer checks the limit of an answer, in a stream and without one.
func TestLongAnswer(t *testing.T) {
	each(t, func(t *testing.T, d model.Dialect) {
		tight := func(o *model.Options) { o.Limits.Answer = 20 }
		r := ask(t, d, prompt(), tight, sendStream(stream(t, d)))
		if r.err == nil || !strings.Contains(r.err.Error(), "limit [limits] answer") && !strings.Contains(r.err.Error(), "more than") {
			t.Errorf("got %v, want the limit", r.err)
		}
		if !strings.HasPrefix(answerText, r.reply.Content) || r.reply.Content != r.text {
			t.Errorf("got %q, streamed %q", r.reply.Content, r.text)
		}
	})
}

// TestRecovers checks that a later try gives the answer, and that none follows the first piece.
func TestRecovers(t *testing.T) {
	each(t, func(t *testing.T, d model.Dialect) {
		n := 0
		r := ask(t, d, prompt(), nil, func(w http.ResponseWriter, q *http.Request) {
			if n++; n < 5 {
				w.WriteHeader(503)
				return
			}
			sendStream(stream(t, d))(w, q)
		})
		if r.err != nil || r.requests != 5 || r.text != answerText {
			t.Errorf("got %d requests, %q, %v", r.requests, r.text, r.err)
		}
		whole := stream(t, d)
		r = ask(t, d, prompt(), nil, sendStream(whole[:strings.Index(whole, "schäuen")]))
		if r.err == nil || r.requests != 1 || r.text != "Let me " || r.reply.Content != "Let me " {
			t.Errorf("got %d requests, %q, %q, %v", r.requests, r.text, r.reply.Content, r.err)
		}
	})
}

func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// TestRefusedConnection checks that the client tries again if nothing listens.
func TestRefusedConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	listener.Close()
	each(t, func(t *testing.T, d model.Dialect) {
		sleeps := 0
		count := func(context.Context, time.Duration) error { sleeps++; return nil }
		o := model.Options{Name: "acme", BaseURL: url, Sleep: count}
		_, err := model.NewClient(d, o).Complete(t.Context(), prompt())
		if !errors.Is(err, syscall.ECONNREFUSED) || sleeps != 4 {
			t.Errorf("got %v after %d pauses, want a refused connection after 4", err, sleeps)
		}
	})
}

// TestCancel checks that the caller can end an answer, and gets the text so far.
func TestCancel(t *testing.T) {
	each(t, func(t *testing.T, d model.Dialect) {
		whole := stream(t, d)
		ctx, cancel := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			io.Copy(io.Discard, q.Body)
			sendStream(whole[:strings.Index(whole, "schäuen")])(w, q)
			w.(http.Flusher).Flush()
			<-q.Context().Done()
		}))
		defer server.Close()
		h := model.NewHTTP()
		defer h.CloseIdleConnections()
		o := model.Options{Name: "acme", BaseURL: server.URL, HTTP: h, Stream: func(p model.Piece) {
			if p.Kind == model.PieceText {
				cancel()
			}
		}}
		// The text may arrive in the same read as the end of the event, so all of it is there.
		r, err := model.NewClient(d, o).Complete(ctx, prompt())
		if !errors.Is(err, context.Canceled) || r.Content != "Let me " {
			t.Errorf("got %q, %v", r.Content, err)
		}
	})
}

// TestEchoedKey checks that an endpoint cannot print the key, also in pieces of one byte.
func TestEchoedKey(t *testing.T) {
	text := func(d model.Dialect, text string) string {
		quoted, _ := json.Marshal(text)
		switch d.API {
		case "openai":
			return `data: {"choices":[{"index":0,"delta":{"content":` + string(quoted) + `}}]}` + "\n\n"
		case "responses":
			return `data: {"type":"response.output_text.delta","output_index":0,"delta":` + string(quoted) + `}` + "\n\n"
		}
		return `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + string(quoted) + `}}` + "\n\n"
	}
	start := map[string]string{"anthropic": `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n"}
	end := map[string]string{
		"openai":    `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n",
		"responses": `data: {"type":"response.completed","response":{"status":"completed"}}` + "\n\n",
		"anthropic": `data: {"type":"message_stop"}` + "\n\n",
	}
	each(t, func(t *testing.T, d model.Dialect) {
		for _, size := range []int{1, 3, 1000} {
			said, all := "before sk-test- "+key+" after sk-te", start[d.API]
			for i := 0; i < len(said); i += size {
				all += text(d, said[i:min(i+size, len(said))])
			}
			r := ask(t, d, prompt(), func(o *model.Options) {}, sendStream(all+end[d.API]))
			want := "before sk-test- <secret ACME_KEY> after sk-te"
			if r.err != nil || r.text != want || r.reply.Content != want {
				t.Errorf("pieces of %d: got %q, streamed %q, %v", size, r.reply.Content, r.text, r.err)
			}
		}
	})
}

// TestWhole checks answers that are no streams, also of a server that was asked for a stream.
func TestWhole(t *testing.T) {
	bodies := map[string]string{
		"openai":    `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi.","tool_calls":[{"id":"","type":"function","function":{"name":"now","arguments":{"a":1}}}]},"finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`,
		"responses": `{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi."}]},{"type":"function_call","call_id":"","name":"now","arguments":"{\"a\":1}"}],"usage":{"input_tokens":3,"output_tokens":2}}`,
		"anthropic": `{"type":"message","role":"assistant","content":[{"type":"text","text":"Hi."},{"type":"tool_use","id":"","name":"now","input":{"a":1}}],"stop_reason":"max_tokens","usage":{"input_tokens":3,"output_tokens":2}}`,
	}
	want := starhost.Reply{
		Content: "Hi.", Usage: starhost.Usage{Input: 3, Output: 2}, Stop: "the limit of its tokens",
		ToolCalls: []starhost.ToolCall{{ID: "call_1_1", Name: "now", Arguments: json.RawMessage(`{"a":1}`)}},
	}
	each(t, func(t *testing.T, d model.Dialect) {
		for _, streams := range []bool{true, false} {
			r := ask(t, d, prompt(), func(o *model.Options) {
				if !streams {
					o.Stream = nil
				}
			}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json; charset=utf-8")
				io.WriteString(w, bodies[d.API])
			})
			r.reply.Native = nil
			if diff := cmp.Diff(want, r.reply); diff != "" || r.err != nil {
				t.Errorf("streaming %v: %v (-want +got):\n%s", streams, r.err, diff)
			}
			if streams != strings.Contains(r.bodies[0], `"stream":true`) || streams && (r.text != "Hi." || r.tool == "") {
				t.Errorf("streaming %v: got %q, %q for %s", streams, r.text, r.tool, r.bodies[0])
			}
		}
	})
}

// TestRelax checks that the client omits a part of a request that an endpoint refuses.
func TestRelax(t *testing.T) {
	for _, tt := range []struct {
		dialect model.Dialect
		refusal string
	}{
		{openai.Dialect(), `"stream_options"`}, {responses.Dialect(), `"include"`},
	} {
		r := ask(t, tt.dialect, prompt(), nil, func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			if bytes.Contains(body, []byte(tt.refusal)) {
				w.WriteHeader(400)
				io.WriteString(w, `{"error":{"message":"Unknown parameter stream_options. Encrypted content is not supported with this model."}}`)
				return
			}
			sendStream(stream(t, tt.dialect))(w, q)
		})
		if r.err != nil || r.requests != 2 || len(r.sleeps) != 0 {
			t.Errorf("%s: got %d requests, %v", tt.dialect.API, r.requests, r.err)
		}
	}
}
