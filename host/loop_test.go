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
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// replyWith returns a model's reply that asks for tools. Each call is written as "id name" or "id name
// {arguments}".
func replyWith(calls ...string) starhost.Reply {
	r := starhost.Reply{Content: "calling"}
	for _, c := range calls {
		words := strings.SplitN(c, " ", 3)
		call := starhost.ToolCall{ID: words[0], Name: words[1]}
		if len(words) == 3 {
			call.Arguments = json.RawMessage(words[2])
		}
		r.ToolCalls = append(r.ToolCalls, call)
	}
	return r
}

// modelFunc is a model that is a func.
type modelFunc func(context.Context, *host.Prompt) (starhost.Reply, error)

func (f modelFunc) Complete(ctx context.Context, p *host.Prompt) (starhost.Reply, error) {
	return f(ctx, p)
}

// finalTool returns a plugin with a tool whose result r is the final answer of the turn.
func finalTool(r starhost.Result) starhost.Plugin {
	r.Handled = true
	return toolOf("final", starhost.Tool{
		Call: func(context.Context, starhost.ToolCall) (starhost.Result, error) {
			return r, nil
		}})
}

func TestTurn(t *testing.T) {
	said := starhost.Reply{Content: "done", Usage: starhost.Usage{Input: 10, Output: 2, Cached: 5}}
	calling := replyWith(`c1 echo {"text":"x"}`)
	calling.Usage = starhost.Usage{Input: 7, Output: 1}
	tests := []struct {
		name     string
		plugins  []starhost.Plugin
		replies  scriptedModel
		want     host.TurnResult // the test compares only Text, Completed, Usage and Rounds
		messages []string        // the history after the turn
	}{
		{"an answer", nil, scriptedModel{said},
			host.TurnResult{Text: "done", Completed: true, Usage: said.Usage, Rounds: 1},
			[]string{"user: hi", "assistant: done"}},
		{"a tool call", nil, scriptedModel{calling, said},
			host.TurnResult{Text: "done", Completed: true, Usage: starhost.Usage{Input: 17, Output: 3, Cached: 5}, Rounds: 2},
			[]string{"user: hi", "assistant: calling", `tool: {"text":"x"}`, "assistant: done"}},
		{"calls run in order, whatever becomes of them", []starhost.Plugin{pluginWith(1, refusingHook("secret", deny))},
			scriptedModel{replyWith(`c1 echo {"text":"a"}`, `c2 ehco`, `c3 echo {"text":"secret"}`, `c4 echo {}`), said},
			host.TurnResult{Text: "done", Completed: true, Usage: said.Usage, Rounds: 2},
			[]string{"user: hi", "assistant: calling", `tool: {"text":"a"}`, `tool: unknown tool "ehco" (did you mean echo?)`, "tool: denied by p1: no", "tool: echo: the arguments are not valid:\n\"text\": missing", "assistant: done"}},
		{"a handled result is the answer", []starhost.Plugin{finalTool(starhost.Result{ForLLM: "sent"})}, scriptedModel{replyWith(`c1 page`, `c2 echo {"text":"x"}`)},
			host.TurnResult{Text: "sent", Completed: true, Rounds: 1},
			[]string{"user: hi", "assistant: calling", "tool: sent", `tool: {"text":"x"}`}},
		{"a handled result with a text for the user", []starhost.Plugin{finalTool(starhost.Result{ForLLM: "sent", ForUser: "It is sent."})}, scriptedModel{replyWith(`c1 page`)},
			host.TurnResult{Text: "It is sent.", Completed: true, Rounds: 1},
			[]string{"user: hi", "assistant: calling", "tool: sent"}},
		{"a silent handled result", []starhost.Plugin{finalTool(starhost.Result{ForLLM: "sent", Silent: true})}, scriptedModel{replyWith(`c1 page`)},
			host.TurnResult{Completed: true, Rounds: 1},
			[]string{"user: hi", "assistant: calling", "tool: sent"}},
		{"post_llm_call changes replies", []starhost.Plugin{pluginWith(1, hookFunc("post_llm_call", func(e *starhost.Event) starhost.Decision { return starhost.Modify("response", e.Response+"!") })), pluginWith(2, failingHook("post_llm_call", ""))},
			scriptedModel{calling, said},
			host.TurnResult{Text: "done!", Completed: true, Usage: starhost.Usage{Input: 17, Output: 3, Cached: 5}, Rounds: 2},
			[]string{"user: hi", "assistant: calling!", `tool: {"text":"x"}`, "assistant: done!"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newHost(t, host.Options{}, append(tt.plugins, echo())...).NewSession(host.SessionConfig{})
			got, err := s.Turn(context.Background(), host.Request{Text: "hi"}, &tt.replies)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "result", tt.want, host.TurnResult{Text: got.Text, Completed: got.Completed, Usage: got.Usage,
				Rounds: got.Rounds})
			if len(tt.replies) > 0 || len(got.Pending) > 0 {
				t.Errorf("got %d replies left and %d calls pending, want none", len(tt.replies), len(got.Pending))
			}
			next := ask(t, s, host.Request{Text: "next"})
			diff(t, "messages", append(tt.messages, "user: next"), roles(next.Messages))
		})
	}
}

