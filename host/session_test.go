package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

func TestSessionConfig(t *testing.T) {
	var platforms []string
	h := newHost(t, host.Options{}, pluginWith(1, hookFunc("session_start", func(e *starhost.Event) starhost.Decision {
		platforms = append(platforms, e.SessionID+" "+e.Platform+" "+e.Model)
		return starhost.Decision{}
	})))
	first, second := h.NewSession(host.SessionConfig{}), h.NewSession(host.SessionConfig{ID: "mine",
		Platform: "cli", Model: "m", Seed: 7})
	for range 2 {
		ask(t, first, host.Request{})
		ask(t, second, host.Request{})
	}
	diff(t, "session_start, once a session", []string{"session-1 go ", "mine cli m"}, platforms)
	diff(t, "seed", uint64(7), second.Seed())
	diff(t, "id", "mine", second.ID())
}

func TestTurnNumbers(t *testing.T) {
	var firsts []bool
	h := newHost(t, host.Options{}, pluginWith(1, hookFunc("turn_start", func(e *starhost.Event) starhost.Decision {
		firsts = append(firsts, e.IsFirstTurn)
		return starhost.Decision{}
	})))
	s := h.NewSession(host.SessionConfig{})
	for want := 1; want <= 2; want++ {
		turn := beginIn(t, s, host.Request{})
		diff(t, "number", want, turn.Number())
		if turn.Session() != s {
			t.Error("Session: got another one")
		}
		turn.End(context.Background())
		turn.End(context.Background()) // a second call of End does nothing
	}
	diff(t, "is_first_turn", []bool{true, false}, firsts)
}

func TestNow(t *testing.T) {
	turn := begin(t, newHost(t, host.Options{Clock: tickingClock()}), host.Request{})
	if _, asked := turn.FirstNow(); asked {
		t.Error("AskedNow: got true before anybody asked")
	}
	first := turn.Now()
	if got, asked := turn.FirstNow(); first != turn.Now() || !asked || got != first {
		t.Error("Now: got two times outside of events")
	}
	if host.LaneOf(context.Background()) != nil {
		t.Error("LaneOf: got a lane outside of a handler")
	}
}

func TestValue(t *testing.T) {
	s := newHost(t, host.Options{}).NewSession(host.SessionConfig{})
	made := 0
	get := func() any { return s.Value("key", func() any { made++; return made }) }
	diff(t, "values", []any{1, 1}, []any{get(), get()})
}

// TestUnansweredCalls checks that the end of a turn adds answers to calls that did not run.
func TestUnansweredCalls(t *testing.T) {
	s := newHost(t, host.Options{}, echo()).NewSession(host.SessionConfig{})
	turn := beginIn(t, s, host.Request{Text: "a"})
	prompt(t, turn)
	turn.Reply(context.Background(), starhost.Reply{ToolCalls: []starhost.ToolCall{{ID: "c1", Name: "echo"}, {ID: "c2", Name: "echo"}}})
	call(t, turn, "echo", `{"text":"x"}`)
	turn.End(context.Background())
	p := ask(t, s, host.Request{Text: "b"})
	diff(t, "messages", []string{"user: a", "assistant: ", `tool: {"text":"x"}`, "tool: not run: the turn ended", "user: b"}, roles(p.Messages))
	if m := p.Messages[3]; m.CallID != "c2" || !m.IsError {
		t.Errorf("answer: got %+v, want an is_error of c2", m)
	}
}

