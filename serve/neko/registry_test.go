package neko_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/serve/neko"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testbed.Alone(m)) }

// A registered registry serves its tools in a host that each change replaces.
type registered struct {
	*neko.Registry
	handler http.Handler
	live    *host.LiveHost
	fail    error // Apply returns it

	mu       sync.Mutex
	warnings []string
}

func newRegistry(t *testing.T, roles ...string) *registered {
	t.Helper()
	r := &registered{live: host.NewLiveHost(host.New(host.Options{}))}
	r.Registry = neko.NewRegistry(neko.RegistryOptions{
		Roles: roles,
		Apply: func(context.Context) error {
			if r.fail != nil {
				return r.fail
			}
			h := host.New(host.Options{})
			if err := h.Add(r.Plugin()); err != nil {
				return err
			}
			r.live.Swap(h)
			return nil
		},
		Warn: func(text string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.warnings = append(r.warnings, text)
		},
	})
	t.Cleanup(func() { r.Close() })
	r.handler = r.Handler()
	return r
}

// ask sends a request from an address, and returns the status and the answer.
func (r *registered) askFrom(t *testing.T, from, method, path, body string) string {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	req.RemoteAddr = from
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, req)
	return strings.TrimSpace(fmt.Sprintf("%d %s", w.Code, w.Body))
}

func (r *registered) ask(t *testing.T, method, path, body string) string {
	t.Helper()
	return r.askFrom(t, "127.0.0.1:5000", method, path, body)
}

// want compares the answer to a POST.
func (r *registered) want(t *testing.T, path, body, want string) {
	t.Helper()
	if got := r.ask(t, "POST", "/api/tools/"+path, body); got != want {
		t.Errorf("%s %s:\ngot  %s\nwant %s", path, body, got, want)
	}
}

// call calls a tool and returns its result.
func (r *registered) call(t *testing.T, name, arguments string) starhost.Result {
	t.Helper()
	s := r.live.NewSession(host.SessionConfig{})
	turn, err := s.BetweenTurns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End(t.Context())
	reply, err := turn.CallTool(t.Context(), starhost.ToolCall{ID: "call_abc123", Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatal(err)
	}
	return reply.Result
}

// weather is the registration of N.E.K.O's document, for a plugin at an address.
func weather(at, source string) string {
	return `{"name":"get_weather","description":"Look up the weather in a given city",
"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]},
"callback_url":"` + at + `/tool_invoke","role":null,"source":"` + source + `","timeout_seconds":30}`
}

// TestDocument runs the examples of N.E.K.O's document: register, list, call, failure, replace,
// unregister and clear.
func TestDocument(t *testing.T) {
	answer, got := `{ "output": {"temp_c": 22, "weather": "sunny"}, "is_error": false }`, ""
	plugin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.Path + " " + string(body)
		io.WriteString(w, answer)
	}))
	defer plugin.Close()
	r := newRegistry(t, "小八")
	r.want(t, "register", weather(plugin.URL, "my_plugin"),
		`200 {"affected_roles":["小八"],"failed_roles":[],"ok":true,"registered":"get_weather"}`)
	want := `200 {"ok":true,"tools_by_role":{"小八":[{"name":"get_weather","description":"Look up the weather in a given city",` +
		`"source":"my_plugin","callback_url":"` + plugin.URL + `/tool_invoke","is_remote":true}]}}`
	for _, path := range []string{"/api/tools", "/api/tools?role=%E5%B0%8F%E5%85%AB"} {
		if got := r.ask(t, "GET", path, ""); got != want {
			t.Errorf("GET %s: got %s, want %s", path, got, want)
		}
	}
	if result := r.call(t, "get_weather", `{"city":"Beijing"}`); result.ForLLM != `{"temp_c":22,"weather":"sunny"}` || result.IsError {
		t.Errorf("call: got %+v", result)
	}
	wantCall := `POST /tool_invoke {"arguments":{"city":"Beijing"},"call_id":"call_abc123","name":"get_weather",` +
		`"raw_arguments":"{\"city\":\"Beijing\"}"}`
	if got != wantCall {
		t.Errorf("callback: got %s, want %s", got, wantCall)
	}
	answer = `{ "output": null, "is_error": true, "error": "city not found" }`
	if result := r.call(t, "get_weather", `{"city":"x"}`); result.ForLLM != "city not found" || !result.IsError {
		t.Errorf("failure: got %+v", result)
	}
	got = ""
	if result := r.call(t, "get_weather", `{}`); !result.IsError || got != "" {
		t.Errorf("arguments that the schema refuses: got %+v, and the plugin got %q", result, got)
	}
	again := strings.ReplaceAll(weather(plugin.URL, "my_plugin"), `"city"`, `"town"`)
	r.want(t, "register", again, `200 {"affected_roles":["小八"],"failed_roles":[],"ok":true,"registered":"get_weather"}`)
	answer = `"sun"`
	if result := r.call(t, "get_weather", `{"town":"x"}`); result.ForLLM != "sun" || result.IsError {
		t.Errorf("after a replacement: got %+v", result)
	}
	r.want(t, "unregister", `{ "name": "get_weather", "role": null }`,
		`200 {"affected_roles":["小八"],"failed_roles":[],"name":"get_weather","ok":true,"refused_roles":[],"removed":true}`)
	r.want(t, "unregister", `{ "name": "get_weather", "role": null }`,
		`200 {"affected_roles":[],"failed_roles":[],"name":"get_weather","ok":true,"refused_roles":[],"removed":false}`)
	if tools := r.live.Host().Tools(); len(tools) != 0 {
		t.Errorf("got %d tools, want none", len(tools))
	}
	r.ask(t, "POST", "/api/tools/register", weather(plugin.URL, "my_plugin"))
	r.want(t, "clear", `{ "role": null, "source": "other" }`,
		`200 {"affected_roles":[],"failed_roles":[],"ok":true,"removed":0,"source":"other"}`)
	r.want(t, "clear", `{ "role": null, "source": "my_plugin" }`,
		`200 {"affected_roles":["小八"],"failed_roles":[],"ok":true,"removed":1,"source":"my_plugin"}`)
}

