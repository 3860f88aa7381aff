package proxy_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
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

// knownMembers are the members of calls that clients get: of any call, and of each type of call.
var knownMembers = map[string]string{
	"": "type id call_id status index caller namespace created_by environment max_output_length pending_safety_checks " +
		"cache_control extra_content thought_signature function custom",
	"tool_use": "name input", "function": "", "custom": "", "function_call": "name arguments", "custom_tool_call": "name input",
	"local_shell_call": "action", "shell_call": "action", "apply_patch_call": "operation", "computer_call": "action actions",
}

// unseen returns the members of calls that no guard sees, in a whole reply or an event of a stream.
func unseen(path, kind string, d *jsontext.Document) (values []int) {
	call := func(item int, known string) {
		for part, known := range map[int]string{
			item: knownMembers[""] + " " + known, d.Member(item, "function"): "name arguments input", d.Member(item, "custom"): "name arguments input",
		} {
			for key, value := range d.Members(part) {
				if !slices.Contains(strings.Fields(known), d.StringAt(key)) {
					values = append(values, value)
				}
			}
		}
	}
	list := func(items ...int) {
		for _, item := range items {
			name := d.StringAt(d.Member(item, "type"))
			if known, ok := knownMembers[name]; ok && name != "" {
				call(item, known)
			}
		}
	}
	isStream := kind == streamType
	switch {
	case path == messagesPath && isStream:
		list(d.Member(0, "content_block"))
	case path == messagesPath, path == countPath:
		list(d.Elements(d.Member(0, "content"))...)
	case path == responsesPath && isStream:
		list(append(d.Elements(d.Member(d.Member(0, "response"), "output")), d.Member(0, "item"))...)
	case path == responsesPath:
		list(d.Elements(d.Member(0, "output"))...)
	default:
		for _, choice := range d.Elements(d.Member(0, "choices")) {
			message := d.Member(choice, map[bool]string{false: "message", true: "delta"}[isStream])
			list(d.Elements(d.Member(message, "content"))...)
			for _, item := range d.Elements(d.Member(message, "tool_calls")) {
				call(item, "")
			}
			if old := d.Member(message, "function_call"); d.HasKind(old, jsontext.Object) {
				call(old, "name arguments")
			}
		}
	}
	return values
}

// isAsSeen reports whether a reply is what the endpoint sent but for the members of calls that no guard saw. A whole
// reply has all of its other bytes. In a stream with such members the proxy writes the calls anew, so that the client
// finds the same reply.
func isAsSeen(t *testing.T, path, kind, got, answer string) bool {
	if kind == jsonType {
		d, err := jsontext.Parse(answer, 512)
		edits := jsontext.NewEdits(&d)
		for _, value := range unseen(path, kind, &d) {
			edits.Remove(value)
		}
		return err == nil && got == edits.String()
	}
	plain := func(stream string) (events string, hasUnseen bool) {
		for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream), "\n") {
			if data, ok := strings.CutPrefix(line, "data:"); ok {
				line = "data: " + strings.TrimPrefix(data, " ")
				d, err := jsontext.Parse(data, 512)
				hasUnseen = hasUnseen || err == nil && len(unseen(path, kind, &d)) > 0
			}
			events += line + "\n"
		}
		return events + "\n", hasUnseen
	}
	want, hasUnseen := plain(answer)
	got, _ = plain(got)
	return hasUnseen && decoded(t, path, "stream", got) == decoded(t, path, "stream", want)
}

// FuzzBytes checks the byte law with any text as request and as reply. The proxy may refuse a text that it cannot
// read, but never changes it, except that it takes the members out of a call that no guard saw.
func FuzzBytes(f *testing.F) {
	for _, b := range readBodies(f, "testdata/bodies.txtar")[:45] {
		f.Add(b.path, b.text, reply(f, b.path, "whole"))
		f.Add(b.path, b.text, reply(f, b.path, "stream"))
	}
	f.Add(chatPath, `{"messages":[{"role":"user","content":[]}],"a":1,"a":2}`, `{"choices":[{"message":{"tool_calls":[{}]}}]}`)
	f.Add(chatPath, `{}`, `{"choices":[{"message":{"tool_calls":[{"custom":{"name":"0","":""}}]}}]}`)
	f.Add(chatPath, `{}`, `{"choices": [{"message": {"tool_calls":[{"id" : 9007199254740993, "x":1, "function":{"name":"a","y":[ ]}}]}, "z": 1e1 }]}`)
	f.Add(messagesPath, `{}`, `{"content":[ {"type":"tool_use","id":"a","name":"b","input":{ "x": 1.0},"__json_buf":"{}"} ] }`)
	f.Add(responsesPath, `{}`, `{"output":[ {"type":"function_call","call_id":"a","name":"b","arguments":"{}","args":"{}"} ] }`)
	f.Add(chatPath, `{}`, `data:{"choices":[{"00000":0,"delta":{"tool_calls":[{"00000":0,"function":{"name":"0","0":"0"}}]},"finish_reason":""}]}`)
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
		if status == http.StatusOK && got != answer && !strings.Contains(got, "starhost") && !isAsSeen(t, path, kind, got, answer) {
			t.Errorf("%s: the reply is %q, want %q", path, got, answer)
		}
	})
}
