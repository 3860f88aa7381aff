package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// at returns a place in a plugin's source.
func at(file string, line int) starhost.Pos { return starhost.Pos{File: file, Line: line, Col: 1} }

// newHost returns a host with plugins.
func newHost(t testing.TB, o host.Options, plugins ...starhost.Plugin) *host.Host {
	t.Helper()
	h := host.New(o)
	if err := h.Add(plugins...); err != nil {
		t.Fatal(err)
	}
	return h
}

// begin starts the first turn of a new session.
func begin(t testing.TB, h *host.Host, r host.Request) *host.Turn {
	t.Helper()
	return beginIn(t, h.NewSession(host.SessionConfig{}), r)
}

// beginIn starts a turn of a session. The turn ends with the test at the latest.
func beginIn(t testing.TB, s *host.Session, r host.Request) *host.Turn {
	t.Helper()
	turn, err := s.Begin(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { turn.End(context.Background()) })
	return turn
}

// prompt builds a turn's next prompt.
func prompt(t testing.TB, turn *host.Turn) *host.Prompt {
	t.Helper()
	p, err := turn.Prompt(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ask runs a whole turn of one round, and returns its prompt.
func ask(t testing.TB, s *host.Session, r host.Request) *host.Prompt {
	t.Helper()
	turn := beginIn(t, s, r)
	p := prompt(t, turn)
	turn.Reply(context.Background(), starhost.Reply{Content: "ok"})
	turn.End(context.Background())
	return p
}

// call runs a tool.
func call(t testing.TB, turn *host.Turn, name, args string) host.ToolReply {
	t.Helper()
	reply, err := turn.CallTool(context.Background(),
		starhost.ToolCall{ID: "c1", Name: name, Arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// diff fails the test if got differs from want.
func diff(t testing.TB, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// contains fails the test if a text does not contain a part.
func contains(t testing.TB, what, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s: got %q, want it to have %q", what, text, part)
	}
}

// hook returns a hook with a fixed decision.
func hook(event string, d starhost.Decision) starhost.Hook {
	return starhost.Hook{Event: event,
		Call: func(context.Context, *starhost.Event) (starhost.Decision, error) {
			return d, nil
		}}
}

// hookFunc returns a hook that derives its decision from the event.
func hookFunc(event string, decide func(*starhost.Event) starhost.Decision) starhost.Hook {
	return starhost.Hook{Event: event,
		Call: func(_ context.Context, e *starhost.Event) (starhost.Decision, error) {
			return decide(e), nil
		}}
}

// sayingHook returns a hook that offers the texts one after the other, one at each call, and then nothing.
func sayingHook(event string, texts ...string) starhost.Hook {
	n := 0
	return hookFunc(event, func(*starhost.Event) starhost.Decision {
		n++
		if n > len(texts) {
			return starhost.Decision{}
		}
		return starhost.TextContext(texts[n-1])
	})
}

// contextOf returns a decision that offers fragments.
func contextOf(list ...fragments.Fragment) starhost.Decision {
	return starhost.Decision{Action: starhost.ActionContext, Context: starhost.Context{Fragments: list}}
}

// plugin returns a plugin that has only these hooks.
func plugin(name string, hooks ...starhost.Hook) starhost.Plugin {
	return starhost.Plugin{Name: name, Hooks: hooks}
}

// echo returns a plugin with a tool "echo" whose result is the argument.
func echo() starhost.Plugin {
	return starhost.Plugin{Name: "tools", Tools: []starhost.Tool{{
		Name: "echo", Description: "Says what it is told.", Pos: at("tools.star", 3),
		Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"n":{"type":"integer"}},"required":["text"],"additionalProperties":false}`),
		Call: func(_ context.Context, c starhost.ToolCall) (starhost.Result, error) {
			return starhost.Result{ForLLM: string(c.Arguments)}, nil
		},
	}}}
}

// loader returns a fragment loader.
func loader(prefix string, load func(arg string) (starhost.Context, error)) starhost.FragmentLoader {
	return starhost.FragmentLoader{Prefix: prefix,
		Load: func(_ context.Context, arg string) (starhost.Context, error) { return load(arg) }}
}

// texts returns a context with a fragment for each text.
func texts(list ...string) starhost.Context {
	var c starhost.Context
	for _, s := range list {
		c.Fragments = append(c.Fragments, fragments.Fragment{Content: s})
	}
	return c
}

// statuses returns a text "content status" for each row of the report.
func statuses(p *host.Prompt) []string {
	var list []string
	for _, r := range p.Fragments {
		list = append(list, fmt.Sprintf("%s %s", r.Content, r.Status))
	}
	return list
}

// roles returns a text "role: content" for each message.
func roles(messages []starhost.Message) []string {
	var list []string
	for _, m := range messages {
		list = append(list, m.Role+": "+m.Content.String())
	}
	return list
}

// printRow returns the fields of a row as text, without addresses in memory.
func printRow(r *fragments.Row) string {
	rest := *r
	rest.Fragment = nil
	return fmt.Sprintf("%+v %+v", r.Offer(), rest)
}
