package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// TestReset checks that the first turn after a reset gets the same context as the first turn of a session.
func TestReset(t *testing.T) {
	system := starhost.Decision{Action: starhost.ActionContext, Context: starhost.Context{Fragments: []fragments.Fragment{{Content: "rules", Target: fragments.System}}}}
	var events []string
	note := func(name string) starhost.Hook {
		return hookFunc(name, func(e *starhost.Event) starhost.Decision {
			events = append(events, fmt.Sprint(name, " ", e.IsFirstTurn))
			return starhost.Decision{}
		})
	}
	h := newHost(t, host.Options{Prompt: host.PromptOptions{Render: fragments.XML}},
		plugin("p", hook("session_start", starhost.TextContext("welcome")), hook("turn_start", system), hook("pre_llm_call", starhost.TextContext("always")),
			note("session_start"), note("session_reset"), note("turn_start")))
	s := h.NewSession(host.SessionConfig{})
	first := ask(t, s, host.Request{Text: "hi", System: "Be brief."})
	ask(t, s, host.Request{Text: "more"})
	if err := s.Reset(context.Background()); err != nil {
		t.Fatal(err)
	}
	again := ask(t, s, host.Request{Text: "hi"})
	diff(t, "prompt after the reset", first.Rendering(), again.Rendering())
	if again.CacheBreak == nil || again.CacheBreak.Cause != "history changed" {
		t.Errorf("cache break: got %+v, want one because of the history", again.CacheBreak)
	}
	diff(t, "events", []string{"session_start true", "turn_start true", "turn_start false", "session_reset false", "turn_start true"}, events)
}

// TestClose checks that a closed session refuses all calls, and that a session that never began fires no
// session_end.
func TestClose(t *testing.T) {
	ctx := context.Background()
	ends := 0
	h := newHost(t, host.Options{}, echo(), deliver(),
		plugin("p", hookFunc("session_end", func(*starhost.Event) starhost.Decision {
			ends++
			return starhost.Decision{}
		})))
	for began := range 2 {
		s := h.NewSession(host.SessionConfig{})
		if began == 1 {
			ask(t, s, host.Request{})
		}
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
		diff(t, "session_end", began, ends)
		_, begin := s.Begin(ctx, host.Request{})
		_, command := s.Command(ctx, "/deliver")
		for what, err := range map[string]error{"Begin": begin, "Command": command, "Reset": s.Reset(ctx)} {
			if !errors.Is(err, host.ErrClosed) {
				t.Errorf("%s: got %v, want ErrClosed", what, err)
			}
		}
	}
	s := h.NewSession(host.SessionConfig{})
	turn := beginIn(t, s, host.Request{})
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Close(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("Close beside a turn: got %v, want it to wait", err)
	}
	turn.End(ctx)
	ask(t, s, host.Request{}) // the session is still open
}

