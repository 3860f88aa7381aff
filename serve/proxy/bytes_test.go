package proxy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/proxy"
)

// A body is the body of a request, from a file of test data.
type body struct{ name, path, text string }

// readBodies returns the files of an archive. One word of each file's name is the path of the request.
func readBodies(t testing.TB, file string) (list []body) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range txtar.Parse(text).Files {
		name, path, _ := strings.Cut(f.Name, " ")
		if strings.HasPrefix(name, "/") {
			name, path = path, name
		}
		list = append(list, body{name, path, string(bytes.TrimSuffix(f.Data, []byte("\n")))})
	}
	return list
}

// reply returns a recorded reply to a request with the path. kind says whether the reply is a stream. The
// reply to count_tokens never is.
func reply(t testing.TB, path, kind string) string {
	t.Helper()
	for _, b := range readBodies(t, "testdata/replies.txtar") {
		if b.path == path && (b.name == kind || path == countPath) {
			return strings.ReplaceAll(b.text, "PAUSE\n", "\n\x00")
		}
	}
	t.Fatalf("%s has no reply of the kind %s", path, kind)
	return ""
}

const (
	messagesPath  = "/v1/messages"
	countPath     = "/v1/messages/count_tokens"
	chatPath      = "/v1/chat/completions"
	responsesPath = "/v1/responses"
)

// silent returns a host whose handlers take part in all events and return nothing.
func silent(t testing.TB) *host.Host {
	none := func(*starhost.Event) starhost.Decision { return starhost.Decision{} }
	hooks := handlers{}
	for _, e := range starhost.Events() {
		hooks[e.Name] = none
	}
	return newHost(t, hooks)
}

// TestBytes checks the byte law with recorded bodies of real clients: if plugins return nothing,
// requests and replies are the same bytes on both sides.
func TestBytes(t *testing.T) {
	bodies := readBodies(t, "testdata/bodies.txtar")
	bodies = append(bodies, body{"space", chatPath, "\r\n {\"messages\" : [ ]}\n\n"})
	if len(bodies) < 61 {
		t.Errorf("got %d bodies, want 61", len(bodies))
	}
	none := func(*starhost.Event) starhost.Decision { return starhost.Decision{} }
	hosts := map[string]*host.Host{
		"no hooks": newHost(t, nil), "hooks of all events": silent(t),
		"a guard": newHost(t, handlers{"pre_tool_call": none}), "an end": newHost(t, handlers{"turn_end": none}),
	}
	for name, h := range hosts {
		u := newUpstream(t, replies(jsonType, ""))
		s := serve(t, h, proxy.Options{Upstream: u.URL}, "")
		for _, kind := range []string{"whole", "stream", "crlf", "error"} {
			for _, b := range bodies {
				checkBytes(t, u, s, fmt.Sprint(name, " ", kind, " ", b.name), b, kind)
			}
		}
		if log := s.log.String(); strings.Contains(log, "warning") && !strings.Contains(log, "breakpoint") {
			t.Errorf("%s: got %s", name, log)
		}
	}
}

// checkBytes sends a body through a proxy, and compares the bytes on both sides of the proxy.
func checkBytes(t testing.TB, u *upstream, s *served, name string, b body, kind string) {
	t.Helper()
	status, contentType, script := http.StatusOK, jsonType, ""
	switch kind {
	case "error":
		status, script = 429, `{"type": "error" }`
	case "crlf":
		script = strings.ReplaceAll(reply(t, b.path, "stream"), "\n", "\r\n")
	default:
		script = reply(t, b.path, kind)
	}
	if kind == "stream" || kind == "crlf" {
		contentType = streamType
	}
	u.mu.Lock()
	u.seen, u.scripts = nil, []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		replies(contentType, script)(w, r)
	}}
	u.mu.Unlock()
	gotStatus, header, got := s.ask(t, "POST", b.path+"?beta=true", b.text, "Content-Type", jsonType, "User-Agent", "x")
	if want := strings.ReplaceAll(script, "\x00", ""); got != want || gotStatus != status || header.Get("Content-Type") != contentType {
		t.Errorf("%s: the reply is %d\n%s\nwant %d\n%s", name, gotStatus, got, status, want)
	}
	if sent := u.last(t); sent.body != b.text {
		t.Errorf("%s: the request is\n%s\nwant\n%s", name, sent.body, b.text)
	}
}

// lacksMembers reports whether a text of JSON is another one without some members of its calls, as a client gets
// calls with members that no guard saw. Everything else is equal.
func lacksMembers(got, want string) bool {
	var g, w any
	if json.Unmarshal([]byte(got), &g) != nil || json.Unmarshal([]byte(want), &w) != nil {
		return false
	}
	return isWithin(g, w, false)
}

// isWithin reports whether a value is another one, of which only objects inside of calls may have further members.
func isWithin(got, want any, inCall bool) bool {
	switch g := got.(type) {
	case map[string]any:
		w, ok := want.(map[string]any)
		ok = ok && (inCall || len(g) == len(w))
		for name, value := range g {
			other, has := w[name]
			isCall := inCall || slices.Contains([]string{"tool_calls", "function_call", "content", "content_block", "output", "item"}, name)
			ok = ok && has && isWithin(value, other, isCall)
		}
		return ok
	case []any:
		w, ok := want.([]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for i := range g {
			if !isWithin(g[i], w[i], inCall) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(got, want)
}

// FuzzBytes checks the byte law with any text as request and as reply. The proxy may refuse a text
// that it cannot read, but never changes it, except that
// it takes members out of calls that no guard saw.
func FuzzBytes(f *testing.F) {
	for _, b := range readBodies(f, "testdata/bodies.txtar")[:45] {
		f.Add(b.path, b.text, reply(f, b.path, "whole"))
		f.Add(b.path, b.text, reply(f, b.path, "stream"))
	}
	f.Add(chatPath, `{"messages":[{"role":"user","content":[]}],"a":1,"a":2}`, `{"choices":[{"message":{"tool_calls":[{}]}}]}`)
	f.Add(chatPath, `{}`, `{"choices":[{"message":{"tool_calls":[{"custom":{"name":"0","":""}}]}}]}`)
	f.Add(messagesPath, "\xff", "data: \r\rdata: {}\n\n")
	u := newUpstream(f, replies(jsonType, ""))
	s := serve(f, silent(f), proxy.Options{Upstream: u.URL}, "")
	f.Fuzz(func(t *testing.T, path, request, answer string) {
		switch path {
		case messagesPath, countPath, chatPath, responsesPath:
		default:
			path = chatPath
		}
		answer = strings.ReplaceAll(answer, "\x00", "")
		kind := jsonType
		if !strings.HasPrefix(strings.TrimSpace(answer), "{") {
			kind = streamType
		}
		u.mu.Lock()
		u.seen, u.scripts = nil, []http.HandlerFunc{replies(kind, answer)}
		u.mu.Unlock()
		status, _, got := s.ask(t, "POST", path, request)
		if all := u.requests(); len(all) > 0 && all[0].body != request {
			t.Errorf("%s: the request is %q, want %q", path, all[0].body, request)
		}
		if status == http.StatusOK && got != answer && !strings.Contains(got, "starhost") && !lacksMembers(got, answer) {
			t.Errorf("%s: the reply is %q, want %q", path, got, answer)
		}
	})
}