// TestMaxRounds checks that a model that always asks for tools gets one last request without tools, and that
// its answer to this request counts.
func TestMaxRounds(t *testing.T) {
	var offered []int
	model := modelFunc(func(_ context.Context, p *host.Prompt) (starhost.Reply, error) {
		offered = append(offered, len(p.Tools))
		return replyWith(fmt.Sprintf(`c%d echo {"text":"x"}`, len(offered))), nil
	})
	s := newHost(t, host.Options{MaxRounds: 3}, echo()).NewSession(host.SessionConfig{})
	got, err := s.Turn(context.Background(), host.Request{Text: "hi"}, model)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "tools of each request", []int{1, 1, 1, 0}, offered)
	if got.Text != "calling" || !got.Completed || got.Rounds != 4 || len(got.Calls) != 3 {
		t.Errorf("got %q, completed %v, %d rounds, %d calls", got.Text, got.Completed, got.Rounds, len(got.Calls))
	}
	if b := got.Prompt.CacheBreak; b == nil || b.Cause != "tools changed" {
		t.Errorf("cache break: got %+v, want one because of the tools", b)
	}
	offered = nil
	s = newHost(t, host.Options{}, echo()).NewSession(host.SessionConfig{})
	if _, err := s.Turn(context.Background(), host.Request{}, model); err != nil || len(offered) != 26 {
		t.Errorf("by default: got %d requests, %v, want 26", len(offered), err)
	}
}

