package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// describeShell describes each call whose arguments have a command as a shell call.
func describeShell(e *starhost.Event) *starhost.CallInfo {
	var args struct{ Command string }
	_ = json.Unmarshal(e.Arguments, &args) // the command stays empty
	if args.Command == "" {
		return &starhost.CallInfo{Kinds: []string{"other"}}
	}
	return &starhost.CallInfo{Kinds: []string{"shell"}, Command: args.Command, Rewrite: func(_ string, values []string) (json.RawMessage, error) {
		switch values[0] {
		case "none":
			return nil, errors.New("no place")
		case "lost":
			return json.RawMessage(`{"command":"something else"}`), nil
		}
		return json.Marshal(map[string]string{"command": values[0]})
	}}
}

// TestKind checks which hooks see a call: a change of the arguments can change its kind.
func TestKind(t *testing.T) {
	hook := func(kind string, d starhost.Decision) starhost.Hook {
		h := hookFunc("pre_tool_call", func(*starhost.Event) starhost.Decision { return d })
		if kind != "" {
			h.Kind = []string{"write", kind}
		}
		return h
	}
	toShell := starhost.Modify("arguments", json.RawMessage(`{"command":"rm x"}`))
	toOther := starhost.Modify("arguments", json.RawMessage(`{}`))
	tests := []struct {
		name     string
		describe func(*starhost.Event) *starhost.CallInfo
		args     string
		hooks    []starhost.Hook
		want     starhost.Action
	}{
		{"of its kind", describeShell, `{"command":"rm x"}`, []starhost.Hook{hook("shell", starhost.Deny("no"))}, starhost.ActionDeny},
		{"of another kind", describeShell, `{"command":"rm x"}`, []starhost.Hook{hook("read", starhost.Deny("no"))}, ""},
		{"without kinds", describeShell, `{}`, []starhost.Hook{hook("", starhost.Deny("no"))}, starhost.ActionDeny},
		{"a later hook changes the kind", describeShell, `{}`, []starhost.Hook{hook("shell", starhost.Deny("no")), hook("", toShell)}, starhost.ActionDeny},
		{"an earlier hook changes the kind", describeShell, `{}`, []starhost.Hook{hook("", toShell), hook("shell", starhost.Deny("no"))}, starhost.ActionDeny},
		{"away from the kind", describeShell, `{"command":"rm x"}`, []starhost.Hook{hook("", toOther), hook("shell", starhost.Deny("no"))}, starhost.ActionModify},
		{"a host that cannot describe calls asks", nil, `{}`, []starhost.Hook{hook("shell", starhost.Deny("no"))}, starhost.ActionDeny},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, host.Options{Describe: tt.describe}, plugin("guard", tt.hooks...))
			e := &starhost.Event{Name: "pre_tool_call", Tool: "x", Foreign: true, Arguments: json.RawMessage(tt.args)}
			out, err := h.Fire(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			if out.Decision.Action != tt.want {
				t.Errorf("got %q, want %q", out.Decision.Action, tt.want)
			}
		})
	}
}

// TestModifyCommand checks that a changed command reaches the arguments, or that the guard fails.
func TestModifyCommand(t *testing.T) {
	tests := []struct {
		describe func(*starhost.Event) *starhost.CallInfo
		args     string
		changes  map[string]any
		want     string // the arguments of the call, or the reason of the guard's failure
	}{
		{describeShell, `{"command":"rm x"}`, map[string]any{"command": "ls"}, `{"command":"ls"}`},
		{describeShell, `{"command":"rm x"}`, map[string]any{"command": "none"}, "modify: command: no place"},
		{describeShell, `{"command":"rm x"}`, map[string]any{"command": "lost"}, "modify: command: the tool x would read something else: change arguments"},
		{describeShell, `{"command":"rm x"}`, map[string]any{"command": 3}, "modify: command: got int, want a string"},
		{describeShell, `{}`, map[string]any{"command": "ls"}, "modify: command: the host cannot describe calls: change arguments"},
		{nil, `{}`, map[string]any{"paths": []string{"a"}}, "modify: paths: the host cannot describe calls: change arguments"},
	}
	for _, tt := range tests {
		change := hookFunc("pre_tool_call", func(*starhost.Event) starhost.Decision {
			return starhost.Decision{Action: starhost.ActionModify, Changes: tt.changes}
		})
		h := newHost(t, host.Options{Describe: tt.describe}, plugin("guard", change))
		e := &starhost.Event{Name: "pre_tool_call", Tool: "x", Foreign: true, Arguments: json.RawMessage(tt.args)}
		out, err := h.Fire(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(e.Arguments) + out.Decision.Reason; !strings.Contains(got, tt.want) {
			t.Errorf("%v of %s:\n got %s\nwant %s", tt.changes, tt.args, got, tt.want)
		}
	}
}

// TestKindElsewhere checks that only events about tools take kinds.
func TestKindElsewhere(t *testing.T) {
	call := func(context.Context, *starhost.Event) (d starhost.Decision, err error) { return d, nil }
	err := host.New(host.Options{}).Add(starhost.Plugin{Name: "p", Hooks: []starhost.Hook{
		{Event: "turn_start", Kind: []string{"shell"}, Call: call},
	}})
	if err == nil || !strings.Contains(err.Error(), "hook turn_start: kind: the event is not about a tool") {
		t.Errorf("got %v", err)
	}
}
