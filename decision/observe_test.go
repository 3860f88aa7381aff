package decision_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// hookOf returns a hook that records an effect and decides.
func hookOf(event, effect string, d starhost.Decision, err error) starhost.Hook {
	return starhost.Hook{Event: event, Pos: starhost.Pos{File: "p.star", Line: 3}, Call: func(
		ctx context.Context, _ *starhost.Event,
	) (starhost.Decision, error) {
		if effect != "" {
			host.LaneOf(ctx).Record(json.RawMessage(effect))
		}
		return d, err
	}}
}

// observed fires an event and returns its record.
func observed(t *testing.T, o decision.Options, e *starhost.Event, hooks ...starhost.Hook) *decision.Record {
	t.Helper()
	var r *decision.Record
	l := decision.New(o)
	l.Use(decision.Set{Revision: "r", Plugins: []decision.Plugin{{Name: "p"}}}, nil)
	h := host.New(host.Options{
		Observe: func(e starhost.Event, out host.Outcome) error { r = l.Record(e, out); return nil },
		Describe: func(*starhost.Event) *starhost.CallInfo {
			return &starhost.CallInfo{Kinds: []string{"write"}, Contents: []string{"new text", "two"}}
		},
	})
	if err := h.Add(starhost.Plugin{Name: "p", Hooks: hooks}); err != nil {
		t.Fatal(err)
	}
	s := h.NewSession(host.SessionConfig{ID: "s", Roles: []string{"admin"}, Workspace: "/w", Platform: "cli"})
	if _, err := s.Fire(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if r == nil {
		t.Fatal("got no record")
	}
	r.DurationUS = 0
	return r
}

// TestRecordOfToolCall checks the whole record of a call.
func TestRecordOfToolCall(t *testing.T) {
	reply := `{"plugin":"p","fs.read":{"path":"a"},"reply":"` + strings.Repeat("x", 20<<10) + `"}`
	r := observed(t, decision.Options{Agent: "mcp", Starhost: "1.4.0"}, &starhost.Event{
		Name: "pre_tool_call", Tool: "Write", Foreign: true, CallID: "c1", UserMessage: "do it", Agent: "claude-code",
		Arguments: json.RawMessage(`{"path":"new","edits":[{"old_string":"old text","new_string":"new text"}], "content":"two","n":1}`),
	},
		hookOf("pre_tool_call", `{"plugin":"p","now":{},"reply":"2026-01-01T00:00:00Z"}`, starhost.Ask("sure?"), nil),
		hookOf("pre_tool_call", reply, starhost.Decision{}, errors.New("broken")),
	)
	digest := func(text string) string { return string(raw(decisionDigest(text))) }
	want := &decision.Record{
		Starhost: "1.4.0", Agent: "claude-code", Session: "s", Event: "pre_tool_call", Tool: "Write", Foreign: true, CallID: "c1",
		Kind: "write", Platform: "cli", Roles: []string{"admin"}, Workspace: "/w", Mode: "enforce",
		Set:   decision.Set{Revision: "r", Plugins: []decision.Plugin{{Name: "p"}}},
		Input: map[string]json.RawMessage{"arguments": json.RawMessage(`{"path":"new","edits":[{"old_string":` + digest("old text") + `,"new_string":` + digest("new text") + `}],"content":` + digest("two") + `,"n":1}`)},
		Decision: decision.Decision{
			Action: "deny", Reason: "the guard of p failed: broken", Plugin: "p", Pos: "p.star:3",
		},
		Handlers: []decision.Handler{
			{Decision: decision.Decision{Action: "ask", Reason: "sure?", Plugin: "p", Pos: "p.star:3"},
				Effects: []json.RawMessage{json.RawMessage(`{"plugin":"p","now":{},"reply":"2026-01-01T00:00:00Z"}`)}},
			{Decision: decision.Decision{Action: "deny", Reason: "the guard of p failed: broken", Plugin: "p", Pos: "p.star:3"}, Error: "broken",
				Effects: []json.RawMessage{json.RawMessage(`{"plugin":"p","fs.read":{"path":"a"},"digest":` + digest(`"`+strings.Repeat("x", 20<<10)+`"`) + `}`)}},
		},
		Errors:  []string{"p: broken"},
		Cut:     []string{"/handlers/1/effects/0/reply"},
		Omitted: []string{"/input/arguments/edits/0/old_string", "/input/arguments/edits/0/new_string", "/input/arguments/content", "/input/user_message"},
	}
	diff(t, "record", want, r)
	r = observed(t, decision.Options{Include: []string{"prompt", "writes"}}, &starhost.Event{
		Name: "pre_tool_call", Tool: "Write", UserMessage: "do it", Arguments: json.RawMessage(`{"content":"two"}`),
	}, hookOf("pre_tool_call", "", starhost.Decision{}, nil))
	diff(t, "omitted", []string(nil), r.Omitted)
	diff(t, "input", map[string]json.RawMessage{"arguments": raw(map[string]string{"content": "two"}), "user_message": raw("do it")}, r.Input)
	diff(t, "action", "none", r.Decision.Action+r.Handlers[0].Action[4:])
}

// decisionDigest returns the digest of a text.
func decisionDigest(text string) decision.Digest {
	id := fragments.Sum(text)
	return decision.Digest{Bytes: len(text), SHA256: id.String()}
}

// TestRecordParts checks which parts of events a record contains by default, and that the event
// made of a record with all parts is the recorded one.
func TestRecordParts(t *testing.T) {
	all := []string{decision.IncludePrompt, decision.IncludeResults, decision.IncludeWrites}
	e := starhost.Event{
		SessionID: "s", Platform: "cli", Roles: []string{"admin"}, Workspace: "/w", Model: "m", Tool: "t", CallID: "c",
		UserMessage: "words", System: "system", Response: "answer", Reason: "why", DurationMS: 5, IsFirstTurn: true, Completed: true,
		Messages:  starhost.NewList([]starhost.Message{{Role: "user", Content: fragments.NewText("words")}}),
		History:   starhost.NewList([]starhost.Message{{Role: "user", Content: fragments.NewText("before")}}),
		Tools:     starhost.NewList([]starhost.Tool{{Name: "t", Description: "d", Parameters: json.RawMessage(`{}`)}}),
		Fragments: starhost.NewList([]fragments.Row{{Fragment: &fragments.Fragment{Content: "text"}, ID: fragments.Sum("text")}}),
		Options:   json.RawMessage(`{"n":1}`), Arguments: json.RawMessage(`{"a":"b"}`), Result: starhost.Result{ForLLM: "result"},
		ToolCalls: []starhost.ToolCall{{ID: "c", Name: "t", Arguments: json.RawMessage(`{}`)}}, Usage: starhost.Usage{Input: 3},
		Command: "deliver", Args: []string{"x"}, Path: "f", Content: "content", Turns: 3, Round: 2, Created: true,
	}
	secret := []string{"words", "system", "answer", "result", "content"}
	for _, spec := range starhost.Events() {
		if spec.Name == "error" {
			continue
		}
		e := e
		e.Name = spec.Name
		if !spec.Tool {
			e.Tool = ""
		}
		sent := e
		r := observed(t, decision.Options{}, &sent, hookOf(spec.Name, "", starhost.Decision{}, nil))
		for _, text := range secret {
			if isEarlier := strings.Contains(string(raw(r)), `"before"`); isEarlier ||
				strings.Contains(string(raw(r)), `"`+text+`"`) && !slices.Contains(r.Omitted, "/input/"+text) {
				t.Errorf("%s: got %q by default: %s", spec.Name, text, raw(r))
			}
		}
		sent = e
		r = observed(t, decision.Options{Include: all}, &sent, hookOf(spec.Name, "", starhost.Decision{}, nil))
		diff(t, spec.Name+" omits", []string(nil), r.Omitted)
		again, err := r.NewEvent()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range spec.Args {
			if name != "call" && name != "plugin" {
				diff(t, spec.Name+" "+name, argumentOf(&e, name), argumentOf(again, name))
			}
		}
	}
}

// argumentOf returns an event's argument as JSON.
func argumentOf(e *starhost.Event, name string) string {
	switch p := e.Arg(name).(type) {
	case **starhost.Messages:
		return string(raw((*p).Items()))
	case **starhost.Tools:
		return string(raw((*p).Items()))
	case **starhost.List[fragments.Row]:
		return string(raw((*p).Items()))
	case *starhost.Result:
		return p.ForLLM
	default:
		return string(raw(p))
	}
}

// TestRecordOfContext checks the context and the changes of handlers.
func TestRecordOfContext(t *testing.T) {
	context := starhost.Decision{Action: starhost.ActionContext, Context: starhost.Context{
		Fragments:   []fragments.Fragment{{Content: "text", Title: "T"}, {Content: "sys", Target: fragments.System}},
		Attachments: []fragments.Attachment{{Content: "1", Type: "image/png", Name: "a.png"}},
	}}
	hooks := []starhost.Hook{
		hookOf("turn_start", "", context, nil), hookOf("turn_start", "", starhost.Modify("user_message", "other"), nil),
	}
	for _, include := range [][]string{nil, {decision.IncludePrompt}} {
		r := observed(t, decision.Options{Include: include}, &starhost.Event{Name: "turn_start", UserMessage: "words"}, hooks...)
		text, system, change := "text", "sys", raw("other")
		rows := []decision.Context{
			{ID: fragments.Sum("text").String(), Bytes: 4, Plugin: "p", Source: "turn_start", Title: "T", Content: &text},
			{ID: fragments.Sum("sys").String(), Bytes: 3, Plugin: "p", Source: "turn_start", Target: "system", Content: &system},
			{ID: fragments.Sum("1").String(), Bytes: 1, Plugin: "p", Source: "turn_start", Type: "image/png", Name: "a.png"},
		}
		omitted := []string(nil)
		if include == nil {
			rows[0].Content, rows[1].Content, change = nil, nil, raw(decisionDigest("other"))
			omitted = []string{"/input/user_message", "/input/history", "/decision/changes/user_message", "/handlers/1/changes/user_message"}
		}
		diff(t, "context", rows, r.Context)
		diff(t, "of the handler", []int{0, 1, 2}, r.Handlers[0].Context)
		diff(t, "change", map[string]json.RawMessage{"user_message": change}, r.Decision.Changes)
		diff(t, "omitted", omitted, r.Omitted)
	}
}

// TestUndecided checks the record of an event that plugins did not decide. It has no contents of
// files, and no input at all before the log knows which secrets it must remove.
func TestUndecided(t *testing.T) {
	describe := func(*starhost.Event) *starhost.CallInfo {
		return &starhost.CallInfo{Kinds: []string{"write"}, Contents: []string{"text"}}
	}
	l := decision.New(decision.Options{Describe: describe, Agent: "claude-code"})
	e := starhost.Event{
		Name: "pre_tool_call", Tool: "Write", Foreign: true, SessionID: "s", UserMessage: "words",
		Arguments: json.RawMessage(`{"path":"a","content":"text"}`),
	}
	early := l.Undecided(e, "deny", "late")
	l.Use(decision.Set{}, func(text string) string { return text })
	r := l.Undecided(e, "deny", "late")
	digest := raw(decisionDigest("text"))
	want := &decision.Record{
		Agent: "claude-code", Session: "s", Event: "pre_tool_call", Tool: "Write", Foreign: true, Kind: "write", Mode: "enforce",
		Input:    map[string]json.RawMessage{"arguments": json.RawMessage(`{"path":"a","content":` + string(digest) + `}`)},
		Decision: decision.Decision{Action: "deny", Reason: "late", Plugin: "host"}, Answered: "deny", Errors: []string{"late"},
		Omitted: []string{"/input/arguments/content", "/input/user_message"},
	}
	diff(t, "record", want, r)
	want.Input, want.Omitted = nil, []string{"/input"}
	diff(t, "early record", want, early)
	diff(t, "decision", decision.Decision{Action: "none"}, l.Undecided(e, "none", "late").Decision)
}

// TestObserveRequired checks that a log that cannot be written changes decisions only if it is
// required.
func TestObserveRequired(t *testing.T) {
	for _, required := range []bool{false, true} {
		var reports []string
		l := decision.New(decision.Options{
			Dir: "/dev/null/log", Required: required, Report: func(err error) { reports = append(reports, err.Error()) },
			Clock: func() time.Time { return noon },
		})
		h := host.New(host.Options{Observe: l.Observe})
		if err := h.Add(starhost.Plugin{Name: "p", Hooks: []starhost.Hook{hookOf("pre_tool_call", "", starhost.Decision{}, nil)}}); err != nil {
			t.Fatal(err)
		}
		out, err := h.Fire(t.Context(), &starhost.Event{Name: "pre_tool_call", Tool: "t"})
		if err != nil {
			t.Fatal(err)
		}
		const failure = "decision log: open /dev/null/log/decisions-2026-11-23.jsonl: not a directory"
		want := "no decision"
		if required {
			want = "deny by host: the decision was not recorded: " + failure
		}
		diff(t, "decision", want, out.Decision.String())
		diff(t, "reports", []string{failure}, reports)
	}
}
