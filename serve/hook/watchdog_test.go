package hook_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/serve/hook"
)

// A connection sends requests to Serve and reads its answers.
type connection struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Scanner
	done chan error
	id   int
	got  map[int]string // answers that arrived while the test waited for another one
}

func connect(t *testing.T, deadline time.Duration, load func(context.Context, *hook.Event) hook.Plugins) *connection {
	in, requests := io.Pipe()
	replies, out := io.Pipe()
	c := &connection{t: t, in: requests, out: bufio.NewScanner(replies), done: make(chan error, 1), got: map[int]string{}}
	go func() {
		d := hook.Desk{Load: load, Warn: func(string) {}, Deadline: deadline}
		c.done <- d.Serve(context.Background(), in, out)
		out.Close()
	}()
	return c
}

// send sends a request without waiting for the answer.
func (c *connection) send(method, session, params string) {
	c.id++
	fmt.Fprintf(c.in, `{"id":%d,"method":"hook.%s","params":{"meta":{"SessionKey":%q,"TurnID":"t"},%s}}`+"\n", c.id, method, session, params)
}

// answer returns the answer to a request.
func (c *connection) answer(id int) string {
	c.t.Helper()
	for c.got[id] == "" {
		if !c.out.Scan() {
			c.t.Fatal("got no answer")
		}
		var m struct {
			ID     int
			Result json.RawMessage
		}
		_ = json.Unmarshal(c.out.Bytes(), &m)
		c.got[m.ID] = string(m.Result)
	}
	return c.got[id]
}

// ask sends a request and returns its answer.
func (c *connection) ask(method, session, params string) string {
	c.t.Helper()
	c.send(method, session, params)
	return c.answer(c.id)
}

// TestServeStuck runs a handler that nothing can stop. The watchdog must refuse its request and the
// later requests of its conversation, let other conversations go on, and refuse the approval of the
// call.
func TestServeStuck(t *testing.T) {
	defer goleak.VerifyNone(t)
	const deadline = 60 * time.Millisecond
	release := make(chan struct{})
	h := hostOf(t, hookOn("pre_tool_call", func(_ context.Context, e *starhost.Event) starhost.Decision {
		if e.Tool == "hang" {
			<-release // the handler ignores its context
		}
		return starhost.Decision{}
	}))
	c := connect(t, deadline, asks(h))
	late := "the plugins gave no answer within 60ms"
	want := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	begin := time.Now()
	want(c.ask("before_tool", "s", `"tool":"hang","arguments":{"a":1,"b":2}`), `{"action":"deny_tool","reason":"`+late)
	want(c.ask("approve_tool", "s", `"tool":"hang","arguments":{"b":2,"a":1}`), `{"approved":false,"reason":"`+late)
	want(c.ask("before_tool", "s", `"tool":"quick"`), "deny_tool")
	want(c.ask("before_llm", "s", `"messages":[{"role":"user","content":"x"}]`), "abort_turn")
	want(c.ask("after_tool", "s", `"tool":"quick","result":{"for_llm":"x"}`), "continue")
	if took := time.Since(begin); took < 5*deadline {
		t.Errorf("five requests took %v, want the deadline of each", took)
	}
	// Other conversations must go on, even while many requests of the first one wait.
	for range 100 {
		c.send("before_tool", "s", `"tool":"quick"`)
	}
	want(c.ask("before_tool", "other", `"tool":"quick"`), "continue")
	for id := c.id - 100; id < c.id; id++ {
		want(c.answer(id), "deny_tool")
	}
	close(release)
	for c.ask("before_tool", "s", `"tool":"quick"`) != `{"action":"continue"}` {
		if time.Since(begin) > time.Minute {
			t.Fatal("the conversation stays refused after the handler ended")
		}
	}
	want(c.ask("approve_tool", "s", `"tool":"hang","arguments":{"a":1,"b":2}`), `{"approved":false`)
	want(c.ask("before_tool", "s", `"tool":"hang","arguments":{"a":1,"b":2}`), "continue")
	want(c.ask("approve_tool", "s", `"tool":"hang","arguments":{"a":1,"b":2}`), `{"approved":true}`)
	c.in.Close()
	if err := <-c.done; err != nil {
		t.Error(err)
	}
}

// TestServeStuckLoad checks that loading counts toward the deadline, and that a handler that never
// ends cannot prevent the end of Serve.
func TestServeStuckLoad(t *testing.T) {
	defer goleak.VerifyNone(t)
	release := make(chan struct{})
	c := connect(t, 50*time.Millisecond, func(context.Context, *hook.Event) hook.Plugins {
		<-release
		return hook.Plugins{Host: hostOf(t)}
	})
	if got := c.ask("before_tool", "s", `"tool":"x"`); !strings.Contains(got, "deny_tool") {
		t.Errorf("got %s, want deny_tool", got)
	}
	c.in.Close()
	if err := <-c.done; err != hook.ErrStuck {
		t.Errorf("got %v, want %v", err, hook.ErrStuck)
	}
	close(release)
}

