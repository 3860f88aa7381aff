package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// scriptedModel is a model that gives its replies in order.
type scriptedModel []starhost.Reply

func (s *scriptedModel) Complete(context.Context, *host.Prompt) (starhost.Reply, error) {
	if len(*s) == 0 {
		return starhost.Reply{}, errors.New("no more replies")
	}
	reply := (*s)[0]
	*s = (*s)[1:]
	return reply, nil
}

// detailedError is an error with a traceback, like the evaluator's.
type detailedError struct{ error }

func (detailedError) Detail() string { return "in page ops.star:3:1" }

// TestEventArguments fires every event with all its arguments in one session: turns of the agent loop, of
// which one ends early, commands, files and a declared event.
func TestEventArguments(t *testing.T) {
	app := starhost.EventSpec{Name: "app.deploy", Args: []string{"service", "count"}, Actions: []starhost.Action{starhost.ActionContext}}
	seen := map[string]map[string]bool{} // by event and argument: the argument had a value other than zero
	var watch []starhost.Hook
	specs := append(starhost.Events(), app)
	for _, spec := range specs {
		seen[spec.Name] = map[string]bool{}
		watch = append(watch, hookFunc(spec.Name, func(e *starhost.Event) starhost.Decision {
			for _, arg := range spec.Args {
				if !reflect.ValueOf(e.Arg(arg)).Elem().IsZero() {
					seen[spec.Name][arg] = true
				}
			}
			switch spec.Name {
			case pre:
				return askFor
			case approval:
				return approve
			}
			return starhost.Decision{}
		}))
	}
	p := echo()
	p.Tools[0].Call = func(context.Context, starhost.ToolCall) (starhost.Result, error) {
		return starhost.Result{}, detailedError{errors.New("down")}
	}
	p.Commands = []starhost.Command{{Name: "deliver",
		Call: func(_ context.Context, c starhost.CommandCall) (starhost.Result, error) {
			return starhost.Result{ForLLM: "sent " + c.Line}, nil
		}}}
	describe := func(*starhost.Event) *starhost.CallInfo { return &starhost.CallInfo{Kinds: []string{"other"}} }
	h := newHost(t, host.Options{Clock: tickingClock(), AppEvents: []starhost.EventSpec{app}, Describe: describe}, p, plugin("watch", watch...))

	ctx, cancel := context.WithCancel(context.Background())
	session := h.NewSession(host.SessionConfig{Model: "m", Roles: []string{"dev"}, Workspace: "/w"})
	replies := scriptedModel{
		{ToolCalls: []starhost.ToolCall{{ID: "c1", Name: "echo", Arguments: json.RawMessage(`{"text":"x"}`)}}, Usage: starhost.Usage{Input: 7}},
		{Content: "done"},
	}
	if _, err := session.Turn(ctx, host.Request{Text: "hi", System: "be brief"}, &replies); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Command(ctx, "/deliver now"); err != nil {
		t.Fatal(err)
	}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, e := range []*starhost.Event{
		{Name: "pre_file_save", Path: "a.md", Content: "text"},
		{Name: "post_file_save", Path: "a.md", Content: "text", Created: true},
		{Name: "app.deploy", App: []starhost.AppArg{{Name: "count", Value: raw("3")}, {Name: "service", Value: raw(`"checkout"`)}}},
	} {
		if _, err := session.Fire(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := session.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	ending := h.NewSession(host.SessionConfig{})
	cut := beginIn(t, ending, host.Request{})
	cancel()
	cut.End(ctx)
	for _, s := range []*host.Session{session, ending} {
		if err := s.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for _, spec := range specs {
		for _, arg := range spec.Args {
			if !seen[spec.Name][arg] {
				t.Errorf("%s: argument %s was never filled in", spec.Name, arg)
			}
		}
		for _, name := range spec.Modify {
			inArguments := spec.Tool && (name == "command" || name == "paths")
			if !inArguments && !slices.Contains(spec.Args, name) ||
				!slices.Contains(spec.Actions, starhost.ActionModify) {
				t.Errorf("%s: modify of %s, which the event does not have", spec.Name, name)
			}
		}
	}
	if (&starhost.Event{}).Arg("nope") != nil {
		t.Error("Arg of an unknown name: got a field, want nil")
	}
}

func TestLookupEvent(t *testing.T) {
	tests := []struct{ name, want string }{
		{"pre_llm_cal", `unknown event "pre_llm_cal" (did you mean pre_llm_call?)`},
		{"zzz", `unknown event "zzz", want one of approve_tool_call, error, post_command, post_file_save, post_llm_call, post_tool_call, pre_command, pre_file_save, pre_llm_call, pre_send, pre_tool_call, session_end, session_reset, session_start, turn_end, turn_start`},
	}
	for _, tt := range tests {
		if _, err := starhost.LookupEvent(tt.name); err == nil || err.Error() != tt.want {
			t.Errorf("LookupEvent(%q):\n got %v\nwant %s", tt.name, err, tt.want)
		}
	}
	for _, spec := range starhost.Events() {
		got, err := starhost.LookupEvent(spec.Name)
		if err != nil || got.Name != spec.Name {
			t.Errorf("LookupEvent(%q): got %v, %v", spec.Name, got, err)
		}
	}
}

func TestNewEvent(t *testing.T) {
	raw := func(pairs ...string) map[string]json.RawMessage {
		m := map[string]json.RawMessage{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = json.RawMessage(pairs[i+1])
		}
		return m
	}
	wrong := []struct {
		event string
		args  map[string]json.RawMessage
		want  string
	}{
		{"nope", nil, `unknown event "nope"`},
		{pre, raw("tol", `"x"`), `pre_tool_call: unknown argument "tol" (did you mean tool?), want session_id, tool, arguments, call_id, plugin`},
		{pre, raw("call", `{}`), `pre_tool_call: argument "call": starhost makes it from agent, tool, arguments and workspace`},
		{"pre_command", raw("agent", `"codex"`), `pre_command: unknown argument "agent"`},
		{pre, raw("tool", `3`), `pre_tool_call: argument "tool": got 3, want a string`},
		{pre, raw("arguments", `[]`), `pre_tool_call: argument "arguments": got [], want an object`},
		{post, raw("is_error", `"yes"`), `post_tool_call: argument "is_error": got "yes", want true or false`},
		{post, raw("duration_ms", `1.5`), `post_tool_call: argument "duration_ms": got 1.5, want an integer`},
		{post, raw("result", `{}`), `post_tool_call: argument "result": got {}, want a string`},
		{"pre_send", raw("messages", `{}`), `pre_send: argument "messages": got {}, want a list`},
		{"pre_send", raw("tools", `"x"`), `pre_send: argument "tools": got "x", want a list`},
		{"pre_send", raw("fragments", `1`), `pre_send: argument "fragments": got 1, want a list`},
	}
	for _, tt := range wrong {
		if _, err := starhost.NewEvent(tt.event, tt.args); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("NewEvent(%s):\n got %v\nwant %s", tt.event, err, tt.want)
		}
	}
	e, err := starhost.NewEvent(post, raw("tool", `"page"`, "arguments", `{"a":1}`, "result", `"out"`, "is_error", `true`, "duration_ms", `7`))
	if err != nil {
		t.Fatal(err)
	}
	want := &starhost.Event{Name: post, Tool: "page", Arguments: json.RawMessage(`{"a":1}`), Result: starhost.Result{ForLLM: "out", IsError: true}, IsError: true, DurationMS: 7}
	if d := cmp.Diff(want, e, cmpopts.IgnoreUnexported(starhost.Event{})); d != "" {
		t.Errorf("event (-want +got):\n%s", d)
	}
	for plugin, want := range map[string]bool{`""`: true, `"ops"`: false} {
		if e, err := starhost.NewEvent(pre, raw("tool", `"page"`, "plugin", plugin)); err != nil || e.Foreign != want {
			t.Errorf("NewEvent with plugin %s: got %+v, %v, want Foreign %v", plugin, e, err, want)
		}
	}
	e, err = starhost.NewEvent("pre_send", raw("messages", `[{"role":"user","content":"hi"}]`, "tools", `[{"name":"page","description":"d"}]`, "fragments", `[{"Content":"c"}]`))
	if err != nil {
		t.Fatal(err)
	}
	if e.Messages.At(0).Content.String() != "hi" || e.Tools.At(0).Name != "page" || e.Fragments.At(0).Content != "c" {
		t.Errorf("lists: got %+v %+v %+v", e.Messages.Items(), e.Tools.Items(), e.Fragments.Items())
	}
}

func TestFire(t *testing.T) {
	own := echo()
	own.Hooks = []starhost.Hook{
		hookFunc(pre, func(e *starhost.Event) starhost.Decision {
			if e.Plugin != "tools" || e.SessionID != "session-1" || string(e.Arguments) != "{}" {
				return starhost.Deny("not filled in")
			}
			return starhost.Decision{}
		}),
		hook("turn_start", starhost.TextContext("hello")),
		hookFunc("pre_llm_call", func(e *starhost.Event) starhost.Decision {
			return starhost.Modify("model", e.Model+e.UserMessage+string(e.Options))
		}),
	}
	h := newHost(t, host.Options{}, own)
	turn := begin(t, h, host.Request{Text: "hi", Model: "m"})
	fire := func(name string, e starhost.Event) host.Outcome {
		t.Helper()
		e.Name = name
		out, err := turn.Fire(context.Background(), &e)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	diff(t, "pre_tool_call", starhost.ActionNone, fire(pre, starhost.Event{Tool: "echo"}).Decision.Action)
	started := fire("turn_start", starhost.Event{})
	if got := started.Context(); len(got) != 1 || got[0].Fragments[0].Source != "turn_start" || got[0].Fragments[0].Plugin != "tools" {
		t.Errorf("turn_start: got %+v, want one context of tools", got)
	}
	diff(t, "pre_llm_call", map[string]any{"model": "mhi{}"}, fire("pre_llm_call", starhost.Event{}).Decision.Changes)
	diff(t, "given arguments win", map[string]any{"model": "xy{}"}, fire("pre_llm_call", starhost.Event{Model: "x", UserMessage: "y"}).Decision.Changes)
	if _, err := turn.Fire(context.Background(), &starhost.Event{Name: "nope"}); err == nil {
		t.Error("Fire of an unknown event: got no error")
	}

	turn = begin(t, newHost(t, host.Options{}, pluginWith(1, hook(pre, abort))), host.Request{})
	diff(t, "an abort is an outcome", starhost.ActionAbort, fire(pre, starhost.Event{Tool: "gone"}).Decision.Action)
}

func TestModify(t *testing.T) {
	tests := []struct {
		name, event string
		decision    starhost.Decision
		want        string // the error, or ""
	}{
		{"user_message", "turn_start", starhost.Modify("user_message", "new"), ""},
		{"user_message to a number", "turn_start", starhost.Modify("user_message", 3), "modify: user_message: got int, want a string"},
		{"options", "pre_llm_call", starhost.Modify("options", json.RawMessage(`{"a":1}`)), ""},
		{"options to nothing", "pre_llm_call", starhost.Modify("options", json.RawMessage(nil)), ""},
		{"options to no JSON", "pre_llm_call", starhost.Modify("options", json.RawMessage(`{`)), "modify: options: not JSON: unexpected end of JSON input"},
		{"tools", "pre_llm_call", starhost.Modify("tools", []string{"echo"}), ""},
		{"tools to none", "pre_llm_call", starhost.Modify("tools", []string{}), ""},
		{"tools to unknown ones", "pre_llm_call", starhost.Modify("tools", []string{"ehco"}), `modify: tools: "ehco" is not on offer (did you mean echo?)`},
		{"tools to a string", "pre_llm_call", starhost.Modify("tools", "echo"), "modify: tools: got string, want a list"},
		{"messages to nil", "pre_send", starhost.Modify("messages", (*starhost.Messages)(nil)), ""},
		{"messages to a string", "pre_send", starhost.Modify("messages", "x"), "modify: messages: got string, want a list"},
		{"two at once, one bad, changes none", "pre_send", starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"messages": starhost.NewList([]starhost.Message{}), "sytem": "x"}},
			`modify: pre_send cannot change "sytem" (did you mean system?), it can change messages, system, tools or model`},
		{"an unknown action", "turn_start", starhost.Decision{Action: "error"}, "turn_start: error is no decision here, want context (a string, fragments, attachments), modify, abort or end_session"},
		{"context where there is none", "pre_send", starhost.TextContext("x"), "pre_send: context is no decision here, want modify or abort"},
		{"empty context", "pre_llm_call", starhost.TextContext(""), ""},
		{"a fragment over the limit", "pre_llm_call", starhost.TextContext(strings.Repeat("x", 256<<10+1)), `fragment "pre_llm_call" is 262145 bytes, limit 262144 (max_fragment)`},
		{"a fragment that is no text", "pre_llm_call", starhost.TextContext("\xff"), `fragment "pre_llm_call" is not UTF-8: data goes into an attachment`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turn := begin(t, newHost(t, host.Options{}, echo(), pluginWith(1, hook(tt.event, tt.decision))),
				host.Request{Text: "hi"})
			p := prompt(t, turn)
			got := ""
			for _, err := range p.Errors {
				got += err.Error()
			}
			diff(t, "errors", tt.want, got)
			if tt.want != "" && len(p.Messages) != 1 {
				t.Errorf("messages: got %v, want them unchanged", roles(p.Messages))
			}
		})
	}
}

