package hook_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/serve/hook"
)

// unreadable lists objects that starhost cannot read, or that two readers could decode differently.
// NAME stands for the member with the event's name, TOOL and ARGS for two other members.
var unreadable = map[string]string{
	"bytes after the event":      `{NAME,"TOOL":"x","ARGS":{}} {}`,
	"cut off":                    `{NAME,"TOOL":"x","ARGS":{`,
	"a shadow in another case":   `{NAME,"TOOL":"x","ARGS":{"command":"rm"},"UPPER":{"command":"ls"}}`,
	"only in another case":       `{NAME,"TOOL":"x","UPPER":{"command":"rm"}}`,
	"the Kelvin sign for k":      `{NAME,"TOOL":"x","` + "PROMPT\u017f" + `":1,"ARGS":{},"ARGS":{}}`,
	"a name twice":               `{NAME,"TOOL":"x","ARGS":{"a":1},"ARGS":{"a":2}}`,
	"a name twice, with escapes": `{NAME,"TOOL":"x","ARGS":{"a":1,"\u0061":2}}`,
	"an inner name twice":        `{NAME,"TOOL":"x","ARGS":{"list":[{"command":"ls","command":"rm"}]}}`,
	"no UTF-8":                   `{NAME,"TOOL":"x","ARGS":{"command":"` + "\xff" + `"}}`,
	"too deep":                   `{NAME,"TOOL":"x","ARGS":` + strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600) + `}`,
	"far too deep":               `{NAME,"TOOL":"x","ARGS":` + strings.Repeat(`[`, 20_000) + strings.Repeat("]", 20_000) + `}`,
	"no tool":                    `{NAME,"ARGS":{}}`,
}

// spell replaces NAME, TOOL and ARGS with an agent's names.
func spell(text, name, tool, args string) string {
	return strings.NewReplacer("NAME", name, "TOOL", tool, "ARGS", args, "UPPER", strings.ToUpper(args)).Replace(text)
}

// TestUnreadable checks that each agent gets its own form of refusal for input that starhost cannot
// read.
func TestUnreadable(t *testing.T) {
	for _, a := range refusals {
		agent := hook.AgentOf(a.agent)
		for what, text := range unreadable {
			payload := spell(text, a.name, a.tool, a.args)
			if e, err := agent.Read([]byte(payload)); err == nil && (a.agent != "copilot" || e.IsDocumented()) {
				t.Errorf("%s: %s: Read got no error", a.agent, what)
			}
			_, answer, err := agent.Refuse([]byte(payload), "reason")
			if err != nil || !a.is(answer) || !strings.Contains(answer.Err, "reason") {
				t.Errorf("%s: %s: got %+v, %v, want code %d and %s", a.agent, what, answer, err, a.code, a.out)
			}
		}
	}
}

// refusals has each agent that starts a process for each event, with the names of the members of a call and
// the answer that refuses the call.
var refusals = []refusal{
	{"claude-code", `"session_id":"s","hook_event_name":"PreToolUse"`, "tool_name", "tool_input", 2, `"permissionDecision":"deny"`},
	{"copilot", `"sessionId":"s","timestamp":1`, "toolName", "toolArgs", 0, `{"permissionDecision":"deny"`},
	{"hermes", `"session_id":"s","hook_event_name":"pre_tool_call"`, "tool_name", "tool_input", 2, `{"action":"block"`},
}

// A refusal is the way in which an agent learns that starhost refuses a call.
type refusal struct {
	agent, name, tool, args string
	code                    int
	out                     string // a part of the output that the agent must get
}

// is reports whether an answer refuses the call in the agent's form.
func (r refusal) is(answer hook.Answer) bool {
	return answer.Code == r.code && strings.Contains(answer.Out, r.out)
}

// TestUnreadableEvent checks that starhost refuses a payload whose event it cannot read at all.
func TestUnreadableEvent(t *testing.T) {
	for _, a := range refusals {
		agent := hook.AgentOf(a.agent)
		for _, payload := range []string{
			"", "{", "[]", "null", `"text"`, "\x00", strings.Repeat("[", 1<<20),
			`{"hook_event_name":"Stop","HOOK_EVENT_NAME":"PreToolUse"}`,
			`{"hook_event_name":"Stop","hook_event_name":"PreToolUse"}`,
		} {
			if _, err := agent.Read([]byte(payload)); err == nil {
				t.Errorf("%s: %.40q: Read got no error", a.agent, payload)
			}
			e, answer, err := agent.Refuse([]byte(payload), "reason")
			if err != nil || !e.IsRefusable() || !a.is(answer) {
				t.Errorf("%s: %.40q: got %+v, %v", a.agent, payload, answer, err)
			}
		}
	}
}

