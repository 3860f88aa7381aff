package decide_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/testbed"
	"github.com/starhost/starhost/serve/decide"
	"github.com/starhost/starhost/serve/front"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testbed.Alone(m)) }

// handlers are hooks by their events.
type handlers = map[string]func(context.Context, *starhost.Event) (starhost.Decision, error)

// newHost returns a host with one plugin of hooks.
func newHost(t *testing.T, hooks handlers) *host.Host {
	t.Helper()
	p := starhost.Plugin{Name: "guards"}
	for event, call := range hooks {
		p.Hooks = append(p.Hooks, starhost.Hook{Event: event, Call: func(
			ctx context.Context, e *starhost.Event,
		) (starhost.Decision, error) {
			return call(ctx, e)
		}})
	}
	h := host.New(host.Options{MaxWaiting: 1000})
	if err := h.Add(p); err != nil {
		t.Fatal(err)
	}
	return h
}

// denyRM denies calls whose arguments contain rm, and fails for those with a bug.
func denyRM(_ context.Context, e *starhost.Event) (starhost.Decision, error) {
	switch {
	case strings.Contains(string(e.Arguments), "bug"):
		return starhost.Decision{}, errors.New("a bug")
	case strings.Contains(string(e.Arguments), "rm"):
		return starhost.Decision{Action: starhost.ActionDeny, Reason: "no rm"}, nil
	}
	return starhost.Decision{}, nil
}

// options returns options for a host. Warnings fail the test.
func options(t *testing.T, h *host.Host) decide.Options {
	return decide.Options{
		Host: func() *host.Host { return h },
		Outcome: func(event string, out host.Outcome) any {
			return map[string]any{"event": event, "action": out.Decision.Action, "reason": out.Decision.Reason}
		},
		Warn: func(text string) { t.Errorf("warning: %s", text) },
	}
}

// ask sends a question to a handler and returns the status and the answer.
func ask(t *testing.T, h http.Handler, path, body string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body)))
	return strings.TrimSpace(fmt.Sprintf("%d %s", w.Code, w.Body))
}

// call returns an event of Claude Code about a command.
func call(session, command string) string {
	return fmt.Sprintf(`{"session_id":%q,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":%q}}`, session, command)
}

const denied = `200 {"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"%s"}}`

