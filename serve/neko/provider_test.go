package neko_test

import (
	"context"
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
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/neko"
)

// A mainServer is a small registry in N.E.K.O's form, written from its document.
type mainServer struct {
	mu    sync.Mutex
	tools map[string]map[string]any // registrations by name
	asked chan bool                 // receives after each request
}

func (m *mainServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer func() {
		m.mu.Unlock()
		select {
		case m.asked <- true:
		default:
		}
	}()
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	name, _ := body["name"].(string)
	switch r.Method + " " + r.URL.Path {
	case "GET /api/tools":
		list := []any{}
		for _, name := range slices.Sorted(maps.Keys(m.tools)) {
			t := m.tools[name]
			list = append(list, map[string]any{"name": name, "source": t["source"], "callback_url": t["callback_url"], "is_remote": true})
		}
		json.NewEncoder(w).Encode(map[string]any{"ok": true, "tools_by_role": map[string]any{"小八": list}})
	case "POST /api/tools/register":
		if name == "refused" {
			io.WriteString(w, `{"ok":false,"registered":"refused","affected_roles":[],"failed_roles":[{"role":"小八","error":"taken"}]}`)
			return
		}
		m.tools[name] = body
		fmt.Fprintf(w, `{"ok":true,"registered":%q,"affected_roles":["小八"],"failed_roles":[]}`, name)
	case "POST /api/tools/unregister":
		delete(m.tools, name)
		io.WriteString(w, `{"ok":true,"removed":true}`)
	case "POST /api/tools/clear":
		maps.DeleteFunc(m.tools, func(_ string, t map[string]any) bool { return t["source"] == body["source"] })
		io.WriteString(w, `{"ok":true,"removed":1}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// wait waits until the server has the tools with these names.
func (m *mainServer) wait(t *testing.T, names ...string) {
	t.Helper()
	var got []string
	for range 2000 {
		m.mu.Lock()
		got = slices.Sorted(maps.Keys(m.tools))
		m.mu.Unlock()
		if slices.Equal(got, names) {
			return
		}
		select {
		case <-m.asked:
		case <-time.After(time.Minute):
			t.Fatalf("got tools %v, want %v", got, names)
		}
	}
	t.Fatalf("got tools %v, want %v", got, names)
}

// toolHost returns a host with tools that echo their arguments.
func toolHost(t *testing.T, names ...string) *host.Host {
	t.Helper()
	p := starhost.Plugin{Name: "p"}
	for _, name := range names {
		p.Tools = append(p.Tools, starhost.Tool{
			Name: name, Description: "A tool.", Timeout: 20 * time.Second,
			Call: func(_ context.Context, call starhost.ToolCall) (starhost.Result, error) {
				if strings.Contains(string(call.Arguments), "fail") {
					return starhost.Result{ForLLM: "failed", IsError: true}, nil
				}
				return starhost.Result{ForLLM: "got " + string(call.Arguments)}, nil
			}, Parameters: json.RawMessage(`{"type":"object","additionalProperties":true}`),
		})
	}
	p.Hooks = []starhost.Hook{{Event: "pre_tool_call", Call: func(
		_ context.Context, e *starhost.Event,
	) (starhost.Decision, error) {
		if strings.Contains(string(e.Arguments), "rm") {
			return starhost.Decision{Action: starhost.ActionDeny, Reason: "no rm"}, nil
		}
		return starhost.Decision{}, nil
	}}}
	h := host.New(host.Options{})
	if err := h.Add(p); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestProvider checks that a provider registers its tools, answers calls, comes back after a
// restart of the server, follows a reload, and removes its tools at the end.
func TestProvider(t *testing.T) {
	m := &mainServer{tools: map[string]map[string]any{}, asked: make(chan bool, 1)}
	server := httptest.NewServer(m)
	defer server.Close()
	live := host.NewLiveHost(toolHost(t, "one", "two", "refused"))
	warned := make(chan string, 10)
	p, err := neko.NewProvider(neko.ProviderOptions{
		Host: live, Server: server.URL + "/", Callback: "http://127.0.0.1:9", Every: time.Millisecond,
		Warn: func(text string) { warned <- text },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		p.Run(ctx)
		close(ended)
	}()
	m.wait(t, "one", "two")
	if got, want := <-warned, "N.E.K.O at "+server.URL+": tool refused is not registered: taken"; got != want {
		t.Errorf("got warning %q, want %q", got, want)
	}
	m.mu.Lock()
	one, _ := json.Marshal(m.tools["one"])
	m.tools = map[string]map[string]any{} // it restarts
	m.mu.Unlock()
	want := `{"callback_url":"http://127.0.0.1:9/tool_invoke","description":"A tool.","name":"one",` +
		`"parameters":{"additionalProperties":true,"type":"object"},"role":null,"source":"plugin:starhost","timeout_seconds":21}`
	if string(one) != want {
		t.Errorf("got %s, want %s", one, want)
	}
	m.wait(t, "one", "two")
	live.Swap(toolHost(t, "two", "three"))
	m.wait(t, "three", "two")

	handler := p.Handler()
	tests := []struct{ body, want string }{
		{`{"name":"two","arguments":{"a":1},"call_id":"c","raw_arguments":"{\"a\":1}"}`, `{"output":"got {\"a\":1}","is_error":false}`},
		{`{"name":"two","arguments":{"a":"rm"},"call_id":"c"}`, `{"output":null,"is_error":true,"error":"denied by p: no rm"}`},
		{`{"name":"two","arguments":{"a":"fail"},"call_id":"c"}`, `{"output":null,"is_error":true,"error":"failed"}`},
		{`{"name":"one","arguments":{}}`, `{"output":null,"is_error":true,"error":"unknown tool \"one\""}`},
		{`{`, `{"output":null,"is_error":true,"error":"want a JSON object: unexpected end of JSON input"}`},
	}
	for _, tt := range tests {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/tool_invoke", strings.NewReader(tt.body))
		r.RemoteAddr = "127.0.0.1:1"
		handler.ServeHTTP(w, r)
		if got := strings.TrimSpace(w.Body.String()); w.Code != 200 || got != tt.want {
			t.Errorf("%s: got %d %s, want %s", tt.body, w.Code, got, tt.want)
		}
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("POST", "/tool_invoke", strings.NewReader("{}"))) // from another machine
	if w.Code != 403 {
		t.Errorf("another machine: got %d, want 403", w.Code)
	}
	stop()
	<-ended
	m.wait(t)
}

// TestBothDirections checks that a provider registers with a registry of starhost itself, and that
// a call passes both.
func TestBothDirections(t *testing.T) {
	r := newRegistry(t, "a")
	server := httptest.NewServer(r.handler)
	defer server.Close()
	var handler http.Handler
	plugin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		handler.ServeHTTP(w, req)
	}))
	defer plugin.Close()
	p, err := neko.NewProvider(neko.ProviderOptions{
		Host: host.NewLiveHost(toolHost(t, "echo")), Server: server.URL, Callback: plugin.URL, Every: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	handler = p.Handler()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() {
		p.Run(ctx)
		close(ended)
	}()
	for len(r.live.Host().Tools()) == 0 {
		time.Sleep(time.Millisecond)
	}
	if result := r.call(t, "echo", `{"a":1}`); result.ForLLM != `got {"a":1}` || result.IsError {
		t.Errorf("got %+v", result)
	}
	if result := r.call(t, "echo", `{"a":"rm"}`); result.ForLLM != "denied by p: no rm" || !result.IsError {
		t.Errorf("got %+v", result)
	}
	stop()
	<-ended
	if n := len(r.live.Host().Tools()); n != 0 {
		t.Errorf("got %d tools, want none", n)
	}
	if _, err := neko.NewProvider(neko.ProviderOptions{Server: "http://example.com"}); err == nil {
		t.Error("a server on another machine: got no error")
	}
}