// TestUnreadableUnrefusable checks that starhost refuses an event that it cannot read only if guards can
// refuse events of this name.
func TestUnreadableUnrefusable(t *testing.T) {
	agent := hook.AgentOf("claude-code")
	for _, text := range []string{
		`{"hook_event_name":"Stop"} x`,
		`{"hook_event_name":"PostToolUse","a":{"b":1,"b":2}}`,
		`{"hook_event_name":"Notification",`,
	} {
		e, answer, err := agent.Refuse([]byte(text), "reason")
		if err != nil || e.IsRefusable() || answer.Code != 0 || answer.Out != "" {
			t.Errorf("%s: got %+v, %v, want no refusal of an event that guards cannot refuse", text, answer, err)
		}
	}
	prompt := `{"hook_event_name":"UserPromptSubmit","prompt":"x","Prompt":"y"}`
	e, answer, _ := agent.Refuse([]byte(prompt), "reason")
	if !e.IsRefusable() || !strings.Contains(answer.Out, `"decision":"block"`) {
		t.Errorf("a prompt: got %+v", answer)
	}
}

// TestUnreadableText checks that the same rules hold for arguments in a string, which older versions of
// Copilot send.
func TestUnreadableText(t *testing.T) {
	for args, want := range map[string]bool{
		`{"command":"ls"}`:                                            true,
		`no JSON, so no guard can allow it`:                           true,
		`{"command":"ls","command":"rm"}`:                             false,
		`{"a":{"b":1,"\u0062":2}}`:                                    false,
		strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600): false,
	} {
		payload := fmt.Sprintf(`{"sessionId":"s","timestamp":1,"toolName":"bash","toolArgs":%q}`, args)
		if _, err := hook.AgentOf("copilot").Read([]byte(payload)); (err == nil) != want {
			t.Errorf("%.60s: got error %v, want an event: %v", args, err, want)
		}
	}
}

// TestCopilotWords checks that starhost reports a change of the user's words that it cannot make in
// Copilot's prompt.
func TestCopilotWords(t *testing.T) {
	h := hostOf(t, hookOn("turn_start", func(context.Context, *starhost.Event) starhost.Decision {
		return starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"user_message": "new"}}
	}))
	for transformed, want := range map[string]string{
		"<p>old</p>":   `"<p>new</p>"`,
		"old and old":  `"new and new"`,
		"<p>o l d</p>": `{"modifiedTransformedPrompt":"[A message of the user was changed by a policy`,
	} {
		payload := fmt.Sprintf(`{"sessionId":"s","timestamp":1,"prompt":"old","transformedPrompt":%q}`, transformed)
		e, err := hook.AgentOf("copilot").Read([]byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		answer, store, err := e.Answer(t.Context(), h, hook.Options{})
		store()
		if err != nil || !strings.Contains(answer.Out+answer.Err, want) {
			t.Errorf("%s: got %+v, %v, want %s", transformed, answer, err, want)
		}
	}
}

// TestCopilotEmptied checks that Copilot does not get words that a plugin empties.
func TestCopilotEmptied(t *testing.T) {
	h := hostOf(t, hookOn("turn_start", func(context.Context, *starhost.Event) starhost.Decision {
		return starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"user_message": ""}}
	}))
	for transformed, want := range map[string]string{
		"secret":              `{"modifiedTransformedPrompt":"[A message of the user was removed by a policy`,
		"<now>1</now> secret": `{"modifiedTransformedPrompt":"<now>1</now> "}`,
	} {
		payload := fmt.Sprintf(`{"sessionId":"s","timestamp":1,"prompt":"secret","transformedPrompt":%q}`, transformed)
		e, err := hook.AgentOf("copilot").Read([]byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		answer, store, err := e.Answer(t.Context(), h, hook.Options{})
		store()
		if err != nil || !strings.Contains(answer.Out, want) || !answer.Binding {
			t.Errorf("%s: got %+v, %v, want %s", transformed, answer, err, want)
		}
	}
}