func TestBusySessions(t *testing.T) {
	tests := []struct {
		maxWaiting, want int // the number of turns that may wait
	}{{1, 1}, {3, 3}, {-1, 0}, {0, 16}}
	for _, tt := range tests {
		s := newHost(t, host.Options{MaxWaiting: tt.maxWaiting}).NewSession(host.SessionConfig{})
		turn := beginIn(t, s, host.Request{})
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var mu sync.Mutex
		var got []error
		var wg sync.WaitGroup
		for range tt.want + 2 {
			wg.Go(func() {
				_, err := s.Begin(ctx, host.Request{})
				mu.Lock()
				defer mu.Unlock()
				if got = append(got, err); len(got) == 2 {
					cancel() // the session refused two turns at once; the others wait until now
				}
			})
		}
		wg.Wait()
		busy := 0
		for _, err := range got {
			switch {
			case errors.Is(err, host.ErrBusy):
				busy++
			case !errors.Is(err, context.Canceled):
				t.Errorf("Begin: got %v, want ErrBusy or context.Canceled", err)
			}
		}
		diff(t, "turns that were refused", 2, busy)
		turn.End(context.Background())
		ask(t, s, host.Request{}) // the session goes on
		if _, err := s.Begin(ctx, host.Request{}); !errors.Is(err, context.Canceled) {
			t.Errorf("Begin with a cancelled context: got %v", err)
		}
	}
}

// TestTurnsOfASessionWait checks that a turn begins only when the turn before it ends, and has that turn's
// messages in its history.
func TestTurnsOfASessionWait(t *testing.T) {
	s := newHost(t, host.Options{}).NewSession(host.SessionConfig{})
	turn := beginIn(t, s, host.Request{Text: "first"})
	prompt(t, turn)
	got := make(chan *host.Prompt)
	go func() {
		p, _ := s.Prompt(context.Background(), host.Request{Text: "second"})
		got <- p
	}()
	turn.Reply(context.Background(), starhost.Reply{Content: "ok"})
	turn.End(context.Background())
	diff(t, "messages", []string{"user: first", "assistant: ok", "user: second"}, roles((<-got).Messages))
}

// TestAddWhileATurnRuns checks that a turn has the plugins that were in the host when the turn began.
func TestAddWhileATurnRuns(t *testing.T) {
	h := newHost(t, host.Options{})
	s := h.NewSession(host.SessionConfig{})
	turn := beginIn(t, s, host.Request{})
	if err := h.Add(echo(), pluginWith(1, hook("pre_llm_call", starhost.TextContext("new")))); err != nil {
		t.Fatal(err)
	}
	p := prompt(t, turn)
	diff(t, "text and tools of the turn under way", []any{"", 0}, []any{p.Text.String(), len(p.Tools)})
	turn.End(context.Background())
	p = ask(t, s, host.Request{})
	diff(t, "text and tools of the next", []any{"new", 1}, []any{p.Text.String(), len(p.Tools)})
	diff(t, "cause", "tools changed", p.CacheBreak.Cause)
}

// Many sessions run on one host while plugins are added. The race detector runs this test.
func TestConcurrentSessions(t *testing.T) {
	yes := func(context.Context, host.ApprovalRequest) (host.Answer, error) {
		return host.Answer{Yes: true}, nil
	}
	h := newHost(t, host.Options{Approver: yes, Log: func(host.LogLine) {}}, echo(),
		pluginWith(1, hookFunc("pre_llm_call", func(e *starhost.Event) starhost.Decision {
			return starhost.TextContext(fmt.Sprint(e.SessionID, e.Messages.Len()))
		})),
		pluginWith(2, hook(pre, askFor)),
		starhost.Plugin{Name: "load", FragmentLoaders: []starhost.FragmentLoader{
			{Prefix: "xx", Load: func(ctx context.Context, arg string) (starhost.Context, error) {
				turn := host.TurnOf(ctx)
				turn.Session().Value(arg, func() any { return arg })
				host.LaneOf(ctx).Next("n")
				return texts(arg + turn.Now().Format(time.Kitchen)), nil
			}},
		}})
	var wg sync.WaitGroup
	for range 8 {
		s := h.NewSession(host.SessionConfig{})
		for range 2 { // two turns of a session at once
			wg.Go(func() {
				for range 3 {
					turn, err := s.Begin(context.Background(), host.Request{Text: "hi", Fragments: []string{"xx:a", "xx:b", "xx:c"}})
					if err != nil {
						t.Error(err)
						return
					}
					if p, err := turn.Prompt(context.Background()); err != nil || p.SharedPrefix == 0 &&
						turn.Number() > 1 {
						t.Errorf("prompt %d: got %v, shared %v", turn.Number(), err, p)
					}
					turn.Reply(context.Background(), starhost.Reply{ToolCalls: []starhost.ToolCall{{ID: "c", Name: "echo"}}})
					if _, err := turn.CallTool(context.Background(),
						starhost.ToolCall{ID: "c", Name: "echo",
							Arguments: json.RawMessage(`{"text":"x"}`)}); err != nil {
						t.Error(err)
					}
					turn.End(context.Background())
				}
			})
		}
	}
	wg.Go(func() {
		for i := range 20 {
			if err := h.Add(pluginWith(i+10, hook("turn_start", starhost.TextContext("added")))); err != nil {
				t.Error(err)
			}
			h.Hooks()
			h.Tools()
		}
	})
	wg.Wait()
}

