package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

func TestAddRefuses(t *testing.T) {
	noTool := func(context.Context, starhost.ToolCall) (starhost.Result, error) {
		return starhost.Result{}, nil
	}
	tool := func(name, parameters string) starhost.Plugin {
		return starhost.Plugin{Name: "new", Tools: []starhost.Tool{{Name: name, Description: "d", Parameters: json.RawMessage(parameters), Call: noTool, Pos: at("new.star", 7)}}}
	}
	withHook := func(h starhost.Hook) starhost.Plugin {
		h.Pos = at("new.star", 7)
		return plugin("new", h)
	}
	withLoader := func(name, prefix string) starhost.Plugin {
		l := loader(prefix, func(string) (starhost.Context, error) { return starhost.Context{}, nil })
		l.Pos = at("new.star", 7)
		return starhost.Plugin{Name: name, FragmentLoaders: []starhost.FragmentLoader{l}}
	}
	ok := hook("pre_tool_call", starhost.Decision{}).Call
	deep := strings.Repeat(`{"not":`, 100) + `{}` + strings.Repeat(`}`, 100)
	var doubling []string
	for i := range 30 {
		doubling = append(doubling, fmt.Sprintf(`"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}

	tests := []struct {
		name   string
		plugin starhost.Plugin
		want   string
	}{
		{"plugin without a name", starhost.Plugin{}, `plugin name "": want a lower-case letter, then up to 63 of a-z 0-9 _ -`},
		{"plugin name", starhost.Plugin{Name: "New"}, `plugin name "New": want a lower-case letter, then up to 63 of a-z 0-9 _ -`},
		{"plugin name of 65", starhost.Plugin{Name: strings.Repeat("a", 65)}, `plugin name "` + strings.Repeat("a", 65) + `": want a lower-case letter, then up to 63 of a-z 0-9 _ -`},
		{"plugin twice", starhost.Plugin{Name: "old"}, `plugin "old" is already in this host`},
		{"bad grant", starhost.Plugin{Name: "new", RespondsTo: []string{"["}}, `plugin "new": respond:[: syntax error in pattern`},
		{"tool name", tool("a b", ""), `new.star:7:1: tool name "a b": want 1 to 64 of A-Z a-z 0-9 _ -`},
		{"tool conflict shows both places", tool("page", ""), `new.star:7:1: tool "page" is already registered at old.star:3:1`},
		{"tool without description", starhost.Plugin{Name: "new", Tools: []starhost.Tool{{Name: "x", Description: " \n", Call: noTool}}}, `Go: tool "x" has no description: a model cannot know when to call it`},
		{"tool without Call", starhost.Plugin{Name: "new", Tools: []starhost.Tool{{Name: "x", Description: "d"}}}, `Go: tool "x" has no Call`},
		{"tool approval", starhost.Plugin{Name: "new", Tools: []starhost.Tool{{Name: "x", Description: "d", Call: noTool, Approval: "never"}}}, `Go: tool "x": approval: got "never", want auto or ask`},
		{"schema is a list", tool("x", "[1]"), `new.star:7:1: tool "x": parameters: not a JSON Schema: got array`},
		{"schema has a property that is a list", tool("x", `{"properties":{"a":[1]}}`), `new.star:7:1: tool "x": parameters: not a JSON Schema: properties: got array`},
		{"schema has a word of another type", tool("x", `{"required":{"a":1}}`), `new.star:7:1: tool "x": parameters: not a JSON Schema: required: got object`},
		{"schema is no JSON", tool("x", "{"), `new.star:7:1: tool "x": parameters: not a JSON Schema: unexpected end of JSON input`},
		{"schema type", tool("x", `{"type":"string"}`), `new.star:7:1: tool "x": parameters: type: got "string", want "object"`},
		{"schema without type", tool("x", `{}`), `new.star:7:1: tool "x": parameters: type: got "", want "object"`},
		{"schema with a misspelt type", tool("x", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"strng"}}}}`),
			`new.star:7:1: tool "x": parameters: a: items: type: got "strng", want one of array, boolean, integer, null, number, object, string (did you mean string?)`},
		{"schema with a bad type in a combination", tool("x", `{"type":"object","properties":{"a":{"anyOf":[{"type":["string","nil"]}]}}}`),
			`new.star:7:1: tool "x": parameters: a: anyOf: type: got "nil", want one of array, boolean, integer, null, number, object, string`},
		{"schema with null", tool("x", `{"type":"object","properties":{"a":null}}`), `new.star:7:1: tool "x": parameters: a: got null, want a schema`},
		{"schema with a bad pattern", tool("x", `{"type":"object","properties":{"a":{"pattern":"("}}}`), "error parsing regexp"},
		{"schema requires what nothing is", tool("x", `{"type":"object","properties":{"cluster":{}},"required":["clutser"],"additionalProperties":false}`),
			`new.star:7:1: tool "x": parameters: required: "clutser" is no property (did you mean cluster?)`},
		{"schema that refers to itself", tool("x", `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`),
			`new.star:7:1: tool "x": parameters: $ref "#/properties/a" leads back to itself: arguments of tools cannot be recursive`},
		{"schema that refers to itself in capitals", tool("x", `{"type":"object","properties":{"a":{"$REF":"#/properties/%61"}}}`), `leads back to itself`},
		{"schema that refers to its root", tool("x", `{"type":"object","properties":{"a":{"$ref":"#"}}}`), `$ref "#" leads back to itself`},
		{"schema that refers outside", tool("x", `{"type":"object","properties":{"a":{"$ref":"http://127.0.0.1/s"}}}`), `$ref: got "http://127.0.0.1/s", want "#/" and the path`},
		{"schema that refers to nothing", tool("x", `{"type":"object","properties":{"a":{"$ref":"#/allOf/0"}}}`), `$ref: got "#/allOf/0"`},
		{"schema that refers to an anchor", tool("x", `{"type":"object","properties":{"a":{"$ref":"#a"}}}`), `$ref: got "#a"`},
		{"schema with a dynamic reference", tool("x", `{"type":"object","properties":{"a":{"$dynamicRef":"#a"}}}`), `$dynamicRef is not supported`},
		{"schema that grows", tool("x", `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`+strings.Join(doubling, ",")+`,"d30":{}}}`),
			`more than 50000 values with references written out`},
		{"schema too deep", tool("x", `{"type":"object","not":`+deep+`}`), `new.star:7:1: tool "x": parameters: nested deeper than 64`},
		{"schema too long", tool("x", `{"type":"object","description":"`+strings.Repeat("x", 1<<18)+`"}`), `new.star:7:1: tool "x": parameters: 262178 bytes, limit 262144`},
		{"unknown event", withHook(starhost.Hook{Event: "pre_tol_call", Call: ok}), `new.star:7:1: unknown event "pre_tol_call" (did you mean pre_tool_call?)`},
		{"match on an event about no tool", withHook(starhost.Hook{Event: "turn_start", Match: []string{"*"}, Call: ok}), `new.star:7:1: hook turn_start: match: the event is not about a tool`},
		{"bad glob", withHook(starhost.Hook{Event: "pre_tool_call", Match: []string{"a[", "b"}, Call: ok}), `new.star:7:1: hook pre_tool_call: match: "a[": syntax error in pattern`},
		{"on_error that a guard has not", withHook(starhost.Hook{Event: "approve_tool_call", OnError: "abort", Call: ok}), `new.star:7:1: hook approve_tool_call: on_error: got "abort", want skip or deny`},
		{"on_error that an observer has not", withHook(starhost.Hook{Event: "post_tool_call", OnError: "deny", Call: ok}), `new.star:7:1: hook post_tool_call: on_error: got "deny", want skip: what the event is about has run. Without on_error a failure withholds the result if the plugin's files contain modify(result=)`},
		{"unknown on_error", withHook(starhost.Hook{Event: "pre_tool_call", OnError: "ignore", Call: ok}), `new.star:7:1: hook pre_tool_call: on_error: got "ignore", want skip, deny or abort`},
		{"hook without Call", withHook(starhost.Hook{Event: "turn_start"}), `new.star:7:1: hook turn_start has no Call`},
		{"prefix of one letter", withLoader("new", "c"), `new.star:7:1: fragment loader prefix "c": want a lower-case letter, then one or more of a-z 0-9 _ -`},
		{"empty prefix", withLoader("new", ""), `new.star:7:1: fragment loader prefix "": want a lower-case letter, then one or more of a-z 0-9 _ -`},
		{"reserved prefix", withLoader("new", "file"), `new.star:7:1: fragment loader prefix "file" is the host's own`},
		{"the host's bad prefix", withLoader("host", "A"), `new.star:7:1: fragment loader prefix "A": want a lower-case letter, then one or more of a-z 0-9 _ -`},
		{"prefix conflict shows both places", withLoader("new", "runbook"), `new.star:7:1: fragment loader "runbook" is already registered at old.star:4:1`},
		{"loader without Load", starhost.Plugin{Name: "new", FragmentLoaders: []starhost.FragmentLoader{{Prefix: "xy"}}}, `Go: fragment loader "xy" has no Load`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			old := starhost.Plugin{
				Name:            "old",
				Tools:           []starhost.Tool{{Name: "page", Description: "d", Call: noTool, Pos: at("old.star", 3)}},
				FragmentLoaders: []starhost.FragmentLoader{{Prefix: "runbook", Load: loader("", nil).Load, Pos: at("old.star", 4)}},
			}
			h := newHost(t, host.Options{}, old)
			good := starhost.Plugin{Name: "good", Tools: []starhost.Tool{{Name: "good", Description: "d", Call: noTool}}, Hooks: []starhost.Hook{hook("turn_start", starhost.Decision{})}}
			err := h.Add(good, tt.plugin)
			if err == nil {
				t.Fatal("Add: got no error")
			}
			contains(t, "Add", err.Error(), tt.want)
			if n := len(h.Tools()) + len(h.Hooks()) + len(h.FragmentLoaders()); n != 2 {
				t.Errorf("after a refused Add the host has %d registrations, want the 2 it had", n)
			}
		})
	}
}

