package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// spendingHook returns a hook that counts its calls, and spends the given steps or those that its lane has
// left.
func spendingHook(event string, steps uint64, calls *int) starhost.Hook {
	call := func(ctx context.Context, _ *starhost.Event) (starhost.Decision, error) {
		*calls++
		lane := host.LaneOf(ctx)
		if most := lane.MaxSteps; most > 0 && steps > most {
			lane.AddUsage(most, 0)
			return starhost.Decision{}, errors.New("steps limit exceeded")
		}
		lane.AddUsage(steps, 0)
		return starhost.Decision{}, nil
	}
	return starhost.Hook{Event: event, Call: call}
}

// times returns n copies of a hook.
func times(n int, h starhost.Hook) []starhost.Hook {
	hooks := make([]starhost.Hook, n)
	for i := range hooks {
		hooks[i] = h
	}
	return hooks
}

// firePre fires a call of the tool x and returns the combined decision.
func firePre(t *testing.T, turn *host.Turn) string {
	t.Helper()
	out, err := turn.Fire(t.Context(), &starhost.Event{Name: pre, Tool: "x"})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out.Decision.Action) + " " + out.Decision.Reason)
}

// TestEventSteps checks that a thousand guards of one plugin, each within its own limits, share one budget.
// The guards for which the budget has no steps left deny, and the log says so once.
func TestEventSteps(t *testing.T) {
	var logs []string
	log := func(l host.LogLine) { logs = append(logs, l.Plugin+" "+l.Text) }
	calls, others := 0, 0
	many := plugin("many", times(1000, spendingHook(pre, 900, &calls))...)
	many.EventSteps = 10_000
	other := plugin("other", times(5, spendingHook(pre, 900, &others))...)
	other.EventSteps = 10_000
	turn := begin(t, newHost(t, host.Options{Log: log}, many, other), host.Request{})
	const over = "the handlers of many used 10000 steps in this event, limit 10000; [limits] event raises it"
	for range 2 { // each event has its own budget
		calls, others, logs = 0, 0, nil
		diff(t, "decision", "deny the guard of many failed: steps limit exceeded", firePre(t, turn))
		diff(t, "calls", [2]int{12, 5}, [2]int{calls, others})
		diff(t, "log", []string{"many hook pre_tool_call: steps limit exceeded", "many hook pre_tool_call: " + over}, logs)
	}
}

// TestEventStepsOfLaterGuards checks that each guard that the host could not call denies. Otherwise the
// on_error of an earlier guard could let a call pass.
func TestEventStepsOfLaterGuards(t *testing.T) {
	calls := 0
	skips := spendingHook(pre, 600, &calls)
	skips.OnError = starhost.FailSkip
	p := plugin("p", append(times(3, skips), spendingHook(pre, 1, &calls))...)
	p.EventSteps = 1000
	turn := begin(t, newHost(t, host.Options{}, p), host.Request{})
	diff(t, "decision", "deny the guard of p failed: the handlers of p used 1000 steps in this event, limit 1000; [limits] event raises it", firePre(t, turn))
	diff(t, "calls", 2, calls)
}

// The handlers of error share the budget of the event whose handlers failed.
func TestEventStepsOfErrors(t *testing.T) {
	calls, heard := 0, 0
	p := plugin("p", append(times(100, failingHook(pre, "")), spendingHook("error", 300, &heard), spendingHook(pre, 1, &calls))...)
	p.EventSteps = 1000
	turn := begin(t, newHost(t, host.Options{}, p), host.Request{})
	firePre(t, turn)
	diff(t, "calls of the handler of error, and of the last guard", [2]int{4, 0}, [2]int{heard, calls})
}

