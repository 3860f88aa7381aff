package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// named returns a plugin with tools of these names. A tool whose name has a minus in front is unavailable.
func named(plugin string, tools ...string) starhost.Plugin {
	p := starhost.Plugin{Name: plugin}
	for _, name := range tools {
		tool := starhost.Tool{Description: "Does it.", Pos: at(plugin+".star", 1), Call: func(
			context.Context, starhost.ToolCall,
		) (starhost.Result, error) {
			return starhost.Result{ForLLM: plugin}, nil
		}}
		var isUnavailable bool
		if tool.Name, isUnavailable = strings.CutPrefix(name, "-"); isUnavailable {
			tool.Available = func(context.Context) (bool, error) { return false, nil }
		}
		p.Tools = append(p.Tools, tool)
	}
	return p
}

// TestChooseTools checks which tools a hook of the plugin p1 can choose for one request.
func TestChooseTools(t *testing.T) {
	described := func(name string) []starhost.Tool { return []starhost.Tool{{Name: name, Description: "New."}} }
	const foreign = "is not p1's own: the operator must grant"
	tests := []struct {
		name    string
		choice  any
		granted string
		want    string // the tools on offer, or the failure
	}{
		{"fewer", []string{"mine"}, "", "mine"},
		{"one twice", []string{"mine", "mine"}, "", "mine"},
		{"its own unavailable tool", []string{"theirs", "hidden"}, "", "hidden theirs"},
		{"its own tool with a description", described("mine"), "", "mine=New."},
		{"its own unavailable tool with a description", described("hidden"), "", "hidden=New."},
		{"another's unavailable tool", []string{"secret"}, "", `tools: "secret" ` + foreign},
		{"another's unavailable tool with the grant", []string{"secret"}, "sec*", "secret"},
		{"another's tool with a description", described("theirs"), "mine", `tools: "theirs" ` + foreign},
		{"another's tool with its own description", []starhost.Tool{{Name: "theirs", Description: "Does it."}}, "", "theirs"},
		{"another's tool with a description and the grant", described("theirs"), "theirs", "theirs=New."},
		{"the caller's tool with a description", described("agents"), "", `tools: "agents" ` + foreign},
		{"the caller's tool with a description and the grant", described("agents"), "agents", "agents=New."},
		{"its own tool that the filter denies", []string{"denied"}, "*", `tools: "denied" is not on offer`},
		{"its own tool for another role", []string{"admins"}, "*", `tools: "admins" is not on offer`},
		{"another's tool that the filter denies", described("denied_too"), "*", `tools: "denied_too" is not on offer`},
		{"a tool that an earlier handler took away", []string{"taken"}, "*", `tools: "taken" is not on offer`},
		{"no tool", []string{"mien"}, "*", `tools: "mien" is not on offer (did you mean mine?)`},
		{"a long description", []starhost.Tool{{Name: "mine", Description: strings.Repeat("x", 65537)}}, "", "got a description of 65537 bytes"},
		{"no list", 1, "", "modify: tools: got int, want a list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p1 := named("p1", "mine", "-hidden", "denied", "admins", "taken")
			p1.Tools[3].Roles = []string{"admin"}
			p1.Hooks = []starhost.Hook{{Event: "pre_llm_call", Priority: 2, Call: func(
				_ context.Context, e *starhost.Event,
			) (starhost.Decision, error) {
				if e.Round > 1 {
					return starhost.Decision{}, nil
				}
				return starhost.Modify("tools", tt.choice), nil
			}}}
			if tt.granted != "" {
				p1.Overrides = []string{tt.granted}
			}
			policy := plugin("policy", hook("pre_llm_call", starhost.Modify("tools", []string{"mine", "theirs", "agents"})))
			policy.Hooks[0].Priority = 1
			o := host.Options{Tools: host.ToolFilter{Deny: []string{"denied*"}}}
			h := newHost(t, o, p1, named("p2", "theirs", "-secret", "denied_too"), policy)
			turn := begin(t, h, host.Request{Text: "x", Tools: []starhost.Tool{{Name: "agents", Description: "Does it."}}})
			p := prompt(t, turn)
			got := offered(p.Tools)
			for _, err := range p.Errors {
				got = err.Error()
			}
			if got != tt.want && (len(p.Errors) == 0 || !strings.Contains(got, tt.want)) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if offered(h.Tools()) != "admins hidden mine secret taken theirs" {
				t.Errorf("the host has the tools %s", offered(h.Tools()))
			}
		})
	}
}