func TestAddErrorTypes(t *testing.T) {
	h := newHost(t, host.Options{}, echo())
	again := echo()
	again.Name, again.Tools[0].Pos = "other", at("other.star", 1)
	var conflict *host.ConflictError
	if err := h.Add(again); !errors.As(err, &conflict) {
		t.Fatalf("Add: got %v, want a *ConflictError", err)
	}
	diff(t, "conflict", host.ConflictError{What: `tool "echo"`, Pos: at("other.star", 1), Old: at("tools.star", 3)}, *conflict)
	var bad *host.RegistrationError
	if err := h.Add(plugin("bad", starhost.Hook{Event: "nope"})); !errors.As(err, &bad) {
		t.Errorf("Add: got %v, want a *RegistrationError", err)
	}
}

// Hooks have one total order: priority, plugin name, registration.
func TestHookOrder(t *testing.T) {
	var ran []string
	named := func(name string, priority int) starhost.Hook {
		h := hookFunc("turn_start", func(*starhost.Event) starhost.Decision { ran = append(ran, name); return starhost.Decision{} })
		h.Priority, h.Pos = priority, starhost.Pos{File: name}
		return h
	}
	h := newHost(t, host.Options{}, plugin("zeta", named("zeta 0", 0), named("zeta -5", -5)), plugin("alpha", named("alpha 1", 1), named("alpha 0 first", 0), named("alpha 0 second", 0)))
	if err := h.Add(plugin("beta", named("beta 0", 0)),
		plugin("mid", hook("pre_send", starhost.Decision{}), hook("session_start", starhost.Decision{}))); err != nil {
		t.Fatal(err)
	}
	begin(t, h, host.Request{})
	want := []string{"zeta -5", "alpha 0 first", "alpha 0 second", "beta 0", "zeta 0", "alpha 1"}
	diff(t, "order in which hooks ran", want, ran)
	var listed []string
	for _, info := range h.Hooks() {
		if info.Event == "turn_start" {
			listed = append(listed, info.Pos.String())
		}
	}
	diff(t, "order in which hooks are listed", want, listed)
	diff(t, "events first", []string{"session_start", "turn_start", "pre_send"}, []string{h.Hooks()[0].Event, h.Hooks()[1].Event, h.Hooks()[7].Event})
}