// TestOutput checks how the registry reads the answers of plugins.
func TestOutput(t *testing.T) {
	status, answer := 200, ""
	plugin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	defer plugin.Close()
	r := newRegistry(t, "a")
	r.ask(t, "POST", "/api/tools/register", weather(plugin.URL, "plugin:x"))
	tests := []struct {
		status       int
		answer, want string
		isError      bool
	}{
		{200, `{"output":"text"}`, "text", false},
		{200, `{"output":[1, 2]}`, "[1,2]", false},
		{200, `{"output":null}`, "null", false},
		{200, `{"city":"x","images":["u"]}`, `{"city":"x","images":["u"]}`, false},
		{200, `[1, 2]`, `[1,2]`, false},
		{200, `plain`, `plain`, false},
		{200, ``, ``, false},
		{200, `{"is_error":true,"error":"no"}`, "no", true},
		{200, `{"is_error":true,"output":{"why":1}}`, `{"why":1}`, true},
		{500, `oops`, "the plugin of tool get_weather answered with HTTP 500: oops", true},
		{302, `moved`, "moved", false},
		{
			200, strings.Repeat("x", neko.MaxBody+1),
			"the plugin of tool get_weather does not answer: got more than 4194304 bytes, want less", true,
		},
	}
	for _, tt := range tests {
		status, answer = tt.status, tt.answer
		result := r.call(t, "get_weather", `{"city":"x"}`)
		isWanted := strings.Contains(result.ForLLM, tt.want) && len(result.ForLLM) <= len(tt.want)+100
		if !isWanted || result.IsError != tt.isError {
			t.Errorf("%d %.50s: got %.200s, %v, want %s, %v", tt.status, tt.answer, result.ForLLM, result.IsError, tt.want, tt.isError)
		}
	}
}