func TestPreLLMCallChanges(t *testing.T) {
	h := newHost(t, host.Options{}, echo(),
		pluginWith(1, hook("pre_llm_call", starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"model": "big", "options": json.RawMessage(`{"t":0}`), "tools": []string{}}})),
		pluginWith(2, hookFunc("pre_llm_call", func(e *starhost.Event) starhost.Decision {
			return starhost.TextContext(e.Model + " " + string(e.Options))
		})))
	s := h.NewSession(host.SessionConfig{Model: "small"})
	turn := beginIn(t, s, host.Request{})
	p := prompt(t, turn)
	diff(t, "prompt", []string{"big", `{"t":0}`, `big {"t":0}`}, []string{p.Model, string(p.Options), p.Text.String()})
	diff(t, "tools", 0, len(p.Tools))
	diff(t, "a tool that is not on offer", `unknown tool "echo"`, call(t, turn, "echo", `{"text":""}`).Result.ForLLM)
}

func TestOutcome(t *testing.T) {
	d := starhost.Decision{Action: starhost.ActionContext, Context: starhost.Context{
		Fragments:   []fragments.Fragment{{Content: "four"}},
		Attachments: []fragments.Attachment{{Content: "12"}},
	}}
	turn := begin(t, newHost(t, host.Options{}, pluginWith(1, hook("pre_llm_call", d)),
		pluginWith(2, hook("pre_llm_call", starhost.Modify("model", "x")))), host.Request{})
	var got []string
	for _, tr := range prompt(t, turn).Hooks {
		got = append(got, string(tr.Action)+" "+tr.Detail)
	}
	diff(t, "trace", []string{"context 6 B", "modify model"}, got)
}

// TestTextContext checks that a text becomes a fragment.
func TestTextContext(t *testing.T) {
	fire := func(d starhost.Decision) host.Outcome {
		turn := begin(t, newHost(t, host.Options{}, pluginWith(1, hook("pre_llm_call", d))), host.Request{})
		out, err := turn.Fire(t.Context(), &starhost.Event{Name: "pre_llm_call"})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := fire(starhost.Decision{Action: starhost.ActionContext, Context: starhost.Context{Fragments: []fragments.Fragment{{Content: "text"}}}})
	got := fire(starhost.TextContext("text"))
	diff(t, "decisions", want.Decisions, got.Decisions)
	diff(t, "to merge", want.Context(), got.Context())
}
