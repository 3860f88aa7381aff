package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/serve/hook"
)

// TestServeIDs checks that each request for a decision gets an answer, whatever its id is. Only a
// message without an id, and a report with id 0, get none.
func TestServeIDs(t *testing.T) {
	defer goleak.VerifyNone(t)
	h := hostOf(t, hookOn("pre_tool_call", func(context.Context, *starhost.Event) starhost.Decision { return starhost.Deny("no") }))
	call := `"method":"hook.before_tool","params":{"tool":"x"}}`
	for line, want := range map[string]string{
		`{"id":0,` + call:    `{"jsonrpc":"2.0","id":0,"result":{"action":"deny_tool"`,
		`{"id":null,` + call: `{"jsonrpc":"2.0","id":null,"result":{"action":"deny_tool"`,
		`{"id":"a",` + call:  `{"jsonrpc":"2.0","id":"a","result":{"action":"deny_tool"`,
		`{"id":-1.5,` + call: `{"jsonrpc":"2.0","id":-1.5,"result":{"action":"deny_tool"`,
		`{"id":{},` + call:   `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`,
		`{"id":[1],` + call:  `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`,
		`{"id":"` + strings.Repeat("x", 2<<20) + `",` + call: `{"jsonrpc":"2.0","id":null,"error":{"code":-32600`,
		`{"id":1,"id":2,` + call:                             `{"jsonrpc":"2.0","id":2,"result":{"action":"deny_tool"`,
		`{"method":"hook.before_tool","params":{"tool":"x"`:  `{"jsonrpc":"2.0","id":null,"result":{"action":"deny_tool"`,
		`{"id":7}`: `{"jsonrpc":"2.0","id":7,"error":{"code":-32700`,
		`{` + call: "",
		`{"id":0,"method":"hook.runtime_event","params":{"kind":"x"}}`: "",
		`no JSON`: "",
	} {
		var out bytes.Buffer
		if err := serve(t, h, strings.NewReader(line), &out); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%.80s: got %.200q, want %q", line, got, want)
		}
	}
}

// TestServeFlood checks that starhost goes on reading if it cannot answer more requests than it can store: it
// refuses each further call at once, and the approval of the call too.
func TestServeFlood(t *testing.T) {
	defer goleak.VerifyNone(t)
	release := make(chan struct{})
	h := hostOf(t, hookOn("pre_tool_call", func(context.Context, *starhost.Event) starhost.Decision {
		<-release // the handler ignores its context
		return starhost.Decision{}
	}))
	c := connect(t, time.Hour, asks(h))
	for range 256 {
		c.send("before_tool", "s", `"tool":"x"`)
	}
	for method, want := range map[string]string{
		"before_tool": `{"action":"deny_tool","reason":"more than 256`, "before_llm": `{"action":"abort_turn"`,
		"approve_tool": `{"approved":false`, "after_tool": `{"action":"continue"}`,
	} {
		if got := c.ask(method, "s", `"tool":"late","arguments":{},"messages":[],"result":{}`); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", method, got, want)
		}
	}
	close(release)
	c.answer(256)
	if got := c.ask("approve_tool", "s", `"tool":"late","arguments":{}`); !strings.HasPrefix(got, `{"approved":false`) {
		t.Errorf("the approval of a refused call: got %s", got)
	}
	c.in.Close()
	if err := <-c.done; err != nil {
		t.Error(err)
	}
}

// TestServeLongAnswers checks that PicoClaw never uses the original of a request, reply or result that
// plugins changed, if the answer with the change is too long for PicoClaw. Only added context may be lost.
func TestServeLongAnswers(t *testing.T) {
	defer goleak.VerifyNone(t)
	long := strings.Repeat("x", 1<<20)
	changed := func(event, argument string, value any) starhost.Hook {
		return hookOn(event, func(context.Context, *starhost.Event) starhost.Decision {
			return starhost.Modify(argument, value)
		})
	}
	message := `"messages":[{"role":"user","content":"secret"},{"role":"assistant","content":"` + long + `"}],"model":"m"`
	for what, tt := range map[string]struct {
		hook                 starhost.Hook
		method, params, want string
	}{
		"words":  {changed("turn_start", "user_message", "***"), "before_llm", message, "abort_turn"},
		"model":  {changed("pre_llm_call", "model", "other"), "before_llm", message, "abort_turn"},
		"reply":  {changed("post_llm_call", "response", long), "after_llm", `"response":{"content":"secret"}`, "abort_turn"},
		"result": {changed("post_tool_call", "result", long), "after_tool", `"tool":"x","result":{"for_llm":"secret"}`, "abort_turn"},
		"call":   {changed("pre_tool_call", "arguments", json.RawMessage(`{"a":"`+long+`"}`)), "before_tool", `"tool":"x"`, "deny_tool"},
		"context": {hookOn("pre_llm_call", func(context.Context, *starhost.Event) starhost.Decision {
			list := []fragments.Fragment{{Content: "context"}}
			return starhost.Decision{Action: starhost.ActionContext, Context: starhost.Context{Fragments: list}}
		}), "before_llm", message, "continue"},
	} {
		var out bytes.Buffer
		line := fmt.Sprintf(`{"id":1,"method":"hook.%s","params":{"meta":{"SessionKey":"s","TurnID":"t"},%s}}`, tt.method, tt.params)
		var log []string
		d := hook.Desk{Load: asks(hostOf(t, tt.hook)), Warn: func(text string) { log = append(log, text) }}
		if err := d.Serve(t.Context(), strings.NewReader(line), &out); err != nil {
			t.Fatal(err)
		}
		got := answers(t, out.String())[1]
		if !strings.HasPrefix(got, `{"action":"`+tt.want+`"`) || len(log) == 0 {
			t.Errorf("%s: got %.200s and %q, want %s and a line in the log", what, got, log, tt.want)
		}
	}
}