// TestInvalid checks the requests that the registry refuses: 422 for a mistake, 403 for another
// machine, 404 for an unknown role.
func TestInvalid(t *testing.T) {
	r := newRegistry(t, "a", "b")
	invalid := func(field, text string) string {
		loc := `"body"`
		if field != "" {
			loc += `,"` + field + `"`
		}
		return `422 {"detail":[{"loc":[` + loc + `],"msg":` + text + `,"type":"value_error"}]}`
	}
	const rest = `"callback_url":"http://127.0.0.1:1/x"}`
	r.want(t, "register", `x`, invalid("", `"want a JSON object: invalid character 'x' looking for beginning of value"`))
	r.want(t, "register", `{`+rest, invalid("name", `"got 0 bytes, want 1 to 64"`))
	r.want(t, "register", `{"name":1,`+rest, invalid("name", `"got number, want a string"`))
	r.want(t, "register", `{"name":"`+strings.Repeat("x", 65)+`",`+rest, invalid("name", `"got 65 bytes, want 1 to 64"`))
	r.want(t, "register", `{"name":"a.b",`+rest, invalid("name", `"got \"a.b\", want letters, digits, _ and -"`))
	r.want(t, "register", `{"name":"x"}`, invalid("callback_url", `"want a URL"`))
	r.want(t, "register", `{"name":"x","callback_url":"ftp://127.0.0.1/"}`, invalid("callback_url", `"got the scheme \"ftp\", want http or https"`))
	for _, h := range []string{"example.com", "10.0.0.1", "localhost.example.com", "0.0.0.0"} {
		r.want(t, "register", `{"name":"x","callback_url":"http://`+h+`/"}`,
			invalid("callback_url", `"got the host \"`+h+`\", want a loopback address"`))
	}
	r.want(t, "register", `{"name":"x","timeout_seconds":301,`+rest, invalid("timeout_seconds", `"got 301, want more than 0 and at most 300"`))
	r.want(t, "register", `{"name":"x","timeout_seconds":0,`+rest, invalid("timeout_seconds", `"got 0, want more than 0 and at most 300"`))
	r.want(t, "register", `{"name":"x","parameters":[],`+rest, invalid("parameters", `"want an object"`))
	r.want(t, "unregister", `{}`, invalid("name", `"got 0 bytes, want 1 to 64"`))
	r.want(t, "clear", `{"source":""}`, invalid("source", `"want a source"`))
	r.want(t, "register", `{"name":"x","role":"c",`+rest, `404 {"detail":"unknown role: c"}`)
	r.want(t, "unregister", `{"name":"x","role":"c"}`, `404 {"detail":"unknown role: c"}`)
	r.want(t, "clear", `{"source":"x","role":"c"}`, `404 {"detail":"unknown role: c"}`)
	if got := r.ask(t, "GET", "/api/tools?role=c", ""); got != `404 {"detail":"unknown role: c"}` {
		t.Errorf("list: got %s", got)
	}
	for _, from := range []string{"10.0.0.1:1", "[2001:db8::1]:1"} {
		if got := r.askFrom(t, from, "GET", "/api/tools", ""); got != `403 {"detail":"only programs of this machine may ask"}` {
			t.Errorf("from %s: got %s", from, got)
		}
	}
	for _, from := range []string{"[::1]:1", "[::ffff:127.0.0.1]:1", "@"} { // @ is a Unix socket
		if got := r.askFrom(t, from, "GET", "/api/tools", ""); !strings.HasPrefix(got, "200 ") {
			t.Errorf("from %s: got %s", from, got)
		}
	}
	if got := r.ask(t, "POST", "/api/tools/register", `{"name":"x","parameters":{"type":"nothing"},`+rest); !strings.Contains(got, `"ok":false`) {
		t.Errorf("an invalid schema: got %s", got)
	}
}