// TestHooks checks the answers to agents' events.
func TestHooks(t *testing.T) {
	h := newHost(t, handlers{"pre_tool_call": denyRM})
	o := options(t, h)
	o.FailClosed = true
	hooks := decide.NewServer(o).Hooks()
	tests := []struct{ name, path, body, want string }{
		{"a call that may run", "/hooks/claude-code", call("s", "ls"), "200"},
		{"a denied call", "/hooks/claude-code", call("s", "rm x"), fmt.Sprintf(denied, "denied by guards: no rm")},
		{"in Qwen", "/hooks/qwen", call("s", "rm x"), fmt.Sprintf(denied, "denied by guards: no rm")},
		{"a guard that fails", "/hooks/claude-code", call("s", "bug"), fmt.Sprintf(denied, "denied by guards: the guard of guards failed: a bug")},
		{"a prompt", "/hooks/claude-code", `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"rm"}`, "200"},
		{"an event without plugins", "/hooks/claude-code", `{"session_id":"s","hook_event_name":"Notification","message":"rm"}`, "200"},
		{"an unknown event", "/hooks/claude-code", `{"session_id":"s","hook_event_name":"PreToolUs","tool_name":"Bash","tool_input":{}}`,
			fmt.Sprintf(denied, `starhost: claude-code: unknown event \"PreToolUs\"; --fail-closed refuses it`)},
		{"no JSON", "/hooks/claude-code", `{"session_id"`, fmt.Sprintf(denied, "starhost: claude-code: got no JSON object")},
		{"no body", "/hooks/qwen", ``, fmt.Sprintf(denied, "starhost: qwen: the input is empty, want a JSON object")},
		{"two calls in one", "/hooks/claude-code", `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{},"tool_input":{}}`,
			fmt.Sprintf(denied, `starhost: claude-code: the event is not as documented: \"tool_input\" stands twice in one object`)},
		{"an agent that runs a program", "/hooks/goose", `{}`,
			"404 /hooks/goose: want one of claude-code, qwen: other agents run the program: starhost hook AGENT"},
		{"no agent", "/hooks/", `{}`, "404 404 page not found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ask(t, hooks, tt.path, tt.body); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestFire checks the answers to programs that fire events.
func TestFire(t *testing.T) {
	h := newHost(t, handlers{"pre_tool_call": denyRM})
	hooks := decide.NewServer(options(t, h)).Hooks()
	tests := []struct{ name, event, body, want string }{
		{"a call that may run", "pre_tool_call", `{"input":{"tool":"sh","arguments":{"c":"ls"}},"session":"s"}`,
			`200 {"action":"","event":"pre_tool_call","reason":""}`},
		{"a denied call", "pre_tool_call", `{"input":{"tool":"sh","arguments":{"c":"rm"}}}`,
			`200 {"action":"deny","event":"pre_tool_call","reason":"no rm"}`},
		{"nothing", "turn_end", `{}`, `200 {"action":"","event":"turn_end","reason":""}`},
		{"a misspelt event", "pre_tool_cal", `{}`,
			`400 {"error":"unknown event \"pre_tool_cal\" (did you mean pre_tool_call?)","schema":"starhost.fire/1"}`},
		{"a misspelt argument", "pre_tool_call", `{"input":{"tol":"sh"}}`,
			`400 {"error":"pre_tool_call: unknown argument \"tol\" (did you mean tool?), want session_id, tool, arguments, call_id, plugin, user_message, platform, roles, round, workspace, agent","schema":"starhost.fire/1"}`},
		{"another member", "pre_tool_call", `{"args":{}}`,
			`400 {"error":"the body: unknown member \"args\", want \"input\" and \"session\"","schema":"starhost.fire/1"}`},
		{"two inputs", "pre_tool_call", `{"input":{},"input":{}}`,
			`400 {"error":"the body: the event is not as documented: \"input\" stands twice in one object","schema":"starhost.fire/1"}`},
		{"another case", "pre_tool_call", `{"Input":{}}`,
			`400 {"error":"the body: the event is not as documented: got \"Input\", want \"input\"","schema":"starhost.fire/1"}`},
		{"another type", "pre_tool_call", `{"input":[]}`,
			`400 {"error":"the body: the event is not as documented: input: got array, want an object","schema":"starhost.fire/1"}`},
		{"no JSON", "pre_tool_call", `x`, `400 {"error":"the body: got no JSON object","schema":"starhost.fire/1"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ask(t, hooks, "/v1/fire/"+tt.event, tt.body); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestMissingGuard checks that a guard that is not loaded refuses calls of tools, and the prompts
// if it guards them, but never the end of a turn.
func TestMissingGuard(t *testing.T) {
	var undecided []string
	h := host.New(host.Options{Observe: func(e starhost.Event, out host.Outcome) error {
		undecided = append(undecided, fmt.Sprintf("%s %q: %s: %s", e.Name, e.Tool, out.Decision.Action, out.Lost))
		return nil
	}})
	h.Lose(host.Guard{Err: errors.New("g.star is broken")})
	o := options(t, h)
	hooks := decide.NewServer(o).Hooks()
	want := func(path, body, want string) {
		t.Helper()
		if got := ask(t, hooks, path, body); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	const prompt = `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"hi"}`
	want("/hooks/claude-code", call("s", "ls"), fmt.Sprintf(denied, "starhost: g.star is broken"))
	want("/hooks/claude-code", `{"session_id":"s","hook_event_name":"Stop"}`, "200")
	want("/hooks/claude-code", prompt,
		`200 {"systemMessage":"starhost: a guard is not loaded, so starhost refuses all calls of tools: g.star is broken"}`)
	want("/v1/fire/pre_tool_call", `{"input":{"tool":"sh"}}`, `200 {"action":"deny","event":"pre_tool_call","reason":"starhost: g.star is broken"}`)
	want("/v1/fire/pre_file_save", `{}`, `200 {"action":"deny","event":"pre_file_save","reason":"starhost: g.star is broken"}`)
	want("/v1/fire/turn_start", `{}`, `200 {"action":"","event":"turn_start","reason":""}`)
	h.Lose(host.Guard{Err: errors.New("p.star is broken"), Events: []string{"pre_llm_call"}})
	want("/hooks/claude-code", prompt, `200 {"decision":"block","reason":"starhost: p.star is broken"}`)
	want("/v1/fire/turn_start", `{}`, `200 {"action":"abort","event":"turn_start","reason":"starhost: p.star is broken"}`)
	want("/v1/fire/turn_end", `{}`, `200 {"action":"","event":"turn_end","reason":""}`)
	wantUndecided := []string{
		`pre_tool_call "Bash": deny: g.star is broken`, `pre_tool_call "sh": deny: g.star is broken`,
		`pre_file_save "": deny: g.star is broken`,
		`turn_start "": abort: p.star is broken`, `turn_start "": abort: p.star is broken`,
	}
	if !slices.Equal(undecided, wantUndecided) {
		t.Errorf("undecided: got %q, want %q", undecided, wantUndecided)
	}
}

// TestLate checks that a handler that does not stop delays no answer: neither its own, nor one of
// its session, nor one of another session.
func TestLate(t *testing.T) {
	release := make(chan bool)
	h := newHost(t, handlers{
		"pre_tool_call": func(_ context.Context, e *starhost.Event) (starhost.Decision, error) {
			if strings.Contains(string(e.Arguments), "hang") {
				<-release
			}
			return denyRM(context.Background(), e)
		},
		"turn_end": func(context.Context, *starhost.Event) (starhost.Decision, error) {
			<-release
			return starhost.Decision{}, nil
		},
	})
	o := options(t, h)
	o.Deadline = 300 * time.Millisecond
	o.Warn = func(string) {}
	var undecided atomic.Int64
	o.Undecided = func(_ *starhost.Event, answered, reason string) {
		if answered != "deny" || !strings.Contains(reason, "no answer within 300ms") {
			t.Errorf("undecided: got %s: %s", answered, reason)
		}
		undecided.Add(1)
	}
	hooks := decide.NewServer(o).Hooks()
	late := fmt.Sprintf(denied, "starhost: the plugins gave no answer within 300ms")
	if got := ask(t, hooks, "/hooks/claude-code", call("s", "hang")); got != late {
		t.Errorf("a handler that hangs: got %s", got)
	}
	if got := ask(t, hooks, "/hooks/claude-code", call("other", "rm")); got != fmt.Sprintf(denied, "denied by guards: no rm") {
		t.Errorf("another session: got %s", got)
	}
	want := `200 {"action":"deny","event":"pre_tool_call","reason":"starhost: the plugins gave no answer within 300ms"}`
	for _, command := range []string{"hang", "ls"} { // the second one waits for the first
		body := fmt.Sprintf(`{"input":{"tool":"sh","arguments":{"c":%q}},"session":"f"}`, command)
		if got := ask(t, hooks, "/v1/fire/pre_tool_call", body); !strings.HasPrefix(got, want[:45]) {
			t.Errorf("fire %s: got %s, want %s", command, got, want)
		}
	}
	if got := ask(t, hooks, "/hooks/claude-code", `{"session_id":"s2","hook_event_name":"Stop"}`); got != "200" {
		t.Errorf("the end of a turn: got %s, want that it passes", got)
	}
	if n := undecided.Load(); n != 2 && n != 3 { // ls can have an answer
		t.Errorf("got %d events that plugins did not decide, want 2 or 3", n)
	}
	close(release)
}

// TestRefuse checks that an agent gets a refusal that it understands for a request that the front
// refuses, because it takes an error for a permission.
func TestRefuse(t *testing.T) {
	s := decide.NewServer(options(t, host.New(host.Options{})))
	h := front.Options{Token: "0123456789abcdef", NeedsToken: true, MaxBody: 100, MaxRequests: 1, Refuse: s.Refuse}.Handler(s.Hooks())
	if got, want := ask(t, h, "/hooks/qwen", "{}"), fmt.Sprintf(denied, "starhost: Authorization: want the bearer token"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := ask(t, h, "/v1/fire/pre_tool_call", "{}"), "401 Authorization: want the bearer token"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestClients checks many clients at once, of which some read their answers a byte at a time and
// some hang up: all others get their answers, the memory in use does not grow, and no goroutine
// remains. With STARHOST_LONG there are 200 clients for a minute.
func TestClients(t *testing.T) {
	clients, most := 20, 50*time.Millisecond
	if os.Getenv("STARHOST_LONG") != "" {
		clients, most = 200, time.Minute
	}
	h := newHost(t, handlers{"pre_tool_call": denyRM})
	s := decide.NewServer(options(t, h))
	o := front.Options{
		Token: "0123456789abcdef", NeedsToken: true, MaxBody: decide.MaxBody, MaxRequests: decide.MaxRequests, Refuse: s.Refuse,
	}
	l, err := o.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- o.Serve(ctx, l, s.Hooks()) }()
	var wg sync.WaitGroup
	var answers atomic.Int64
	timeout, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	half := make(chan uint64, 1)
	time.AfterFunc(most/2, func() { half <- heapInUse() })
	for i := range clients {
		wg.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := http.Client{Transport: transport}
			for n := 0; n < 3 || timeout.Err() == nil; n++ {
				if i%5 == 4 { // a client that hangs up
					c, err := net.Dial("tcp", l.Addr().String())
					if err != nil {
						t.Error(err)
						return
					}
					fmt.Fprintf(c, "POST /hooks/claude-code HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\n{", o.Token)
					c.Close()
					time.Sleep(time.Millisecond)
					continue
				}
				if i%5 == 3 {
					got := readSlowly(t, l.Addr().String(), o.Token, call(fmt.Sprint("s", i), "rm x"))
					if !strings.Contains(got, "no rm") {
						t.Errorf("a slow reader got %s", got)
						return
					}
					continue
				}
				command, want := "ls", ""
				if n%2 == 1 {
					command, want = "rm x", fmt.Sprintf(denied, "denied by guards: no rm")[4:]
				}
				r, _ := http.NewRequestWithContext(t.Context(), "POST", decide.HooksURL(l.Addr().String(), "claude-code"),
					strings.NewReader(call(fmt.Sprint("s", i), command)))
				r.Header.Set("Authorization", "Bearer "+o.Token)
				a, err := client.Do(r)
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(a.Body)
				a.Body.Close()
				if err != nil || strings.TrimSpace(string(text)) != want {
					t.Errorf("got %s, %v, want %s", text, err, want)
					return
				}
				answers.Add(1)
			}
		})
	}
	wg.Wait()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	before, after := <-half, heapInUse()
	t.Logf("%d answers, %d KiB in use half way, %d KiB at the end", answers.Load(), before>>10, after>>10)
	if after > before+8<<20 {
		t.Errorf("%d bytes in use half way, %d at the end: want no growth", before, after)
	}
}

// heapInUse returns the bytes of the heap after a collection.
func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// readSlowly sends an event and reads the answer a byte at a time.
func readSlowly(t *testing.T, address, token, event string) string {
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer c.Close()
	_ = c.(*net.TCPConn).SetReadBuffer(1)
	fmt.Fprintf(c, "POST /hooks/claude-code HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n"+
		"Content-Length: %d\r\n\r\n%s", token, len(event), event)
	var text []byte
	for b := make([]byte, 1); ; {
		if _, err := c.Read(b); err != nil {
			return string(text)
		}
		text = append(text, b[0])
		if len(text)%50 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// FuzzHooks checks that no event gets another answer than JSON or nothing, at status 200.
func FuzzHooks(f *testing.F) {
	for _, seed := range []string{call("s", "rm"), `{"hook_event_name":"Stop"}`, `{"hook_event_name":1}`, "{", ""} {
		f.Add(seed)
	}
	h := host.New(host.Options{})
	o := decide.Options{
		Host: func() *host.Host { return h }, Warn: func(string) {},
		Outcome: func(string, host.Outcome) any { return nil },
	}
	hooks := decide.NewServer(o).Hooks()
	f.Fuzz(func(t *testing.T, body string) {
		for _, agent := range []string{"claude-code", "qwen"} {
			status, text, _ := strings.Cut(ask(t, hooks, "/hooks/"+agent, body), " ")
			if status != "200" || text != "" && !json.Valid([]byte(text)) {
				t.Errorf("%s %q: got %s %s", agent, body, status, text)
			}
		}
		if text := ask(t, hooks, "/v1/fire/pre_tool_call", body); !json.Valid([]byte(text[4:])) {
			t.Errorf("fire %q: got %s", body, text)
		}
	})
}

// TestHooksOpen checks that an operator can let events with unknown names pass, as the refusal of
// one says, and that a name in another spelling is refused even then.
func TestHooksOpen(t *testing.T) {
	h := newHost(t, handlers{"pre_tool_call": denyRM})
	event := `{"session_id":"s","hook_event_name":"NewEvent"}`
	for _, tt := range []struct {
		isOpen     bool
		body, want string
	}{
		{false, event, "--fail-closed=false lets it pass"},
		{true, event, ""},
		{true, `{"session_id":"s","hook_event_name":"pretooluse","tool_name":"Bash","tool_input":{}}`, "did you mean PreToolUse?"},
	} {
		o := options(t, h)
		warned := ""
		o.IsOpen, o.Warn = tt.isOpen, func(text string) { warned += text }
		w := httptest.NewRecorder()
		decide.NewServer(o).Hooks().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/hooks/claude-code", strings.NewReader(tt.body)))
		if got := w.Body.String(); !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%v %s: got %q, want %q", tt.isOpen, tt.body, got, tt.want)
		}
		if passes := tt.want == ""; passes != strings.Contains(warned, "no guard was asked") {
			t.Errorf("%v %s: the operator reads %q", tt.isOpen, tt.body, warned)
		}
	}
}