// TestServePanics checks that starhost refuses the call and goes on after a panic, which may occur while it
// loads plugins or while it answers.
func TestServePanics(t *testing.T) {
	defer goleak.VerifyNone(t)
	in := `{"jsonrpc":"2.0","id":1,"method":"hook.before_tool","params":{"tool":"x"}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"hook.hello"}` + "\n"
	var once sync.Once
	for what, o := range map[string]hook.Desk{
		"load": {Warn: func(string) {}, Load: func(context.Context, *hook.Event) hook.Plugins { panic("boom") }},
		"answer": {
			Warn: func(string) { once.Do(func() { panic("boom") }) },
			Load: func(context.Context, *hook.Event) hook.Plugins {
				h := hostOf(t)
				h.Lose(host.Guard{Err: errors.New("lost"), Open: true})
				return hook.Plugins{Host: h}
			},
		},
	} {
		var out bytes.Buffer
		if err := o.Serve(t.Context(), strings.NewReader(in), &out); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		got := answers(t, out.String())
		if !strings.Contains(got[1], "deny_tool") || !strings.Contains(got[1], "panic: boom") || got[2] == "" {
			t.Errorf("%s: got %v, want a denial and hello's answer", what, got)
		}
	}
}

// TestServeApprovals checks that approve_tool uses the decision of before_tool: it refuses a call
// that before_tool denied. If plugins changed the arguments of a call, it refuses the original
// call. If PicoClaw sends approvals alone, approve_tool asks the guards, which cannot change the
// call.
func TestServeApprovals(t *testing.T) {
	defer goleak.VerifyNone(t)
	asked := 0
	h := hostOf(t, hookOn("pre_tool_call", func(_ context.Context, e *starhost.Event) starhost.Decision {
		asked++
		var args struct{ Do string }
		_ = json.Unmarshal(e.Arguments, &args)
		switch args.Do {
		case "deny":
			return starhost.Deny("no")
		case "ask":
			return starhost.Decision{Action: starhost.ActionAsk, Reason: "a person"}
		case "change":
			return starhost.Modify("arguments", json.RawMessage(`{"do": "changed"}`))
		}
		return starhost.Decision{}
	}))
	c := connect(t, 5*time.Second, asks(h))
	call := func(do string) string { return fmt.Sprintf(`"tool":"exec","arguments":{"do":%q}`, do) }
	steps := []struct {
		method, session, do, want string
		asked                     int
	}{
		{"before_tool", "s", "deny", "deny_tool", 1},
		{"approve_tool", "s", "deny", `{"approved":false,"reason":"denied by p: no"}`, 1},
		{"before_tool", "s", "ask", "deny_tool", 2},
		{"approve_tool", "s", "ask", `{"approved":false`, 2},
		{"before_tool", "s", "go", "continue", 3},
		{"approve_tool", "s", "go", `{"approved":true}`, 3},
		{"before_tool", "s", "change", `"do": "changed"`, 4},
		{"approve_tool", "s", "change", `{"approved":false,"reason":"plugins changed`, 4},
		{"approve_tool", "s", "changed", `{"approved":true}`, 4},
		{"approve_tool", "alone", "deny", `{"approved":false,"reason":"denied by p: no"}`, 5},
		{"approve_tool", "alone", "change", `{"approved":false,"reason":"a plugin changes the arguments`, 6},
		{"approve_tool", "alone", "go", `{"approved":true}`, 7},
	}
	for i, s := range steps {
		if got := c.ask(s.method, s.session, call(s.do)); !strings.Contains(got, s.want) || asked != s.asked {
			t.Errorf("step %d, %s of %s: got %s, guards asked %d times; want %s, %d times", i+1, s.method, s.do, got, asked, s.want, s.asked)
		}
	}
	// The store of verdicts drops the oldest ones when it is full. Then starhost asks the guards again.
	for i := range 300 {
		c.ask("before_tool", "s", call(fmt.Sprint(i)))
	}
	before := asked
	if got := c.ask("approve_tool", "s", call("deny")); !strings.Contains(got, `"approved":false`) || asked != before+1 {
		t.Errorf("a verdict that is gone: got %s, guards asked %d times, want once", got, asked-before)
	}
	c.in.Close()
	if err := <-c.done; err != nil {
		t.Error(err)
	}
}