func TestLists(t *testing.T) {
	var none *starhost.Tools
	diff(t, "nil list", []int{0, 0}, []int{none.Len(), len(none.Items())})
	list := starhost.NewList([]starhost.Tool{{Name: "a"}})
	diff(t, "list", []any{1, "a"}, []any{list.Len(), list.At(0).Name})
}

func TestLaneCounters(t *testing.T) {
	var lane host.Lane
	lane.AddUsage(2, 3)
	lane.AddUsage(1, 1)
	diff(t, "spent", []uint64{3, 4}, []uint64{lane.Steps, lane.Bytes})
	diff(t, "draws", []uint64{0, 1, 0}, []uint64{lane.Next("a"), lane.Next("a"), lane.Next("b")})
}

func TestContextBytes(t *testing.T) {
	c := texts("ab", "c")
	c.Attachments = slices.Repeat(c.Attachments, 1)
	diff(t, "bytes", int64(3), c.Bytes())
	diff(t, "no context", starhost.Decision{}, starhost.TextContext(""))
}

// TestNowOfEvents checks that the host reads the clock once for each event and each tool call, whichever
// handler asks for the time. An event inside another one does not change the time of the outer one.
func TestNowOfEvents(t *testing.T) {
	var seen []string
	see := func(what string, turn *host.Turn) { seen = append(seen, what+turn.Now().Format(" 04:05")) }
	on := func(event string) starhost.Hook {
		return starhost.Hook{Event: event,
			Call: func(ctx context.Context, e *starhost.Event) (starhost.Decision, error) {
				turn := host.TurnOf(ctx)
				see(e.Name, turn)
				return starhost.Decision{}, nil
			}}
	}
	nested := on("pre_tool_call")
	nested.Call = func(ctx context.Context, e *starhost.Event) (starhost.Decision, error) {
		turn := host.TurnOf(ctx)
		see("outer", turn)
		if _, err := turn.Fire(ctx, &starhost.Event{Name: "pre_command", Command: "c"}); err != nil {
			return starhost.Decision{}, err
		}
		see("outer", turn)
		return starhost.Decision{}, nil
	}
	tool := starhost.Tool{Name: "x", Description: "d",
		Call: func(ctx context.Context, _ starhost.ToolCall) (starhost.Result, error) {
			turn := host.TurnOf(ctx)
			see("tool", turn)
			see("tool", turn)
			return starhost.Result{}, nil
		}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	p := plugin("p", on("turn_start"), on("turn_start"), nested, on("pre_command"))
	p.Tools = []starhost.Tool{tool}
	turn := begin(t, newHost(t, host.Options{Clock: clock}, p), host.Request{})
	now = now.Add(time.Minute)
	prompt(t, turn)
	if _, err := turn.CallTool(t.Context(), starhost.ToolCall{ID: "1", Name: "x", Arguments: json.RawMessage("{}")}); err != nil {
		t.Fatal(err)
	}
	want := []string{"turn_start 00:01", "turn_start 00:01", "outer 01:02", "pre_command 01:03", "outer 01:02", "tool 01:05", "tool 01:05"}
	diff(t, "times", want, seen)
}
