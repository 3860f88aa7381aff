package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// drawDecision draws a decision of a handler. Some of the decisions are invalid for the event.
func drawDecision(t *rapid.T, spec starhost.EventSpec) starhost.Decision {
	text := someText.Draw(t, "text")
	changes := []starhost.Decision{{}}
	for _, arg := range spec.Modify {
		for _, value := range []any{text, json.RawMessage(`{"text":"` + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "argument") + `"}`), []string{"echo"}, []string{}} {
			changes = append(changes, starhost.Modify(arg, value))
		}
	}
	return rapid.SampledFrom(append(changes, changes[0], starhost.TextContext(text), deny, askFor, approve,
		respond(text), abort)).Draw(t, "decision")
}

// drawPlugins draws plugins with hooks on every event, loaders, and a tool that another plugin may override.
func drawPlugins(t *rapid.T) []starhost.Plugin {
	var plugins []starhost.Plugin
	specs := starhost.Events()
	for i := range rapid.IntRange(1, 5).Draw(t, "plugins") {
		name := fmt.Sprintf("p%d", i)
		p := starhost.Plugin{Name: name, Warn: rapid.Bool().Draw(t, "warn")}
		for range rapid.IntRange(0, 5).Draw(t, "hooks") {
			spec := specs[rapid.IntRange(0, len(specs)-1).Draw(t, "event")]
			h := hook(spec.Name, drawDecision(t, spec))
			if rapid.IntRange(0, 5).Draw(t, "fails") == 0 {
				h = failingHook(spec.Name, "")
			}
			h.Priority = rapid.IntRange(-1, 1).Draw(t, "priority")
			p.Hooks = append(p.Hooks, h)
		}
		offered := drawContext(t, "loader")
		p.FragmentLoaders = []starhost.FragmentLoader{loader(name, func(arg string) (starhost.Context, error) {
			if arg == "fail" {
				return starhost.Context{}, errors.New("no such page")
			}
			return offered, nil
		})}
		plugins = append(plugins, p)
	}
	plain, over := toolOf("plain", starhost.Tool{}), toolOf("over", starhost.Tool{Override: true})
	over.Overrides = []string{"*"}
	return append(plugins, echo(), plain, over, deliver())
}

// The visible result of a session does not depend on the order of Add, on the number of workers, or
// on which loader starts first.
func TestLawOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plugins := drawPlugins(t)
		r := host.Request{Text: "hi", Fragments: rapid.SliceOfN(rapid.SampledFrom([]string{"p0:a", "p1:b", "p2:c", "p0:fail", "p1:fail"}), 0, 4).Draw(t, "references")}
		want := play(t, host.Options{Workers: 1}, plugins, r)
		lastFirst := host.Options{Workers: 4}
		lastFirst.LoadersLastFirst = true
		got := play(t, lastFirst, rapid.Permutation(plugins).Draw(t, "order of Add"), r)
		if want != got {
			t.Fatalf("the order shows:\n%s\n--- in another order:\n%s", want, got)
		}
	})
}

// play runs a session with all kinds of events, and returns everything that a program can see.
func play(t *rapid.T, o host.Options, plugins []starhost.Plugin, r host.Request) string {
	var seen strings.Builder
	say := func(list ...any) { fmt.Fprintln(&seen, list...) }
	o.Clock = tickingClock()
	o.Log = func(l host.LogLine) { say("log", l.Plugin, l.Level, l.Text) }
	o.Approver = func(_ context.Context, r host.ApprovalRequest) (host.Answer, error) {
		say("approve?", r.Reasons)
		return host.Answer{Yes: true}, nil
	}
	h := host.New(o)
	for _, p := range plugins {
		if err := h.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	ctx, s := context.Background(), h.NewSession(host.SessionConfig{Model: "m"})
	replies := scriptedModel{replyWith(`c1 echo {"text":"a"}`, `c2 page`), {Content: "done"}}
	model := modelFunc(func(ctx context.Context, p *host.Prompt) (starhost.Reply, error) {
		say(p.Rendering(), p.Model, string(p.Options), p.CacheBreak)
		for _, row := range p.Fragments {
			say(printRow(row))
		}
		return replies.Complete(ctx, p)
	})
	got, err := s.Turn(ctx, r, model)
	say(err)
	if got != nil {
		say(got.Text, got.Completed)
		for _, c := range got.Calls {
			say(fmt.Sprintf("%+v %v", c.Result, c.Denied))
		}
		for _, tr := range got.Turn.Hooks() {
			say(fmt.Sprintf("%+v", tr))
		}
	}
	reply, err := s.Command(ctx, "/deliver x")
	say(fmt.Sprintf("%+v", reply.Result), reply.Denied, err)
	out, err := s.Fire(ctx, &starhost.Event{Name: "pre_file_save", Content: "c"})
	say(fmt.Sprintf("%+v", out), err, s.Reset(ctx), s.Close(ctx))
	return seen.String()
}
