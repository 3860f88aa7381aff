package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/decide"
	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/store"
)

// TestLive checks who has a live session, and what it contains.
func TestLive(t *testing.T) {
	db := open(t, store.Options{URL: newDatabase(t)})
	take := func(holder string, lease time.Duration) string {
		t.Helper()
		record, taken, err := db.TakeLive(t.Context(), "s", holder, lease)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%v %s", taken, record)
	}
	put := func(holder string, record []byte, lease time.Duration) bool {
		t.Helper()
		held, err := db.StoreLive(t.Context(), "s", holder, record, lease)
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	want("a new session", take("a", time.Hour), "true ")
	want("another holder", take("b", time.Hour), "false ")
	want("the same holder", take("a", time.Hour), "true ")
	want("another holder stores", fmt.Sprint(put("b", []byte("x"), 0)), "false")
	want("the holder stores", fmt.Sprint(put("a", []byte("1\x00"), time.Hour)), "true")
	want("it still has the session", take("b", time.Hour), "false ")
	want("it gives the session back", fmt.Sprint(put("a", nil, 0)), "true")
	want("the record stays", take("b", time.Millisecond), "true 1\x00")
	for range 1000 { // the lease ends by the clock of the server
		if got := take("a", time.Hour); got != "false " {
			want("the lease has ended", got, "true 1\x00")
			break
		}
		time.Sleep(time.Millisecond)
	}
	want("the late holder", fmt.Sprint(put("b", []byte("2"), 0)), "false")
}

// newReplica returns a server that decides, with connections of its own to a database, or without one. Its
// plugin counts the events of a session, and denies each third.
func newReplica(t *testing.T, url string, warn func(string)) http.Handler {
	t.Helper()
	count := func(ctx context.Context, e *starhost.Event) (starhost.Decision, error) {
		state := effects.StateOf(host.TurnOf(ctx).Session(), "guards")
		var n int
		old, _ := state.Get("n")
		_ = json.Unmarshal(old, &n)
		n++
		if err := state.Set("n", json.RawMessage(fmt.Sprint(n))); err != nil {
			return starhost.Decision{}, err
		}
		if n%3 == 0 {
			return starhost.Decision{Action: starhost.ActionDeny, Reason: fmt.Sprintf("call %d: %s", n, e.Arguments)}, nil
		}
		return starhost.Decision{}, nil
	}
	h := host.New(host.Options{MaxWaiting: 1000})
	if err := h.Add(starhost.Plugin{Name: "guards", Hooks: []starhost.Hook{
		{Event: "pre_tool_call", Call: count},
		{Event: "turn_start", Call: count},
	}}); err != nil {
		t.Fatal(err)
	}
	o := decide.Options{
		Host: func() *host.Host { return h }, Warn: warn,
		Outcome: func(event string, out host.Outcome) any {
			return fmt.Sprint(event, out.Decision.Action, out.Decision.Reason)
		},
	}
	if url != "" {
		db := open(t, store.Options{URL: url})
		o.Shared = &hook.Shared{Take: db.TakeLive, Store: db.StoreLive}
	}
	s := decide.NewServer(o)
	mux := http.NewServeMux()
	mux.Handle("/hooks/", s.Hooks())
	mux.Handle("/v1/fire/", s.Hooks())
	mux.Handle("/", s.Guardrails())
	return mux
}

// question returns the path and the body of question n of a session.
func question(session string, n int) (path, body string) {
	switch n % 4 {
	case 0:
		return "/hooks/claude-code", fmt.Sprintf(`{"session_id":%q,"hook_event_name":"UserPromptSubmit","prompt":"p%d"}`, session, n)
	case 1:
		return "/v1/fire/pre_tool_call", fmt.Sprintf(`{"input":{"tool":"sh","arguments":{"n":%d}},"session":%q}`, n, session)
	case 2:
		return "/litellm/beta/litellm_basic_guardrail_api", fmt.Sprintf(`{"texts":["t%d"],"input_type":"request","litellm_trace_id":%q}`, n, session)
	}
	return "/hooks/claude-code", fmt.Sprintf(`{"session_id":%q,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"c%d"},"tool_use_id":"%d"}`, session, n, n)
}

func askReplica(t *testing.T, h http.Handler, path, body string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body)))
	return fmt.Sprintf("%s %s: %d %s", path, body, w.Code, w.Body)
}