// TestEventTimeout checks that a thousand plugins share the time of one event, and that guards for which no
// time is left deny.
func TestEventTimeout(t *testing.T) {
	calls := 0
	var plugins []starhost.Plugin
	for i := range 1000 {
		plugins = append(plugins, plugin(fmt.Sprintf("p%d", i), hookFunc(pre, func(*starhost.Event) starhost.Decision {
			calls++
			time.Sleep(5 * time.Millisecond)
			return starhost.Decision{}
		})))
	}
	turn := begin(t, newHost(t, host.Options{EventTimeout: 50 * time.Millisecond}, plugins...), host.Request{})
	for range 2 {
		calls = 0
		got := firePre(t, turn)
		if !strings.HasPrefix(got, "deny the guard of p") || !strings.HasSuffix(got, " failed: the event has taken more than 50ms") {
			t.Errorf("got %s, want a denial by the first guard that was not called", got)
		}
		if calls == 0 || calls > 10 {
			t.Errorf("got %d calls of 5ms, want 1 to 10 in 50ms", calls)
		}
	}
}

// TestEventTimeoutOfOneHandler checks that a handler that waits ends with its event, and that the turn goes
// on.
func TestEventTimeoutOfOneHandler(t *testing.T) {
	wait := func(ctx context.Context, _ *starhost.Event) (starhost.Decision, error) {
		if _, ok := ctx.Deadline(); !ok {
			return starhost.Decision{}, errors.New("the context has no deadline")
		}
		<-ctx.Done()
		return starhost.Decision{}, ctx.Err()
	}
	h := newHost(t, host.Options{EventTimeout: 20 * time.Millisecond},
		plugin("p", starhost.Hook{Event: pre, Call: wait}), plugin("q", hook(pre, starhost.Decision{})))
	turn := begin(t, h, host.Request{})
	for range 2 {
		diff(t, "decision", "deny the guard of p failed: no result within 20ms, the time of one event", firePre(t, turn))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turn.Fire(ctx, &starhost.Event{Name: pre}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: got %v", err)
	}
}

// TestEventStepsOfAvailable checks that the functions which say whether tools are available share the budget
// of one event.
func TestEventStepsOfAvailable(t *testing.T) {
	asked := 0
	p := plugin("p")
	for i := range 100 {
		p.Tools = append(p.Tools, starhost.Tool{
			Name: fmt.Sprintf("t%d", i), Description: "None.",
			Available: func(ctx context.Context) (bool, error) {
				asked++
				host.LaneOf(ctx).AddUsage(500, 0)
				return true, nil
			},
			Call: func(context.Context, starhost.ToolCall) (starhost.Result, error) {
				return starhost.Result{}, nil
			},
		})
	}
	p.EventSteps = 1000
	turn := begin(t, newHost(t, host.Options{}, p), host.Request{})
	diff(t, "tools asked, on offer, and errors", [3]int{2, 2, 1}, [3]int{asked, turn.Tools().Len(), len(turn.Errors())})
}

// slowSchema is a schema whose validation takes some 200,000 steps for slowArguments.
const slowSchema = `{"type":"object","properties":{"x":{"type":"string","pattern":"(?:a?){900}x"}}}`

var slowArguments = json.RawMessage(`{"x":"` + strings.Repeat("a", 1000) + `"}`)

// TestEventStepsOfValidation checks that the host charges the validation of arguments to the plugin that
// causes it: by calling a tool, or by changing the arguments of a call.
func TestEventStepsOfValidation(t *testing.T) {
	tool := starhost.Tool{Name: "x", Description: "X.", Parameters: json.RawMessage(slowSchema), Call: func(
		context.Context, starhost.ToolCall,
	) (starhost.Result, error) {
		return starhost.Result{}, nil
	}}
	validations, refusals := 0, 0
	caller := plugin("caller", starhost.Hook{Event: "post_tool_call", Call: func(
		ctx context.Context, _ *starhost.Event,
	) (starhost.Decision, error) {
		turn := host.TurnOf(ctx)
		for range 100 {
			reply, err := turn.CallTool(ctx, starhost.ToolCall{Name: "x", Arguments: slowArguments})
			switch {
			case err != nil:
				return starhost.Decision{}, err
			case strings.Contains(reply.Result.ForLLM, "[limits] event raises"):
				refusals++
			default:
				validations++
			}
		}
		return starhost.Decision{}, nil
	}})
	caller.Tools, caller.EventSteps = []starhost.Tool{tool}, 1_000_000
	turn := begin(t, newHost(t, host.Options{}, caller), host.Request{})
	if _, err := turn.Prompt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := turn.Fire(t.Context(), &starhost.Event{Name: "post_tool_call", Tool: "y"}); err != nil {
		t.Fatal(err)
	}
	if validations < 1 || validations > 10 || refusals != 100-validations {
		t.Errorf("calls: got %d validations and %d refusals, want at most 10 validations", validations, refusals)
	}

	changes := 0
	changer := plugin("changer", starhost.Hook{Event: pre, Call: func(
		context.Context, *starhost.Event,
	) (starhost.Decision, error) {
		changes++
		return starhost.Modify("arguments", json.RawMessage(strings.Replace(string(slowArguments), "a", "b", changes))), nil
	}})
	changer.Tools, changer.EventSteps = []starhost.Tool{tool}, 100_000
	turn = begin(t, newHost(t, host.Options{}, changer), host.Request{})
	if _, err := turn.Prompt(t.Context()); err != nil {
		t.Fatal(err)
	}
	reply, err := turn.CallTool(t.Context(), starhost.ToolCall{Name: "x", Arguments: json.RawMessage(`{"x":"x"}`)})
	if err != nil || !strings.HasPrefix(reply.Result.ForLLM, "a hook changed the arguments: ") {
		t.Errorf("changed arguments: got %.100s, %v, want a problem", reply.Result.ForLLM, err)
	}
}

// TestEventMemory checks that the handlers of one event cannot make the host hold more bytes than a bound: a
// guard that exceeds the bound denies. The next event has the whole bound again.
func TestEventMemory(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	hook := func(do func(lane *host.Lane) starhost.Decision) starhost.Hook {
		return starhost.Hook{Event: pre, Call: func(
			ctx context.Context, _ *starhost.Event,
		) (starhost.Decision, error) {
			return do(host.LaneOf(ctx)), nil
		}}
	}
	for _, tt := range []struct {
		name     string
		observed bool // only an observed event holds logs and effects
		do       func(lane *host.Lane) starhost.Decision
	}{
		{"logs", true, func(lane *host.Lane) (d starhost.Decision) {
			lane.Logs = append(lane.Logs, host.LogLine{Text: big})
			return d
		}},
		{"fields of logs", true, func(lane *host.Lane) (d starhost.Decision) {
			lane.Logs = append(lane.Logs, host.LogLine{Fields: json.RawMessage(big)})
			return d
		}},
		{"effects", true, func(lane *host.Lane) (d starhost.Decision) {
			lane.Record(json.RawMessage(`"` + big + `"`))
			return d
		}},
		{"reasons", false, func(*host.Lane) starhost.Decision { return starhost.Ask(big) }},
		{"changes", false, func(*host.Lane) starhost.Decision {
			return starhost.Modify("arguments", json.RawMessage(`{"a":"`+big+`"}`))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var o host.Options
			held := 0
			if tt.observed {
				o.Observe = func(_ starhost.Event, out host.Outcome) error {
					held = 0
					for _, h := range out.Hooks {
						for _, line := range h.Logs {
							held += len(line.Text) + len(line.Fields)
						}
						for _, line := range h.Effects {
							held += len(line)
						}
					}
					return nil
				}
			}
			turn := begin(t, newHost(t, o, plugin("p", times(40, hook(tt.do))...)), host.Request{})
			for range 2 { // each event has the whole bound
				if got := firePre(t, turn); !strings.HasPrefix(got, "deny ") || !strings.Contains(got, "take more than 32 MiB") {
					t.Errorf("got %.200q, want a denial", got)
				}
				if held > 32<<20 || tt.observed && held < 30<<20 {
					t.Errorf("got %d bytes held, want nearly 32 MiB", held)
				}
			}
		})
	}
}