// TestPendingCalls checks that a turn waits for the answers of tools that the caller runs.
func TestPendingCalls(t *testing.T) {
	replies := scriptedModel{replyWith(`c1 shell`, `c2 echo {"text":"x"}`, `c3 shell`), {Content: "done"}}
	s := newHost(t, host.Options{}, echo()).NewSession(host.SessionConfig{})
	ctx := context.Background()
	got, err := s.Turn(ctx, host.Request{Text: "hi", Tools: []starhost.Tool{{Name: "shell"}}}, &replies)
	if err != nil {
		t.Fatal(err)
	}
	turn := got.Turn
	ids := func(calls []starhost.ToolCall) (list []string) {
		for _, c := range calls {
			list = append(list, c.ID)
		}
		return list
	}
	diff(t, "pending", []string{"c1", "c3"}, ids(got.Pending))
	diff(t, "run", 1, len(got.Calls))
	if again, err := turn.Run(ctx, &replies); err != nil || len(again.Pending) != 2 {
		t.Errorf("Run without answers: got %+v, %v, want it to wait", again, err)
	}
	waiting, stop := context.WithTimeout(ctx, time.Millisecond)
	defer stop()
	if _, err := s.Begin(waiting, host.Request{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Begin beside it: got %v, want it to wait", err)
	}
	image := fragments.Attachment{Content: "png", Name: "x.png"}
	for id, r := range map[string]starhost.Result{"c1": {ForLLM: "one", Attachments: []fragments.Attachment{image}}, "c3": {ForLLM: "three", IsError: true}} {
		if err := turn.Answer(id, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := turn.Answer("c1", starhost.Result{}); err == nil || err.Error() != `no call "c1" waits for an answer` {
		t.Errorf("a second answer: got %v", err)
	}
	if got, err = turn.Run(ctx, &replies); err != nil || got.Text != "done" || got.Rounds != 2 {
		t.Errorf("Run: got %+v, %v", got, err)
	}
	turn.End(ctx)
	answers := map[string]string{}
	for _, m := range ask(t, s, host.Request{}).Messages {
		if m.Role == starhost.RoleTool {
			answers[m.CallID] = fmt.Sprint(m.Content, " ", m.IsError, " ", len(m.Attachments))
		}
	}
	diff(t, "answers", map[string]string{"c1": "one false 1", "c2": `{"text":"x"} false 0`, "c3": "three true 0"}, answers)
}

// TestCutTurns checks that the session goes on after a turn that ends early for any reason, and that turn_end
// says that the turn has no answer.
func TestCutTurns(t *testing.T) {
	down := errors.New("503")
	aborting := func(event string) starhost.Plugin { // its hook aborts only the first event
		fired := false
		return pluginWith(1, hookFunc(event, func(*starhost.Event) starhost.Decision {
			if fired {
				return starhost.Decision{}
			}
			fired = true
			return abort
		}))
	}
	tests := []struct {
		name     string
		plugins  []starhost.Plugin
		model    func(cancel func()) host.Model
		want     string
		is       error
		messages []string
	}{
		{"the model fails", nil, func(func()) host.Model {
			return modelFunc(func(context.Context, *host.Prompt) (starhost.Reply, error) {
				return starhost.Reply{}, down
			})
		}, "model m: 503", down, []string{"user: hi"}},
		{"the model panics", nil, func(func()) host.Model {
			return modelFunc(func(context.Context, *host.Prompt) (starhost.Reply, error) { panic("oh") })
		}, "model m: panic: oh", nil, []string{"user: hi"}},
		{"cancelled while the model answers", nil, func(cancel func()) host.Model {
			return modelFunc(func(ctx context.Context, _ *host.Prompt) (starhost.Reply, error) {
				cancel()
				return starhost.Reply{Content: "late"}, nil
			})
		}, "context canceled", context.Canceled, []string{"user: hi", "assistant: late"}},
		{"the model breaks off", nil, func(func()) host.Model {
			return modelFunc(func(context.Context, *host.Prompt) (starhost.Reply, error) {
				half := replyWith("c1 page")
				half.Content = "half"
				return half, down
			})
		}, "model m: 503", down, []string{"user: hi", "assistant: half"}},
		{"cancelled in a tool", []starhost.Plugin{toolOf("p",
			starhost.Tool{
				Call: func(ctx context.Context, _ starhost.ToolCall) (starhost.Result, error) {
					turn := host.TurnOf(ctx)
					turn.Session().Value("cancel", nil).(func())()
					return starhost.Result{ForLLM: "late"}, nil
				}})}, func(func()) host.Model { return &scriptedModel{replyWith(`c1 page`, `c2 page`)} },
			"context canceled", context.Canceled, []string{"user: hi", "assistant: calling", "tool: not run: the turn ended", "tool: not run: the turn ended"}},
		{"post_llm_call aborts", []starhost.Plugin{aborting("post_llm_call")}, func(func()) host.Model { return &scriptedModel{{Content: "no"}} },
			"p.star:1:1: turn aborted by p1: stop", nil, []string{"user: hi"}},
		{"a guard aborts", []starhost.Plugin{aborting(pre)}, func(func()) host.Model { return &scriptedModel{replyWith(`c1 echo {"text":"x"}`)} },
			"p.star:1:1: turn aborted by p1: stop", nil, []string{"user: hi", "assistant: calling", "tool: not run: the turn ended"}},
		{"a guard aborts after a handled result", []starhost.Plugin{finalTool(starhost.Result{}), pluginWith(1, refusingHook("x", abort))}, func(func()) host.Model { return &scriptedModel{replyWith(`c1 page`, `c2 echo {"text":"x"}`)} },
			"p.star:1:1: turn aborted by p1: stop", nil, []string{"user: hi", "assistant: calling", "tool: ", "tool: not run: the turn ended"}},
		{"pre_llm_call aborts", []starhost.Plugin{aborting("pre_llm_call")}, func(func()) host.Model { return &scriptedModel{} },
			"p.star:1:1: turn aborted by p1: stop", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var ended []string
			watch := plugin("watch", hookFunc("turn_end", func(e *starhost.Event) starhost.Decision {
				ended = append(ended, fmt.Sprint(e.UserMessage, " ", e.Completed))
				return starhost.Decision{}
			}))
			s := newHost(t, host.Options{},
				append(tt.plugins, echo(), watch)...).NewSession(host.SessionConfig{Model: "m"})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			s.Value("cancel", func() any { return func() { cancel() } })
			got, err := s.Turn(ctx, host.Request{Text: "hi"}, tt.model(cancel))
			if err == nil || err.Error() != tt.want || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("Turn: got %v, want %s", err, tt.want)
			}
			if got == nil || got.Completed || got.Text != "" {
				t.Errorf("result: got %+v, want one without an answer", got)
			}
			next := ask(t, s, host.Request{Text: "next"})
			diff(t, "messages", append(tt.messages, "user: next"), roles(next.Messages))
			diff(t, "turn_end", []string{"hi false", "next true"}, ended)
		})
	}
}

// TestTurnDuration checks that turn_end says how long its turn took.
func TestTurnDuration(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var got []int
	h := newHost(t, host.Options{Clock: func() time.Time { return now }}, plugin("watch",
		hookFunc("turn_start", func(*starhost.Event) starhost.Decision {
			now = now.Add(1500 * time.Millisecond)
			return starhost.Decision{}
		}),
		hookFunc("turn_end", func(e *starhost.Event) starhost.Decision {
			got = append(got, e.DurationMS)
			return starhost.Decision{}
		})))
	s := h.NewSession(host.SessionConfig{})
	ask(t, s, host.Request{Text: "a"})
	ask(t, s, host.Request{Text: "b"})
	diff(t, "durations", []int{1500, 1500}, got)
}

// A turn is interrupted only if its context ended it.
func TestInterrupted(t *testing.T) {
	var got []string
	h := newHost(t, host.Options{}, plugin("watch", hookFunc("session_end", func(e *starhost.Event) starhost.Decision {
		got = append(got, fmt.Sprint(e.Completed, e.Interrupted, e.Turns))
		return starhost.Decision{}
	})))
	for _, cut := range []bool{true, false} {
		s := h.NewSession(host.SessionConfig{})
		ask(t, s, host.Request{})
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		turn := beginIn(t, s, host.Request{})
		if cut {
			cancel()
		}
		turn.End(ctx)
		if err := errors.Join(s.Close(context.Background()), s.Close(context.Background())); err != nil {
			t.Fatal(err)
		}
	}
	diff(t, "session_end, once a session", []string{"false true 2", "false false 2"}, got)
}

// An approver without an answer in time denies. An approver that ignores its context does not delay
// the turn.
func TestApprovalTimeout(t *testing.T) {
	mustAsk := echo()
	mustAsk.Tools[0].Approval = starhost.ApprovalAsk
	release := make(chan struct{})
	defer close(release)
	for name, wait := range map[string]func(context.Context) error{
		"heeds":        func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"does not":     func(context.Context) error { <-release; return nil },
		"says its own": func(ctx context.Context) error { <-ctx.Done(); return fmt.Errorf("asking: %w", ctx.Err()) },
	} {
		h := newHost(t, host.Options{ApprovalTimeout: time.Millisecond,
			Approver: func(ctx context.Context, _ host.ApprovalRequest) (host.Answer, error) {
				return host.Answer{Yes: true}, wait(ctx)
			}}, mustAsk)
		got := call(t, begin(t, h, host.Request{}), "echo", `{"text":"x"}`)
		diff(t, name, "denied by host: no approval within 1ms: tool echo asks for approval", got.Result.ForLLM)
	}
}

// TestDepth checks that handlers cannot call each other deeper than a limit, and that the caller gets the
// error.
func TestDepth(t *testing.T) {
	depth := 0
	deep := toolOf("deep", starhost.Tool{
		Call: func(ctx context.Context, _ starhost.ToolCall) (starhost.Result, error) {
			turn := host.TurnOf(ctx)
			depth++
			r, err := turn.CallTool(ctx, starhost.ToolCall{Name: "page"})
			return r.Result, err
		}})
	loads := 0
	deep.FragmentLoaders = []starhost.FragmentLoader{{Prefix: "again",
		Load: func(ctx context.Context, arg string) (starhost.Context, error) {
			turn := host.TurnOf(ctx)
			loads++
			got, err := turn.Load(ctx, []string{"again:" + arg})
			if err != nil {
				return starhost.Context{}, err
			}
			return got[0], nil
		}}}
	turn := begin(t, newHost(t, host.Options{}, deep), host.Request{Fragments: []string{"again:x"}})
	contains(t, "result", call(t, turn, "page", "{}").Result.ForLLM, "handlers call each other more than 8 deep")
	diff(t, "calls", 9, depth)
	if _, err := turn.Prompt(context.Background()); !errors.Is(err, host.ErrDepth) {
		t.Errorf("Prompt: got %v, want ErrDepth", err)
	}
	diff(t, "loads", 9, loads)
}

// TestBudgetOfATurn checks that all rounds of a turn share one budget: the contents of the first round count
// in the second.
func TestBudgetOfATurn(t *testing.T) {
	opts := host.Options{Prompt: host.PromptOptions{Budget: fragments.Budget{MaxBytes: 10}}}
	s := newHost(t, opts, plugin("p", sayingHook("pre_llm_call", "aaaaaa", "bbbbbb", "cccccc"))).NewSession(host.SessionConfig{})
	turn := beginIn(t, s, host.Request{})
	diff(t, "first round", []string{"aaaaaa kept"}, statuses(prompt(t, turn)))
	second := prompt(t, turn)
	diff(t, "second round", []string{"bbbbbb dropped"}, statuses(second))
	diff(t, "reason", "all fragments are 12 bytes, limit 10 (max_bytes)", second.Fragments[0].Reason)
	turn.End(context.Background())
	diff(t, "next turn", []string{"cccccc kept"}, statuses(ask(t, s, host.Request{})))
}
