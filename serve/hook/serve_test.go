package hook_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/hook"
)

func hostOf(t testing.TB, hooks ...starhost.Hook) *host.Host {
	t.Helper()
	h := host.New(host.Options{})
	if err := h.Add(starhost.Plugin{Name: "p", Hooks: hooks}); err != nil {
		t.Fatal(err)
	}
	return h
}

func hookOn(event string, decide func(context.Context, *starhost.Event) starhost.Decision) starhost.Hook {
	call := func(ctx context.Context, e *starhost.Event) (starhost.Decision, error) {
		return decide(ctx, e), nil
	}
	return starhost.Hook{Event: event, Call: call}
}

func serve(t testing.TB, h *host.Host, in io.Reader, out io.Writer) error {
	t.Helper()
	d := hook.Desk{Load: asks(h), Warn: func(string) {}}
	return d.Serve(t.Context(), in, out)
}

// asks returns a Load function that gives each event the plugins of the host.
func asks(h *host.Host) func(context.Context, *hook.Event) hook.Plugins {
	return func(context.Context, *hook.Event) hook.Plugins { return hook.Plugins{Host: h} }
}

// answers returns the answers in the output, by id. It fails the test if an id has no answer, or two.
func answers(t testing.TB, out string) map[int]string {
	t.Helper()
	got := map[int]string{}
	for line := range strings.Lines(out) {
		var m struct {
			ID     int
			Result json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if _, twice := got[m.ID]; twice {
			t.Fatalf("%d is answered twice", m.ID)
		}
		got[m.ID] = string(m.Result)
	}
	return got
}

// TestServeMany sends 10,000 requests of many conversations. Serve must answer each once, keep the
// order of each conversation, and leave no goroutine behind.
func TestServeMany(t *testing.T) {
	defer goleak.VerifyNone(t)
	const requests, sessions = 10_000, 37
	var mu sync.Mutex
	last := map[string]int{}
	h := hostOf(t, hookOn("pre_tool_call", func(_ context.Context, e *starhost.Event) starhost.Decision {
		var args struct{ N int }
		_ = json.Unmarshal(e.Arguments, &args)
		mu.Lock()
		defer mu.Unlock()
		if args.N <= last[e.SessionID] {
			t.Errorf("session %s: request %d after %d", e.SessionID, args.N, last[e.SessionID])
		}
		last[e.SessionID] = args.N
		return starhost.Deny(fmt.Sprint(args.N))
	}))
	var in, out bytes.Buffer
	for i := 1; i <= requests; i++ {
		fmt.Fprintf(&in, `{"id":%d,"method":"hook.before_tool","params":{"meta":{"SessionKey":"s%d"},"tool":"x","arguments":{"n":%d}}}`+"\n", i, i%sessions, i)
	}
	if err := serve(t, h, &in, &out); err != nil {
		t.Fatal(err)
	}
	got := answers(t, out.String())
	for i := 1; i <= requests; i++ {
		if want := fmt.Sprintf(`{"action":"deny_tool","reason":"denied by p: %d"}`, i); got[i] != want {
			t.Fatalf("request %d: got %s, want %s", i, got[i], want)
		}
	}
}

// TestRefusedSession checks that the record of a request that starhost cannot read names its
// conversation.
func TestRefusedSession(t *testing.T) {
	var in bytes.Buffer
	var got []string
	for i, method := range []string{"before_tool", "approve_tool", "before_llm"} {
		fmt.Fprintf(&in, `{"id":%d,"method":"hook.%s","params":{"meta":{"SessionKey":"s%[1]d"},"tool":"x","tool":"y","messages":[]}}`+"\n", i+1, method)
	}
	d := hook.Desk{
		Load: asks(hostOf(t)), Warn: func(string) {},
		Record: func(e *starhost.Event, a hook.Answer) error {
			got = append(got, e.SessionID+" "+e.Name+" "+a.Action+" "+a.Refused)
			return nil
		},
	}
	if err := d.Serve(t.Context(), &in, io.Discard); err != nil {
		t.Fatal(err)
	}
	const why = `starhost cannot read the request: "tool" stands twice in one object`
	want := []string{"s1 pre_tool_call deny " + why, "s2 approve_tool_call deny " + why, "s3 turn_start deny " + why}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestServeSessionsEnd opens more conversations than Serve stores. Serve must end the oldest ones
// early and all others at its end.
func TestServeSessionsEnd(t *testing.T) {
	defer goleak.VerifyNone(t)
	const sessions = 1500 // more than maxSessions
	var mu sync.Mutex
	ended := map[string]int{}
	h := hostOf(t, hookOn("session_end", func(_ context.Context, e *starhost.Event) starhost.Decision {
		mu.Lock()
		defer mu.Unlock()
		ended[e.SessionID]++
		return starhost.Decision{}
	}))
	var in bytes.Buffer
	for i := range sessions {
		fmt.Fprintf(&in, `{"id":%d,"method":"hook.before_llm","params":{"meta":{"SessionKey":"s%d","TurnID":"t"},"messages":[{"role":"user","content":"x"}]}}`+"\n", i+1, i)
	}
	if err := serve(t, h, &in, io.Discard); err != nil {
		t.Fatal(err)
	}
	if len(ended) != sessions {
		t.Errorf("got %d sessions ended, want %d", len(ended), sessions)
	}
	for id, n := range ended {
		if n != 1 {
			t.Errorf("%s ended %d times", id, n)
		}
	}
}

// TestServeBeside checks that a conversation that waits for a plugin does not delay other
// conversations.
func TestServeBeside(t *testing.T) {
	defer goleak.VerifyNone(t)
	release := make(chan struct{})
	h := hostOf(t, hookOn("pre_tool_call", func(ctx context.Context, e *starhost.Event) starhost.Decision {
		if e.SessionID == "slow" {
			<-release
		}
		return starhost.Decision{}
	}))
	in, requests := io.Pipe()
	replies, out := io.Pipe()
	done := make(chan error)
	go func() { done <- serve(t, h, in, out) }()
	lines := bufio.NewScanner(replies)
	for i, session := range []string{"slow", "quick"} {
		fmt.Fprintf(requests, `{"id":%d,"method":"hook.before_tool","params":{"meta":{"SessionKey":%q},"tool":"x"}}`+"\n", i+1, session)
	}
	for _, id := range []string{`"id":2`, `"id":1`} {
		if !lines.Scan() || !strings.Contains(lines.Text(), id) {
			t.Errorf("got %s, want %s", lines.Text(), id)
		}
		if id == `"id":2` {
			close(release)
		}
	}
	requests.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestServeMemory checks that requests share no memory: conversations that grow while another one
// waits must get the same answers as a request that Serve answers alone.
func TestServeMemory(t *testing.T) {
	defer goleak.VerifyNone(t)
	alone := true
	var release chan struct{}
	h := hostOf(t, hookOn("pre_llm_call", func(_ context.Context, e *starhost.Event) starhost.Decision {
		switch {
		case alone:
		case e.SessionID == "slow":
			<-release
		case e.SessionID == "last":
			close(release)
		}
		var said []string
		for _, m := range e.Messages.Items() {
			said = append(said, m.Role+" "+m.Content.String())
		}
		return starhost.TextContext(strings.Join(said, ", "))
	}))
	request := func(id int, session string, messages ...string) string {
		list := []map[string]string{{"role": "system", "content": "for " + session}}
		for i, m := range messages {
			list = append(list, map[string]string{"role": []string{"user", "assistant"}[i%2], "content": m})
		}
		text, _ := json.Marshal(list)
		return fmt.Sprintf(`{"id":%d,"method":"hook.before_llm","params":{"meta":{"SessionKey":%q},"messages":%s}}`+"\n", id, session, text)
	}
	for range 20 {
		lines := []string{request(1, "first", "a"), request(2, "slow", "a", "b", "slow words")}
		said := map[string][]string{}
		for i := 3; i < 30; i++ {
			session := fmt.Sprint("s", i%3)
			said[session] = append(said[session], fmt.Sprintf("%s words %d", session, i), strings.Repeat("answer ", i))
			lines = append(lines, request(i, session, said[session][:len(said[session])-1]...))
		}
		lines = append(lines, request(30, "last", "a", "b", "go"))
		want := map[int]string{}
		alone = true
		for _, line := range lines {
			var out bytes.Buffer
			if err := serve(t, h, strings.NewReader(line), &out); err != nil {
				t.Fatal(err)
			}
			maps.Copy(want, answers(t, out.String()))
		}
		alone, release = false, make(chan struct{})
		var out bytes.Buffer
		if err := serve(t, h, strings.NewReader(strings.Join(lines, "")), &out); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, answers(t, out.String())); diff != "" {
			t.Fatalf("answers (-want +got):\n%s", diff)
		}
	}
}

// TestServeHelloFirst checks that Serve answers hook.hello while the plugins load, and all other
// requests afterwards.
func TestServeHelloFirst(t *testing.T) {
	defer goleak.VerifyNone(t)
	loaded := make(chan struct{})
	in, requests := io.Pipe()
	replies, out := io.Pipe()
	done := make(chan error)
	go func() {
		d := hook.Desk{Warn: func(string) {}, Load: func(context.Context, *hook.Event) hook.Plugins {
			<-loaded
			return hook.Plugins{Host: hostOf(t)}
		}}
		done <- d.Serve(t.Context(), in, out)
	}()
	io.WriteString(requests, `{"id":1,"method":"hook.before_tool","params":{"tool":"x"}}`+"\n"+`{"id":2,"method":"hook.hello"}`+"\n")
	lines := bufio.NewScanner(replies)
	if !lines.Scan() || !strings.Contains(lines.Text(), `"id":2`) {
		t.Errorf("got %s, want hello's answer", lines.Text())
	}
	close(loaded)
	if !lines.Scan() || !strings.Contains(lines.Text(), `"action":"continue"`) {
		t.Errorf("got %s, want continue", lines.Text())
	}
	requests.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestLawServeGarbage checks that Serve answers any input, in any pieces, with one line of JSON for each
// request.
func TestLawServeGarbage(t *testing.T) {
	h := hostOf(t, hookOn("pre_llm_call", func(_ context.Context, e *starhost.Event) starhost.Decision {
		return starhost.TextContext(e.UserMessage)
	}),
		hookOn("pre_tool_call", func(_ context.Context, e *starhost.Event) starhost.Decision { return starhost.Deny("no") }))
	pieces := []string{
		`{"id":1,"method":"hook.before_llm","params":{"messages":[{"role":"user","content":"x"}]}}`, `{"id":2,"method":"hook.before_tool","params":{`,
		`{"id":3,"method":"hook.after_tool","params":{"tool":"x","result":`, `null`, `}}`, "\n", "\n", "\r\n", "\x00", `"`, `{`, `}`, `[]`, `{"id":`, `4`, `,"method":"hook.`,
		`approve_tool","params":{}}`, `{"messages":[{"role":"user","content":[{"type":"text","text":"y"}]},null,7]}`, `{"role":"system","content":null}`, "é\xff",
		`{"id":5,"method":"hook.after_llm","params":{"response":{"content":"c","tool_calls":[{}]}}}`, `{"id":6,"method":"hook.before_llm","params":{"messages":null,"tools":[null,{}]}}`,
	}
	rapid.Check(t, func(rt *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(rt, "pieces"), "")
		var out bytes.Buffer
		if err := serve(t, h, strings.NewReader(in), &out); err != nil {
			rt.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			var m struct {
				JSONRPC string
				ID      json.RawMessage
				Result  map[string]any
				Error   *struct{ Code int }
			}
			err := json.Unmarshal([]byte(line), &m)
			if err != nil || m.JSONRPC != "2.0" || len(m.ID) == 0 || (m.Result == nil) == (m.Error == nil) {
				rt.Fatalf("%q is answered %q: %v", in, line, err)
			}
		}
	})
}

// TestServeBrokenPipes checks that Serve ends if its input or its output breaks.
func TestServeBrokenPipes(t *testing.T) {
	defer goleak.VerifyNone(t)
	broken := errors.New("broken")
	in, requests := io.Pipe()
	go func() {
		io.WriteString(requests, `{"id":1,"method":"hook.hello"}`+"\n")
		requests.CloseWithError(io.EOF)
	}()
	if err := serve(t, hostOf(t), in, writer(func([]byte) (int, error) { return 0, broken })); err != broken {
		t.Errorf("output breaks: got %v", err)
	}
	in, ends := io.Pipe()
	ends.CloseWithError(broken)
	if err := serve(t, hostOf(t), in, io.Discard); err != broken {
		t.Errorf("input breaks: got %v", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// TestLawServeEcho checks that an answer repeats the whole request except for the changes of
// plugins.
func TestLawServeEcho(t *testing.T) {
	h := hostOf(t, hookOn("pre_llm_call", func(_ context.Context, e *starhost.Event) starhost.Decision {
		return starhost.TextContext("context")
	}))
	value := rapid.Custom(func(t *rapid.T) any {
		return rapid.OneOf(
			rapid.Just(any(nil)), rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
			rapid.Map(rapid.String(), func(s string) any { return s }),
			rapid.Map(rapid.SliceOfN(rapid.Bool(), 0, 2), func(s []bool) any { return s }),
		).Draw(t, "value")
	})
	rapid.Check(t, func(rt *rapid.T) {
		params := map[string]any{"model": "m", "options": map[string]any{"o": value.Draw(rt, "option")}, "x": value.Draw(rt, "x")}
		message := map[string]any{"role": "user", "content": "w" + rapid.String().Draw(rt, "content"), "extra": value.Draw(rt, "extra")}
		params["messages"] = []any{map[string]any{"role": "system", "content": "s", "parts": value.Draw(rt, "parts")}, message}
		params["tools"] = []any{map[string]any{"type": "function", "function": map[string]any{"name": "x", "strict": value.Draw(rt, "strict")}}}
		line, _ := json.Marshal(map[string]any{"id": 1, "method": "hook.before_llm", "params": params})
		var out bytes.Buffer
		if err := serve(t, h, bytes.NewReader(append(line, '\n')), &out); err != nil {
			rt.Fatal(err)
		}
		var m struct {
			Result struct{ Request json.RawMessage }
		}
		if err := json.Unmarshal(out.Bytes(), &m); err != nil {
			rt.Fatal(err)
		}
		message["content"] = "context\n" + message["content"].(string)
		want, _ := json.Marshal(params)
		if got := canonical(m.Result.Request); got != canonical(want) {
			rt.Fatalf("got  %s\nwant %s", got, canonical(want))
		}
	})
}

// canonical returns the same text for all spellings of a JSON value.
func canonical(raw []byte) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err.Error()
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// TestServeDeadline checks that Serve refuses a slow guard's request at the deadline and lets other
// slow requests pass.
func TestServeDeadline(t *testing.T) {
	defer goleak.VerifyNone(t)
	h := hostOf(t, hookOn("pre_tool_call", func(ctx context.Context, e *starhost.Event) starhost.Decision {
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > 5*time.Second {
			return starhost.Deny("no deadline")
		}
		return starhost.Deny("there is a deadline")
	}))
	var out bytes.Buffer
	if err := serve(t, h, strings.NewReader(`{"id":1,"method":"hook.before_tool","params":{"tool":"x"}}`), &out); err != nil {
		t.Fatal(err)
	}
	if got := answers(t, out.String())[1]; !strings.Contains(got, "there is a deadline") {
		t.Errorf("got %s", got)
	}
}