func TestToolFilter(t *testing.T) {
	tool := func(name string) starhost.Tool {
		return starhost.Tool{Name: name, Description: "d", Call: echo().Tools[0].Call}
	}
	p := starhost.Plugin{Name: "p", Tools: []starhost.Tool{tool("b_two"), tool("a_one"), tool("b_one")}}
	tests := []struct {
		name   string
		filter host.ToolFilter
		only   []string
		want   []string
	}{
		{"all, by name", host.ToolFilter{}, nil, []string{"a_one", "b_one", "b_two", "client"}},
		{"allow", host.ToolFilter{Allow: []string{"b_*"}}, nil, []string{"b_one", "b_two", "client"}},
		{"deny wins", host.ToolFilter{Allow: []string{"b_*"}, Deny: []string{"*_two"}}, nil, []string{"b_one", "client"}},
		{"the request's choice", host.ToolFilter{Deny: []string{"*_two"}}, []string{"b_*"}, []string{"b_one", "client"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, host.Options{Tools: tt.filter}, p)
			turn := begin(t, h, host.Request{OnlyTools: tt.only, Tools: []starhost.Tool{{Name: "client", Call: tool("").Call}}})
			var got []string
			for _, tool := range prompt(t, turn).Tools {
				got = append(got, tool.Name)
			}
			diff(t, "tools on offer", tt.want, got)
			contains(t, "call of a filtered tool", call(t, turn, "c_three", "{}").Result.ForLLM, `unknown tool "c_three"`)
			diff(t, "call of the caller's tool", `tool "client" is run by the caller`, call(t, turn, "client", "{}").Result.ForLLM)
		})
	}
}