// TestRoles checks that a tool for one role is there for this role only, and that another source or
// a failing host changes nothing.
func TestRoles(t *testing.T) {
	r := newRegistry(t, "a", "b")
	const one = `{"name":"x","callback_url":"http://127.0.0.1:1/x","source":"plugin:p"`
	r.want(t, "register", one+`,"role":"a"}`, `200 {"affected_roles":["a"],"failed_roles":[],"ok":true,"registered":"x"}`)
	if roles := r.live.Host().Tools()[0].Roles; fmt.Sprint(roles) != "[a]" {
		t.Errorf("got roles %v, want [a]", roles)
	}
	r.want(t, "register", one+`,"role":"b"}`, `200 {"affected_roles":["b"],"failed_roles":[],"ok":true,"registered":"x"}`)
	if roles := r.live.Host().Tools()[0].Roles; len(roles) != 0 {
		t.Errorf("got roles %v, want all", roles)
	}
	r.want(t, "register", strings.Replace(one, "plugin:p", "plugin:q", 1)+`}`, `200 {"affected_roles":[],"error":"no role accepted the registration",`+
		`"failed_roles":[{"role":"a","error":"tool 'x' already owned by source 'plugin:p' (cross-source overwrite refused)"},`+
		`{"role":"b","error":"tool 'x' already owned by source 'plugin:p' (cross-source overwrite refused)"}],"ok":false,"registered":"x"}`)
	r.want(t, "register", strings.Replace(one, "1/x", "1/y", 1)+`,"role":"a"}`, `200 {"affected_roles":[],"error":"no role accepted the registration",`+
		`"failed_roles":[{"role":"a","error":"the role 'b' has another tool 'x', and starhost offers one tool of a name"}],"ok":false,"registered":"x"}`)
	r.want(t, "unregister", `{"name":"x","expected_source":"plugin:q"}`, `200 {"affected_roles":[],"failed_roles":[],"name":"x","ok":true,`+
		`"refused_roles":[{"owned_by":"plugin:p","role":"b"},{"owned_by":"plugin:p","role":"a"}],"removed":false}`)
	r.fail = errors.New("broken")
	r.want(t, "clear", `{"source":"plugin:p"}`, `200 {"affected_roles":[],`+
		`"failed_roles":[{"role":"a","error":"broken"},{"role":"b","error":"broken"}],"ok":false,"removed":0,"source":"plugin:p"}`)
	r.fail = nil
	r.want(t, "clear", `{"source":"plugin:p","role":"a"}`, `200 {"affected_roles":["a"],"failed_roles":[],"ok":true,"removed":1,"source":"plugin:p"}`)
	if roles := r.live.Host().Tools()[0].Roles; fmt.Sprint(roles) != "[b]" {
		t.Errorf("got roles %v, want [b]", roles)
	}
}

// TestEviction checks that three connections in a row that fail remove the tools of an address, and
// those of another address or kind of source stay.
func TestEviction(t *testing.T) {
	r := newRegistry(t, "a")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "http://" + l.Addr().String()
	l.Close()
	register := func(name, at, source string) {
		t.Helper()
		body := fmt.Sprintf(`{"name":%q,"callback_url":"%s/%s","source":%q}`, name, at, name, source)
		if got := r.ask(t, "POST", "/api/tools/register", body); !strings.Contains(got, `"ok":true`) {
			t.Fatal(got)
		}
	}
	register("one", gone, "plugin:p")
	register("two", gone, "plugin:p")
	register("other", "http://127.0.0.1:1", "plugin:p")
	register("service", gone, "agent_server")
	for range 3 {
		if result := r.call(t, "service", "{}"); !result.IsError {
			t.Errorf("got %+v", result)
		}
	}
	for range 2 {
		if result := r.call(t, "one", "{}"); !result.IsError || !strings.Contains(result.ForLLM, "the plugin of tool one does not answer") {
			t.Errorf("got %+v", result)
		}
	}
	if n := len(r.live.Host().Tools()); n != 4 {
		t.Fatalf("after two failures: got %d tools, want 4", n)
	}
	r.call(t, "two", "{}")
	r.Close() // it waits for the change
	var names []string
	for _, tool := range r.live.Host().Tools() {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "other service" {
		t.Errorf("got tools %s, want other and service", got)
	}
	want := "plugin:p at " + gone + " did not answer 3 times: its tools are removed"
	if len(r.warnings) != 1 || r.warnings[0] != want {
		t.Errorf("got warnings %q, want %q", r.warnings, want)
	}
}