// TestAppEvents checks that a program can fire declared events and file events.
func TestFireBetweenTurns(t *testing.T) {
	app := starhost.EventSpec{
		Name: "app.deploy", Args: []string{"service", "count"}, Modify: []string{"count"}, Guard: true,
		Actions: []starhost.Action{starhost.ActionContext, starhost.ActionModify, starhost.ActionDeny, starhost.ActionAsk, starhost.ActionAbort},
	}
	value := func(e *starhost.Event, name string) string { return string(e.Arg(name).(*starhost.AppArg).Value) }
	more := hookFunc("app.deploy", func(e *starhost.Event) starhost.Decision {
		return starhost.Modify("count", json.RawMessage(value(e, "count")+"0"))
	})
	deploy := func(pairs ...string) *starhost.Event {
		e := &starhost.Event{Name: "app.deploy"}
		for i := 0; i < len(pairs); i += 2 {
			e.App = append(e.App, starhost.AppArg{Name: pairs[i], Value: json.RawMessage(pairs[i+1])})
		}
		return e
	}
	save := func() *starhost.Event { return &starhost.Event{Name: "pre_file_save", Path: "a.md", Content: "text"} }
	upper := hookFunc("pre_file_save", func(e *starhost.Event) starhost.Decision {
		return starhost.Modify("content", strings.ToUpper(e.Content)+e.Path)
	})
	tests := []struct {
		name    string
		plugins []starhost.Plugin
		event   *starhost.Event
		want    string // the decision and the changed event, as text
	}{
		{"nobody listens", nil, deploy("service", `"a"`), `: service="a" count=null`},
		{"modify chains", []starhost.Plugin{pluginWith(1, more), pluginWith(2, more)}, deploy("count", "1", "service", `"a"`), `modify: service="a" count=100`},
		{"modify to no JSON", []starhost.Plugin{pluginWith(1, hook("app.deploy", starhost.Modify("count", json.RawMessage("{"))))}, deploy("count", "1"),
			"deny the guard of p1 failed: modify: count: got json.RawMessage, want JSON: service=null count=1"},
		{"modify of what may not be", []starhost.Plugin{pluginWith(1, hook("app.deploy", starhost.Modify("service", json.RawMessage("1"))))}, deploy(),
			`deny the guard of p1 failed: modify: app.deploy cannot change "service", it can change count: service=null count=null`},
		{"deny", []starhost.Plugin{pluginWith(1, more), pluginWith(2, hook("app.deploy", deny))}, deploy("count", "1"), "deny no: service=null count=10"},
		{"ask", []starhost.Plugin{pluginWith(1, hook("app.deploy", askFor))}, deploy(), "ask sure?: service=null count=null"},
		{"abort is an outcome", []starhost.Plugin{pluginWith(1, hook("app.deploy", abort))}, deploy(), "abort stop: service=null count=null"},
		{"unknown argument", nil, deploy("servce", "1"), `error: app.deploy: unknown argument "servce" (did you mean service?)`},
		{"an argument that is no JSON", nil, deploy("service", "a"), `error: app.deploy: argument "service": got a, want JSON`},
		{"unknown event", nil, &starhost.Event{Name: "app.deplyo"}, `error: unknown event "app.deplyo" (did you mean app.deploy?)`},
		{"arguments of an event that has none of its own", nil, &starhost.Event{Name: "pre_file_save", App: deploy("service", "1").App}, `error: pre_file_save: unknown argument "service"`},
		{"a file", []starhost.Plugin{pluginWith(1, upper)}, save(), "modify: TEXTa.md"},
		{"a file, denied", []starhost.Plugin{pluginWith(1, hook("pre_file_save", deny)), pluginWith(2, upper)}, save(), "deny no: TEXTa.md"},
		{"a file, and a guard that fails", []starhost.Plugin{pluginWith(1, failingHook("pre_file_save", ""))}, save(), "deny the guard of p1 failed: division by zero: text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, host.Options{AppEvents: []starhost.EventSpec{app}}, append(tt.plugins, plugin("watch", sayingHook("session_start", "hello")))...)
			fire := func(f func(context.Context, *starhost.Event) (host.Outcome, error)) string {
				e := *tt.event
				out, err := f(context.Background(), &e)
				if err != nil {
					return "error: " + err.Error()
				}
				text := e.Content
				if len(e.App) > 0 {
					text = "service=" + value(&e, "service") + " count=" + value(&e, "count")
				}
				return strings.TrimSpace(string(out.Decision.Action)+" "+out.Decision.Reason) + ": " + text
			}
			s := h.NewSession(host.SessionConfig{})
			turn := begin(t, h, host.Request{})
			diff(t, "what came of it", []string{tt.want, tt.want, tt.want}, []string{fire(s.Fire), fire(h.Fire), fire(turn.Fire)})
		})
	}
	h := host.New(host.Options{AppEvents: []starhost.EventSpec{app}})
	e, err := starhost.NewEvent("app.deploy", map[string]json.RawMessage{"count": json.RawMessage("[1]")}, h.Events()...)
	if err != nil || value(e, "count") != "[1]" || value(e, "service") != "null" {
		t.Errorf("NewEvent: got %+v, %v", e, err)
	}
}

// TestErrorEvents checks that handlers of error hear of every failure except their own.
func TestErrorEvent(t *testing.T) {
	var heard []string
	listen := hookFunc("error", func(e *starhost.Event) starhost.Decision {
		heard = append(heard, fmt.Sprintf("%s %s: %s (%s)", e.Plugin, e.Handler, e.Message, e.Traceback))
		return starhost.Decision{}
	})
	calls := starhost.Hook{Event: "error",
		Call: func(ctx context.Context, _ *starhost.Event) (starhost.Decision, error) {
			turn := host.TurnOf(ctx)
			_, err := turn.CallTool(ctx, starhost.ToolCall{Name: "page"})
			return starhost.Deny("no decision here"), err
		}}
	var logs []string
	p := toolOf("p", starhost.Tool{
		Call: func(context.Context, starhost.ToolCall) (starhost.Result, error) {
			return starhost.Result{}, detailedError{errors.New("down")}
		}})
	p.Hooks = []starhost.Hook{failingHook("turn_start", ""), failingHook("turn_end", "")}
	p.FragmentLoaders = []starhost.FragmentLoader{loader("ref", func(arg string) (starhost.Context, error) {
		return starhost.Context{}, errors.New("no " + arg)
	})}
	h := newHost(t, host.Options{Log: func(l host.LogLine) { logs = append(logs, l.Plugin+" "+l.Text) }},
		p, plugin("q", listen, calls), plugin("r", failingHook("error", "")))
	turn := begin(t, h, host.Request{Fragments: []string{"ref:a", "ref:b"}})
	diff(t, "failures of a hook", []string{"p turn_start: division by zero ()"}, heard)
	diff(t, "logged", []string{
		"p hook turn_start: division by zero",
		"p tool page: down", // a handler of error called the tool
		"q hook error: error: deny is no decision here, want nothing",
		"r hook error: division by zero",
	}, logs)
	heard = nil
	call(t, turn, "page", "{}")
	if _, err := turn.Prompt(context.Background()); err == nil {
		t.Error("Prompt: got no error")
	}
	turn.End(context.Background())
	diff(t, "further failures", []string{
		"p tool page: down (in page ops.star:3:1)",
		"p loader ref: no a ()", "p loader ref: no b ()",
		"p turn_end: division by zero ()",
	}, heard)
}