// TestCopilotSpellings checks that starhost refuses an event of Copilot that has both spellings of a member.
func TestCopilotSpellings(t *testing.T) {
	for _, text := range []string{
		`{"sessionId":"s","toolName":"bash","toolArgs":{"command":"rm"},"tool_input":{"command":"ls"}}`,
		`{"sessionId":"s","toolName":"bash","tool_name":"view","toolArgs":{}}`,
		`{"sessionId":"s","session_id":"t","toolName":"bash","toolArgs":{}}`,
		`{"sessionId":"s","toolName":"bash","toolArgs":{},"toolResult":{},"tool_result":{}}`,
	} {
		if _, err := hook.AgentOf("copilot").Read([]byte(text)); err == nil {
			t.Errorf("%s: Read got no error", text)
		}
	}
}

// TestBinding checks for which answers starhost tells that the agent must read them, because it would
// otherwise use something that plugins refuse, ask about or change.
func TestBinding(t *testing.T) {
	redact := hookOn("post_tool_call", func(context.Context, *starhost.Event) starhost.Decision {
		return starhost.Modify("result", "***")
	})
	observe := hookOn("pre_llm_call", func(context.Context, *starhost.Event) starhost.Decision {
		return starhost.Decision{}
	})
	for _, tt := range []struct {
		agent, text string
		hook        starhost.Hook
		want        bool
	}{
		{"claude-code", `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"mcp__x__y","tool_response":"secret"}`, redact, true},
		{"copilot", `{"sessionId":"s","toolName":"bash","toolArgs":{},"toolResult":{"textResultForLlm":"secret"}}`, redact, true},
		{"claude-code", `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"hi"}`, observe, false},
		{"claude-code", `{"session_id":"s","hook_event_name":"Stop"}`, observe, false},
	} {
		e, err := hook.AgentOf(tt.agent).Read([]byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		answer, store, err := e.Answer(t.Context(), hostOf(t, tt.hook), hook.Options{})
		store()
		if err != nil || answer.Binding != tt.want {
			t.Errorf("%s: got %+v, %v, want binding %v", tt.text, answer, err, tt.want)
		}
	}
}

// TestDocumented checks which events the documentation of their agent lists.
func TestDocumented(t *testing.T) {
	for _, tt := range []struct {
		agent, text string
		documented  bool
	}{
		{"claude-code", `{"hook_event_name":"Notification"}`, true},
		{"claude-code", `{"hook_event_name":"PreToolUse","tool_name":"x"}`, true},
		{"claude-code", `{"hook_event_name":"pretooluse"}`, false},
		{"claude-code", `{"hook_event_name":"BeforeEverything"}`, false},
		{"hermes", `{"hook_event_name":"on_session_end"}`, true},
		{"hermes", `{"hook_event_name":"before_tool"}`, false},
		{"copilot", `{"sessionId":"s","notification_type":"x"}`, true},
		{"copilot", `{"sessionId":"s"}`, false},
	} {
		e, err := hook.AgentOf(tt.agent).Read([]byte(tt.text))
		if err != nil || e.IsDocumented() != tt.documented {
			t.Errorf("%s: %s: got %v, want documented %v", tt.agent, tt.text, err, tt.documented)
		}
	}
}

// TestServeUnreadable checks that PicoClaw gets a refusal of a call that starhost cannot read.
// Without an answer PicoClaw would run the call.
func TestServeUnreadable(t *testing.T) {
	defer goleak.VerifyNone(t)
	h := hostOf(t, hookOn("pre_tool_call", func(context.Context, *starhost.Event) starhost.Decision { return starhost.Decision{} }))
	for method, want := range map[string]string{
		"before_tool": `{"action":"deny_tool","reason":"`, "approve_tool": `{"approved":false,"reason":"`,
	} {
		for what, text := range unreadable {
			params := spell(text, `"meta":{"SessionKey":"s"}`, "tool", "arguments")
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"hook.%s","params":%s}`, method, params)
			var out bytes.Buffer
			if err := serve(t, h, strings.NewReader(line), &out); err != nil {
				t.Fatal(err)
			}
			if got := answers(t, out.String())[7]; !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s: got %s, want %s", method, what, got, want)
			}
		}
	}
	long := `{"id":1,"method":"hook.before_tool","params":{"tool":"x","arguments":{"a":"` + strings.Repeat("x", 65<<20) + `"}}}` + "\n" + `{"id":2,"method":"hook.hello"}`
	var out bytes.Buffer
	if err := serve(t, h, strings.NewReader(long), &out); err != nil {
		t.Fatal(err)
	}
	if got := answers(t, out.String()); !strings.Contains(got[1], "deny_tool") || got[2] == "" {
		t.Errorf("a line over the limit: got %v", got)
	}
}