// offered lists the names of tools, with the descriptions that a hook wrote.
func offered(tools []starhost.Tool) string {
	var list []string
	for _, tool := range tools {
		text := tool.Name
		if tool.Description != "Does it." {
			text += "=" + tool.Description
		}
		list = append(list, text)
	}
	return strings.Join(list, " ")
}

// TestChosenToolsLastOneRequest checks that a tool that a hook adds runs in the round of that request, that
// the rendering has the new description, and that the next request has the usual tools.
func TestChosenToolsLastOneRequest(t *testing.T) {
	p := named("p1", "mine", "-hidden")
	p.Hooks = []starhost.Hook{{Event: "pre_llm_call", Call: func(
		_ context.Context, e *starhost.Event,
	) (starhost.Decision, error) {
		if e.Round > 1 {
			return starhost.Decision{}, nil
		}
		return starhost.Modify("tools", []starhost.Tool{{Name: "mine", Description: "New."}, {Name: "hidden"}}), nil
	}}}
	turn := begin(t, newHost(t, host.Options{}, p), host.Request{Text: "x"})
	first := prompt(t, turn)
	if !strings.Contains(first.Rendering(), "New.") {
		t.Errorf("the rendering has no new description: %s", first.Rendering())
	}
	diff(t, "result", "p1", call(t, turn, "hidden", `{}`).Result.ForLLM)
	second := prompt(t, turn)
	diff(t, "tools", "mine", offered(second.Tools))
	changed := second.CacheBreak
	if strings.Contains(second.Rendering(), "New.") || changed == nil || changed.Cause != "tools changed" {
		t.Errorf("the second prompt: got %+v", changed)
	}
	if got := call(t, turn, "hidden", `{}`).Result.ForLLM; !strings.Contains(got, `unknown tool "hidden"`) {
		t.Errorf("the next round: got %s", got)
	}
}

// TestLastRequestHasNoTools checks that no hook can add tools to the request after the last of MaxRounds
// rounds.
func TestLastRequestHasNoTools(t *testing.T) {
	p := named("p1", "mine")
	p.Hooks = []starhost.Hook{hook("pre_llm_call", starhost.Modify("tools", []string{"mine"}))}
	h := newHost(t, host.Options{MaxRounds: 1}, p)
	again := starhost.Reply{ToolCalls: []starhost.ToolCall{{ID: "c", Name: "mine"}}}
	replies := scriptedModel{again, again}
	got, err := h.NewSession(host.SessionConfig{}).Turn(t.Context(), host.Request{}, &replies)
	last := got.Prompt
	if err != nil || len(last.Tools) > 0 || got.Rounds != 2 {
		t.Errorf("got %d rounds, the last with %s, %v", got.Rounds, offered(last.Tools), err)
	}
}

// TestPreSendTakesTools checks that pre_send can take tools from a request, and that the model can
// then not call them.
func TestPreSendTakesTools(t *testing.T) {
	p := named("p1", "mine", "other")
	p.Hooks = []starhost.Hook{hook("pre_send", starhost.Modify("tools", []string{"mine"}))}
	turn := begin(t, newHost(t, host.Options{}, p), host.Request{Tools: []starhost.Tool{{Name: "theirs"}}})
	got := prompt(t, turn)
	diff(t, "tools", "mine", offered(got.Tools))
	if strings.Contains(got.Rendering(), "theirs") {
		t.Errorf("the rendering has a tool that is not on offer: %s", got.Rendering())
	}
	if reply := call(t, turn, "other", `{}`); !strings.Contains(reply.Result.ForLLM, `unknown tool "other"`) {
		t.Errorf("got %s", reply.Result.ForLLM)
	}
}