// TestLive checks that a turn keeps the plugins that it began with. The session's next turn has the new
// plugins and the history.
func TestLive(t *testing.T) {
	h := func(name string) *host.Host {
		return newHost(t, host.Options{}, toolOf(name, starhost.Tool{}),
			plugin("hooks", hook("pre_llm_call", starhost.TextContext("context of "+name))))
	}
	first, second := h("first"), h("second")
	live := host.NewLiveHost(first)
	s := live.NewSession(host.SessionConfig{})
	turn := beginIn(t, s, host.Request{Text: "a"})
	if old := live.Swap(second); old != first || live.Host() != second {
		t.Error("Swap: got another host than the one before it")
	}
	diff(t, "the turn under way", "context of first\na", prompt(t, turn).Text.String())
	diff(t, "its tools", "from first", call(t, turn, "page", "{}").Result.ForLLM)
	turn.End(context.Background())
	turn = beginIn(t, s, host.Request{Text: "b"})
	diff(t, "the next turn", []string{"user: context of first\na", "user: context of second\nb"}, roles(prompt(t, turn).Messages))
	diff(t, "its tools", "from second", call(t, turn, "page", "{}").Result.ForLLM)
	diff(t, "ids", []string{"session-1", "session-2"}, []string{s.ID(), live.NewSession(host.SessionConfig{}).ID()})
}

// TestLiveConcurrently changes hosts while sessions run turns.
func TestLiveConcurrently(t *testing.T) {
	live := host.NewLiveHost(newHost(t, host.Options{}, toolOf("p0", starhost.Tool{})))
	var wg sync.WaitGroup
	for i := range 4 {
		next := newHost(t, host.Options{}, toolOf(fmt.Sprintf("p%d", i), starhost.Tool{}))
		s := live.NewSession(host.SessionConfig{})
		wg.Go(func() { live.Swap(next) })
		wg.Go(func() {
			for range 5 {
				replies := scriptedModel{replyWith("c1 page"), {Content: "done"}}
				if got, err := s.Turn(context.Background(), host.Request{}, &replies); err != nil || got.Text != "done" {
					t.Errorf("Turn: got %+v, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestBetweenTurns checks that a program can call tools and load references between two turns as in a turn.
func TestBetweenTurns(t *testing.T) {
	h := newHost(t, host.Options{}, echo(), plugin("p", hookFunc("pre_tool_call", func(e *starhost.Event) starhost.Decision {
		if strings.Contains(string(e.Arguments), "secret") {
			return starhost.Deny("secret")
		}
		return starhost.Decision{}
	})))
	s := h.NewSession(host.SessionConfig{})
	var offered, answers []string
	turn, err := s.BetweenTurns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range turn.Tools().Items() {
		offered = append(offered, tool.Name)
	}
	for _, text := range []string{"hello", "secret"} {
		reply, err := turn.CallTool(t.Context(),
			starhost.ToolCall{ID: "1", Name: "echo", Arguments: json.RawMessage(fmt.Sprintf(`{"text":%q}`, text))})
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, reply.Result.ForLLM)
	}
	turn.End(t.Context())
	diff(t, "tools", []string{"echo"}, offered)
	diff(t, "answers", []string{`{"text":"hello"}`, "denied by p: secret"}, answers)
	if turns := ask(t, s, host.Request{Text: "hi"}); len(turns.Messages) != 1 {
		t.Errorf("got %d messages, want the one of the first turn", len(turns.Messages))
	}
}