func TestRequestToolDoesNotReplaceTheHosts(t *testing.T) {
	turn := begin(t, newHost(t, host.Options{}, echo()), host.Request{Tools: []starhost.Tool{{Name: "echo"}}})
	p := prompt(t, turn)
	if len(p.Tools) != 1 || p.Tools[0].PluginName() != "tools" {
		t.Errorf("tools: got %v, want the host's echo alone", p.Tools)
	}
	diff(t, "parameter types", map[string]string{"text": "string", "n": "integer"}, p.Tools[0].ParameterTypes())
}

func TestParameterTypes(t *testing.T) {
	tests := []struct {
		schema string
		want   map[string]string
	}{
		{``, map[string]string{}},
		{`{"type":"object"}`, map[string]string{}},
		{`{"properties":{"a":{"type":["string","null"]},"b":{},"c":{"type":"number"}}}`, map[string]string{"a": "", "b": "", "c": "number"}},
	}
	for _, tt := range tests {
		tool := starhost.Tool{Parameters: json.RawMessage(tt.schema)}
		diff(t, tt.schema, tt.want, tool.ParameterTypes())
	}
}

func TestFragmentLoaders(t *testing.T) {
	h := newHost(t, host.Options{},
		starhost.Plugin{Name: "zz", FragmentLoaders: []starhost.FragmentLoader{{Prefix: "wiki", Description: "A page.", Load: loader("", nil).Load, Pos: at("zz.star", 2)}}},
		starhost.Plugin{Name: starhost.HostPlugin, FragmentLoaders: []starhost.FragmentLoader{{Prefix: "-", Load: loader("", nil).Load}, {Prefix: "", Load: loader("", nil).Load}, {Prefix: "file", Load: loader("", nil).Load}}})
	diff(t, "loaders", []host.LoaderInfo{
		{Prefix: "", Plugin: "host"}, {Prefix: "-", Plugin: "host"}, {Prefix: "file", Plugin: "host"},
		{Prefix: "wiki", Plugin: "zz", Description: "A page.", Pos: at("zz.star", 2)},
	}, h.FragmentLoaders())
}

func TestPosString(t *testing.T) {
	tests := []struct {
		pos  starhost.Pos
		want string
	}{
		{starhost.Pos{}, "Go"},
		{starhost.Pos{File: "a.star"}, "a.star"},
		{starhost.Pos{File: "a.star", Line: 3}, "a.star:3"},
		{starhost.Pos{File: "a.star", Line: 3, Col: 9}, "a.star:3:9"},
	}
	for _, tt := range tests {
		diff(t, "String", tt.want, tt.pos.String())
	}
}