// TestReplicas checks that two servers with one database answer as one server does: sessions whose questions
// take turns between them get the same bytes.
func TestReplicas(t *testing.T) {
	sessions := 40
	if os.Getenv("STARHOST_LONG") != "" {
		sessions = 1000
	}
	url := newDatabase(t)
	warn := func(text string) { t.Errorf("warning: %s", text) }
	one := newReplica(t, "", warn)
	two := []http.Handler{newReplica(t, url, warn), newReplica(t, url, warn)}
	var workers sync.WaitGroup
	for worker := range 4 {
		workers.Go(func() {
			for s := worker; s < sessions; s += 4 {
				for n := range 8 {
					path, body := question(fmt.Sprintf("s%d", s), n)
					got, want := askReplica(t, two[(s+n)%2], path, body), askReplica(t, one, path, body)
					if got != want {
						t.Errorf("two servers: %s\none server: %s", got, want)
					}
				}
			}
		})
	}
	workers.Wait()
}

// TestReplicasAtOnce checks that no call of a session is lost when all come at once.
func TestReplicasAtOnce(t *testing.T) {
	url := newDatabase(t)
	warn := func(text string) { t.Errorf("warning: %s", text) }
	two := []http.Handler{newReplica(t, url, warn), newReplica(t, url, warn)}
	const calls = 12
	var mu sync.Mutex
	denied := 0
	var all sync.WaitGroup
	for n := range calls {
		all.Go(func() {
			answer := askReplica(t, two[n%2], "/v1/fire/pre_tool_call", `{"input":{"tool":"sh"},"session":"s"}`)
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(answer, "deny") {
				denied++
			}
		})
	}
	all.Wait()
	if denied != calls/3 {
		t.Errorf("%d of %d calls are denied, want each third", denied, calls)
	}
}

// TestReplicaDrains checks that a server which ends gives its sessions back first.
func TestReplicaDrains(t *testing.T) {
	stored := make(chan struct{})
	shared := &hook.Shared{
		Take: func(context.Context, string, string, time.Duration) ([]byte, bool, error) { return nil, true, nil },
		Store: func(_ context.Context, _, _ string, _ []byte, lease time.Duration) (bool, error) {
			if lease == 0 {
				<-stored
			}
			return true, nil
		},
	}
	h := host.New(host.Options{})
	s := decide.NewServer(decide.Options{
		Host: func() *host.Host { return h }, Warn: func(string) {}, Shared: shared,
		Outcome: func(string, host.Outcome) any { return nil },
	})
	askReplica(t, s.Hooks(), "/v1/fire/pre_tool_call", `{"input":{"tool":"sh"},"session":"s"}`)
	if s.Sessions() != 1 {
		t.Error("the session is stored before the test lets it")
	}
	close(stored)
	s.Drain()
	if n := s.Sessions(); n != 0 {
		t.Errorf("%d sessions are not given back", n)
	}
}

