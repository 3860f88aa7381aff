package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// recording returns a hook that records the effect and returns d and err.
func recording(event, effect string, d starhost.Decision, err error) starhost.Hook {
	return starhost.Hook{Event: event, Call: func(
		ctx context.Context, _ *starhost.Event,
	) (starhost.Decision, error) {
		host.LaneOf(ctx).Record(json.RawMessage(`"` + effect + `"`))
		return d, err
	}}
}

// observing returns options whose Observe adds a description of each event to seen.
func observing(seen *[]string) host.Options {
	return host.Options{Observe: func(e starhost.Event, o host.Outcome) error {
		*seen = append(*seen, fmt.Sprintf("%d %s %s %s: %s", o.Turn, e.Name, e.Tool, e.Arguments, o.Decision))
		for _, h := range o.Hooks {
			text := fmt.Sprintf("  %s %s %s", h.Event, h.Plugin, h.Effects)
			if h.Decision != nil {
				text += " " + h.Decision.String()
			}
			if h.Action == starhost.ActionError {
				text += " failed: " + h.Detail
			}
			if h.Again {
				text += " again"
			}
			*seen = append(*seen, text)
			h.Decision, h.Changes = nil, nil
		}
		return nil
	}}
}

// TestObserve checks that Options.Observe gets the event as the first handler saw it, each call of
// a handler with its effects, and the decision.
func TestObserve(t *testing.T) {
	var seen []string
	change := starhost.Modify("arguments", json.RawMessage(`{"n":2}`))
	p := plugin("p", recording(pre, "a", starhost.Ask("sure?"), nil), recording(pre, "b", change, nil),
		recording(pre, "c", starhost.Decision{}, errors.New("broken")), recording("error", "d", starhost.Decision{}, nil))
	turn := begin(t, newHost(t, observing(&seen), p), host.Request{})
	out, err := turn.Fire(t.Context(), &starhost.Event{Name: pre, Tool: "x", Arguments: json.RawMessage(`{"n":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "decision", "deny by p: the guard of p failed: broken", out.Decision.String())
	diff(t, "hooks of the caller", 0, len(out.Hooks))
	diff(t, "observed", []string{
		`1 pre_tool_call x {"n":1}: deny by p: the guard of p failed: broken`,
		`  pre_tool_call p ["a"] ask by p: sure?`,
		`  pre_tool_call p ["b"] modify by p: arguments`,
		`  pre_tool_call p ["c"] deny by p: the guard of p failed: broken failed: broken`,
		`  error p ["d"]`,
		`  pre_tool_call p ["a"] ask by p: sure? again`,
	}, seen)
}

// TestObserveNested checks that Observe gets an event that a handler fires as one of the handler's plugin.
func TestObserveNested(t *testing.T) {
	var seen []string
	outer := starhost.Hook{Event: pre, Call: func(
		ctx context.Context, _ *starhost.Event,
	) (starhost.Decision, error) {
		t := host.TurnOf(ctx)
		host.LaneOf(ctx).Record(json.RawMessage(`"outer"`))
		_, err := t.Fire(ctx, &starhost.Event{Name: "post_tool_call", Tool: "y"})
		return starhost.Decision{}, err
	}}
	p := plugin("p", outer, recording("post_tool_call", "inner", starhost.Decision{}, nil))
	turn := begin(t, newHost(t, observing(&seen), p), host.Request{})
	firePre(t, turn)
	diff(t, "observed", []string{`1 pre_tool_call x {}: no decision`, `  pre_tool_call p ["inner" "outer"]`}, seen)
}

// TestObserveAll checks that Observe gets events without handlers only if the program asks for them.
func TestObserveAll(t *testing.T) {
	for _, all := range []bool{false, true} {
		var seen []string
		o := observing(&seen)
		o.ObserveAll = all
		h := newHost(t, o)
		turn := begin(t, h, host.Request{})
		firePre(t, turn)
		hears, _ := h.ListensTo(pre, "x")
		want := []string(nil)
		if all {
			want = []string{"1 session_start  {}: no decision", "1 turn_start  {}: no decision", "1 pre_tool_call x {}: no decision"}
		}
		diff(t, "observed", want, seen)
		diff(t, "hears", all, hears)
	}
}

// TestObserveFails checks that the host denies or aborts an event if Observe returns an error, and that a
// panic of Observe changes nothing.
func TestObserveFails(t *testing.T) {
	full := errors.New("disk full")
	tests := []struct {
		event   string
		decided starhost.Decision
		panics  bool
		want    string
	}{
		{pre, starhost.Decision{}, false, "deny by host: the decision was not recorded: disk full"},
		{pre, starhost.Ask("sure?"), false, "deny by host: the decision was not recorded: disk full"},
		{pre, starhost.Deny("no"), false, "deny by p: no"},
		{pre, starhost.Ask("sure?"), true, "ask by p: sure?"},
		{"turn_start", starhost.Decision{}, false, "abort by host: the decision was not recorded: disk full"},
		{"turn_end", starhost.Decision{}, false, "no decision"},
	}
	for _, tt := range tests {
		var logs []string
		o := host.Options{
			Observe: func(e starhost.Event, _ host.Outcome) error {
				if e.Name != tt.event {
					return nil
				}
				if tt.panics {
					panic("observer")
				}
				return full
			},
			Log: func(l host.LogLine) { logs = append(logs, l.Text) },
		}
		s := newHost(t, o, plugin("p", recording(tt.event, "x", tt.decided, nil))).NewSession(host.SessionConfig{})
		out, err := s.Fire(t.Context(), &starhost.Event{Name: tt.event, Tool: "x"})
		if err != nil {
			t.Fatal(err)
		}
		diff(t, tt.event, tt.want, out.Decision.String())
		if logged := len(logs) > 0; logged != (tt.panics || tt.event == "turn_end") {
			t.Errorf("%s: got the log %q", tt.event, logs)
		}
	}
}