// TestReplicaDies checks that a session goes on when the server that held it has died.
func TestReplicaDies(t *testing.T) {
	url := newDatabase(t)
	db := open(t, store.Options{URL: url})
	h := newReplica(t, url, func(text string) { t.Errorf("warning: %s", text) })
	const body = `{"input":{"tool":"sh"},"session":"s"}`
	askReplica(t, h, "/v1/fire/pre_tool_call", body)
	names := store.LiveNames(t, db)
	if len(names) != 1 {
		t.Fatalf("got %d sessions, want 1", len(names))
	}
	const lease = 200 * time.Millisecond
	var start time.Time
	late := time.Now().Add(10 * time.Second)
	for taken := false; !taken; { // the first server gives the session back behind its answer
		start = time.Now()
		var err error
		if _, taken, err = db.TakeLive(t.Context(), string(names[0]), "dead", lease); err != nil || start.After(late) {
			t.Fatal("the session is not given back", err)
		}
	}
	if got := askReplica(t, h, "/v1/fire/pre_tool_call", body); strings.Contains(got, "deny") {
		t.Errorf("got %s", got)
	}
	if waited := time.Since(start); waited < lease-5*time.Millisecond {
		t.Errorf("the session of the dead server goes on after %v, want the end of its lease", waited)
	}
	if got := askReplica(t, h, "/v1/fire/pre_tool_call", body); !strings.Contains(got, "call 3") {
		t.Errorf("got %s, want the third call of the session denied", got)
	}
}

// TestReplicaWithoutDatabase checks that a server refuses calls while it cannot read a session, and that no
// other server's changes are lost when it comes too late.
func TestReplicaWithoutDatabase(t *testing.T) {
	var record []byte
	var down error
	held := true
	shared := &hook.Shared{
		Take: func(context.Context, string, string, time.Duration) ([]byte, bool, error) { return record, true, down },
		Store: func(_ context.Context, _, _ string, next []byte, _ time.Duration) (bool, error) {
			if held && down == nil && next != nil {
				record = bytes.Clone(next)
			}
			return held, down
		},
	}
	h := host.New(host.Options{})
	if err := h.Add(starhost.Plugin{Name: "guards", Hooks: []starhost.Hook{{
		Event: "pre_tool_call", Call: func(ctx context.Context, _ *starhost.Event) (starhost.Decision, error) {
			return starhost.Decision{}, effects.StateOf(host.TurnOf(ctx).Session(), "guards").Set("n", json.RawMessage("1"))
		},
	}}}); err != nil {
		t.Fatal(err)
	}
	var warnings []string
	s := decide.NewServer(decide.Options{
		Host: func() *host.Host { return h }, Warn: func(text string) { warnings = append(warnings, text) }, Shared: shared,
		Outcome: func(_ string, out host.Outcome) any {
			return fmt.Sprint(out.Decision.Action, ": ", out.Decision.Reason)
		},
	})
	fire := func() string {
		return askReplica(t, s.Hooks(), "/v1/fire/pre_tool_call", `{"input":{"tool":"sh"},"session":"s"}`)
	}
	agent := func() string {
		_, body := question("s", 3)
		return askReplica(t, s.Hooks(), "/hooks/claude-code", body)
	}
	for name, ask := range map[string]func() string{"fire": fire, "agent": agent} {
		ask := func() string {
			got := ask()
			for s.Sessions() > 0 { // the session is given back behind the answer
				time.Sleep(time.Millisecond)
			}
			return got
		}
		down, held, record = nil, true, nil
		if got := ask(); strings.Contains(got, "deny") || len(record) == 0 {
			t.Errorf("%s: got %s and record %s, want the call to run", name, got, record)
		}
		down = errors.New("the database is away")
		if got := ask(); !strings.Contains(got, "deny") || !strings.Contains(got, "the database is away") {
			t.Errorf("%s: got %s, want a refusal that names the database", name, got)
		}
		down, record = nil, []byte(`{"starhost_live":7}`)
		if got := ask(); !strings.Contains(got, "deny") || !strings.Contains(got, "version 1") {
			t.Errorf("%s: got %s, want a refusal that names the version", name, got)
		}
		held, record = false, nil
		if got := ask(); !strings.Contains(got, "deny") || !strings.Contains(got, "another server") {
			t.Errorf("%s: got %s, want a refusal that says who has the session", name, got)
		}
	}
}
