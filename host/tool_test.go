package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

const pre, approval, post = "pre_tool_call", "approve_tool_call", "post_tool_call"

var (
	deny    = starhost.Deny("no")
	askFor  = starhost.Ask("sure?")
	abort   = starhost.Decision{Action: starhost.ActionAbort, Reason: "stop"}
	approve = starhost.Decision{Action: starhost.ActionApprove}
)

// respond returns a decision that answers a call.
func respond(text string) starhost.Decision {
	return starhost.Decision{Action: starhost.ActionRespond, Result: &starhost.Result{ForLLM: text}}
}

// args returns a decision that replaces a call's arguments.
func args(raw string) starhost.Decision {
	return starhost.Modify("arguments", json.RawMessage(raw))
}

// pluginWith returns a plugin with one hook and this priority. The plugin's name contains the priority.
func pluginWith(priority int, h starhost.Hook) starhost.Plugin {
	h.Priority, h.Pos = priority, at("p.star", priority)
	return plugin(fmt.Sprintf("p%d", priority), h)
}

func failingHook(event string, mode starhost.FailMode) starhost.Hook {
	return starhost.Hook{Event: event, OnError: mode,
		Call: func(context.Context, *starhost.Event) (starhost.Decision, error) {
			return starhost.Decision{}, errors.New("division by zero")
		}}
}

// tickingClock returns a clock that advances a second with each reading.
func tickingClock() func() time.Time {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

// refusingHook returns a hook that denies calls with a text in their arguments.
func refusingHook(text string, d starhost.Decision) starhost.Hook {
	return hookFunc(pre, func(e *starhost.Event) starhost.Decision {
		if strings.Contains(string(e.Arguments), text) {
			return d
		}
		return starhost.Decision{}
	})
}

// TestCombining has a case for each rule of how decisions about a call combine.
func TestCombining(t *testing.T) {
	own := echo() // a plugin may respond to calls of its own tool
	own.Hooks = []starhost.Hook{hook(pre, respond("from itself"))}
	granted := pluginWith(1, hook(pre, respond("from p1")))
	granted.RespondsTo = []string{"ec*"}
	alsoGranted := pluginWith(2, hook(pre, respond("from p2")))
	alsoGranted.RespondsTo = []string{"echo"}
	mustAsk := echo()
	mustAsk.Tools[0].Approval = starhost.ApprovalAsk
	yes := func(context.Context, host.ApprovalRequest) (host.Answer, error) {
		return host.Answer{Yes: true}, nil
	}
	no := func(context.Context, host.ApprovalRequest) (host.Answer, error) {
		return host.Answer{}, nil
	}

	tests := []struct {
		name     string
		tools    starhost.Plugin
		plugins  []starhost.Plugin
		approver func(context.Context, host.ApprovalRequest) (host.Answer, error)
		want     string // the result that the model gets; "abort: …" if the turn is aborted
	}{
		{"no hooks", echo(), nil, nil, `{"text":"hi"}`},
		{"deny of the last of five wins", echo(), []starhost.Plugin{
			pluginWith(1, hook(pre, starhost.Decision{})), pluginWith(2, hook(pre, args(`{"text":"changed"}`))), pluginWith(3,
				hook(pre, askFor)), pluginWith(4, hook(pre, starhost.Decision{})), pluginWith(5, hook(pre, deny)),
		}, yes, "denied by p5: no"},
		{"the first deny is told", echo(), []starhost.Plugin{pluginWith(1, hook(pre, starhost.Deny("first"))), pluginWith(2, hook(pre, starhost.Deny("second")))}, nil, "denied by p1: first"},
		{"deny before respond", echo(), []starhost.Plugin{granted, pluginWith(3, hook(pre, deny))}, nil, "denied by p3: no"},
		{"abort over deny", echo(), []starhost.Plugin{pluginWith(1, hook(pre, deny)), pluginWith(2, hook(pre, abort))}, nil, "abort: p.star:2:1: turn aborted by p2: stop"},
		{"two modifies chain", echo(), []starhost.Plugin{
			pluginWith(1, hookFunc(pre, func(e *starhost.Event) starhost.Decision {
				return args(strings.Replace(string(e.Arguments), "hi", "hi there", 1))
			})),
			pluginWith(2, hookFunc(pre, func(e *starhost.Event) starhost.Decision {
				return args(strings.Replace(string(e.Arguments), "there", "you there", 1))
			})),
		}, nil, `{"text":"hi you there"}`},
		{"a guard is asked again with changed arguments", echo(), []starhost.Plugin{pluginWith(1, refusingHook("prod", deny)), pluginWith(2, hook(pre, args(`{"text":"prod"}`)))}, nil, "denied by p1: no"},
		{"and may abort", echo(), []starhost.Plugin{pluginWith(1, refusingHook("prod", abort)), pluginWith(2, hook(pre, args(`{"text":"prod"}`)))}, nil, "abort: p.star:1:1: turn aborted by p1: stop"},
		{"and may ask", echo(), []starhost.Plugin{pluginWith(1, refusingHook("prod", askFor)), pluginWith(2, hook(pre, args(`{"text":"prod"}`)))}, no, "denied by host: not approved: sure?"},
		{"but its change does not count any more", echo(), []starhost.Plugin{pluginWith(1, refusingHook("prod", args(`{"text":"late"}`))), pluginWith(2, hook(pre, args(`{"text":"prod"}`)))}, nil, `{"text":"prod"}`},
		{"and a guard that fails then denies", echo(), []starhost.Plugin{
			pluginWith(1, starhost.Hook{Event: pre,
				Call: func(_ context.Context, e *starhost.Event) (starhost.Decision, error) {
					if strings.Contains(string(e.Arguments), "prod") {
						return starhost.Decision{}, errors.New("key error")
					}
					return starhost.Decision{}, nil
				}}),
			pluginWith(2, hook(pre, args(`{"text":"prod"}`))),
		}, nil, "denied by p1: the guard of p1 failed: key error"},
		{"a guard after the change is not asked again", echo(), []starhost.Plugin{pluginWith(1, hook(pre, args(`{"text":"prod"}`))), pluginWith(2, onceAllowed())}, nil, `{"text":"prod"}`},
		{"the same arguments are no change", echo(), []starhost.Plugin{pluginWith(1, onceAllowed()), pluginWith(2, hook(pre, args(`{"text":"hi"}`)))}, nil, `{"text":"hi"}`},
		{"a deny with the first arguments stays", echo(), []starhost.Plugin{pluginWith(1, refusingHook("hi", deny)), pluginWith(2, hook(pre, args(`{"text":"ok"}`)))}, nil, "denied by p1: no"},
		{"a guard is asked again with invalid arguments", echo(), []starhost.Plugin{pluginWith(1, refusingHook("prod", deny)), pluginWith(2, hook(pre, args(`{"prod":1}`)))}, nil, "denied by p1: no"},
		{"arguments changed to invalid ones", echo(), []starhost.Plugin{pluginWith(2, hook(pre, args(`{"txt":1}`)))}, nil,
			"a hook changed the arguments: echo: the arguments are not valid:\n\"text\": missing\n\"txt\": unknown argument (did you mean text?)"},
		{"deny over invalid arguments", echo(), []starhost.Plugin{pluginWith(1, hook(pre, args(`{}`))), pluginWith(2, hook(pre, deny))}, nil, "denied by p2: no"},
		{"arguments that are no object", echo(), []starhost.Plugin{pluginWith(1, hook(pre, args(`[]`)))}, nil,
			"denied by p1: the guard of p1 failed: modify: arguments: got [], want an object"},
		{"respond for one's own tool", own, nil, nil, "from itself"},
		{"respond for others needs the grant", echo(), []starhost.Plugin{pluginWith(1, hook(pre, respond("mine")))}, nil,
			`denied by p1: the guard of p1 failed: respond: tool "echo" is not p1's own: the operator must grant "respond:echo"`},
		{"the first respond wins", echo(), []starhost.Plugin{granted, alsoGranted}, nil, "from p1"},
		{"respond without a result", echo(), []starhost.Plugin{{Name: "p1", RespondsTo: []string{"echo"}, Hooks: []starhost.Hook{hook(pre, starhost.Decision{Action: starhost.ActionRespond})}}}, nil,
			"denied by p1: the guard of p1 failed: respond: got no result"},
		{"a tool asks and nobody can approve", mustAsk, nil, nil, "denied by host: approval is needed and nobody can give it: tool echo asks for approval"},
		{"a tool asks and a person approves", mustAsk, nil, yes, `{"text":"hi"}`},
		{"a hook asks and a person does not approve", echo(), []starhost.Plugin{pluginWith(1, hook(pre, askFor))}, no, "denied by host: not approved: sure?"},
		{"approval for a respond", echo(), []starhost.Plugin{granted, pluginWith(3, hook(pre, askFor))}, no, "denied by host: not approved: sure?"},
		{"an approved respond", echo(), []starhost.Plugin{granted, pluginWith(3, hook(pre, askFor))}, yes, "from p1"},
		{"approve needs no person", mustAsk, []starhost.Plugin{pluginWith(1, hook(approval, approve))}, nil, `{"text":"hi"}`},
		{"approve does not shadow a deny", mustAsk, []starhost.Plugin{pluginWith(1, hook(approval, approve)), pluginWith(2, hook(approval, deny))}, yes, "denied by p2: no"},
		{"ask beats approve", mustAsk, []starhost.Plugin{pluginWith(1, hook(approval, approve)), pluginWith(2, hook(approval, askFor))}, no, "denied by host: not approved: tool echo asks for approval"},
		{"a failing approve handler denies", mustAsk, []starhost.Plugin{pluginWith(1, failingHook(approval, ""))}, yes, "denied by p1: the guard of p1 failed: division by zero"},
		{"approval hooks are not asked without need", echo(), []starhost.Plugin{pluginWith(1, hook(approval, deny))}, nil, `{"text":"hi"}`},
		{"the approver fails", mustAsk, nil, func(context.Context, host.ApprovalRequest) (host.Answer, error) {
			return host.Answer{Yes: true}, errors.New("no terminal")
		}, "denied by host: no approval: no terminal"},
		{"the approver panics", mustAsk, nil, func(context.Context, host.ApprovalRequest) (host.Answer, error) { panic("oh") }, "denied by host: no approval: panic: oh"},
		{"post_tool_call changes a result", echo(), []starhost.Plugin{pluginWith(1, hook(post, starhost.Modify("result", "clean")))}, nil, "clean"},
		{"post_tool_call changes a response", own, []starhost.Plugin{pluginWith(1, hook(post, starhost.Modify("result", starhost.Result{ForLLM: "clean"})))}, nil, "clean"},
		{"a failing guard denies", echo(), []starhost.Plugin{pluginWith(1, failingHook(pre, ""))}, nil, "denied by p1: the guard of p1 failed: division by zero"},
		{"a failing guard that may be skipped", echo(), []starhost.Plugin{pluginWith(1, failingHook(pre, starhost.FailSkip))}, nil, `{"text":"hi"}`},
		{"a failing guard that aborts", echo(), []starhost.Plugin{pluginWith(1, failingHook(pre, starhost.FailAbort))}, nil, "abort: p.star:1:1: turn aborted by p1: the hook of p1 failed: division by zero"},
		{"a failing observer is skipped", echo(), []starhost.Plugin{pluginWith(1, failingHook(post, ""))}, nil, `{"text":"hi"}`},
		{"a guard that panics denies", echo(), []starhost.Plugin{pluginWith(1, hookFunc(pre, func(*starhost.Event) starhost.Decision { panic("index out of range") }))}, nil,
			"denied by p1: the guard of p1 failed: panic: index out of range"},
		{"a decision of another event", echo(), []starhost.Plugin{pluginWith(1, hook(pre, approve))}, nil,
			"denied by p1: the guard of p1 failed: pre_tool_call: approve is no decision here, want deny, ask, respond, modify or abort"},
		{"modify of another argument", echo(), []starhost.Plugin{pluginWith(1, hook(pre, starhost.Modify("argument", "x")))}, nil,
			`denied by p1: the guard of p1 failed: modify: pre_tool_call cannot change "argument" (did you mean arguments?), it can change arguments, command or paths`},
		{"modify to another type", echo(), []starhost.Plugin{pluginWith(1, hook(pre, starhost.Modify("arguments", 3)))}, nil,
			"denied by p1: the guard of p1 failed: modify: arguments: got int, want an object"},
		{"changes of anything but a modify do not count", echo(), []starhost.Plugin{pluginWith(1, hook(pre, starhost.Decision{Action: starhost.ActionAsk, Reason: "r", Changes: args("{}").Changes}))}, yes, `{"text":"hi"}`},
		{"match fits", echo(), []starhost.Plugin{pluginWith(1, starhost.Hook{Event: pre, Match: []string{"x", "ec*"}, Call: hook(pre, deny).Call})}, nil, "denied by p1: no"},
		{"match does not fit", echo(), []starhost.Plugin{pluginWith(1, starhost.Hook{Event: pre, Match: []string{"x"}, Call: hook(pre, deny).Call})}, nil, `{"text":"hi"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, host.Options{Approver: tt.approver},
				append([]starhost.Plugin{tt.tools}, tt.plugins...)...)
			turn := begin(t, h, host.Request{})
			reply, err := turn.CallTool(context.Background(),
				starhost.ToolCall{ID: "c1", Name: "echo", Arguments: json.RawMessage(`{"text":"hi"}`)})
			got := reply.Result.ForLLM
			var aborted *host.AbortError
			if errors.As(err, &aborted) {
				got = "abort: " + err.Error()
			} else if err != nil {
				t.Fatal(err)
			}
			diff(t, "what the model is told", tt.want, got)
			if denied := strings.HasPrefix(tt.want, "denied"); denied != (reply.Denied != nil) || denied &&
				!reply.Result.IsError {
				t.Errorf("denied: got %v, is_error %v, want %v", reply.Denied, reply.Result.IsError, denied)
			}
		})
	}
}

// TestForeignTool fires a call of an agent's tool and the same call of a plugin's tool. p9
// registers a tool of that name with a schema that no call fits. In both cases the guards see the
// agent's arguments.
func TestForeignTool(t *testing.T) {
	var plugins []string // the tool's plugins as the guard saw them
	guard := pluginWith(1, hookFunc(pre, func(e *starhost.Event) starhost.Decision {
		plugins = append(plugins, e.Plugin)
		if strings.Contains(string(e.Arguments), "rm") {
			return deny
		}
		return starhost.Decision{}
	}))
	owner := func(d starhost.Decision, grants ...string) starhost.Plugin {
		p := pluginWith(9, hook(pre, d))
		p.Tools = []starhost.Tool{{Name: "Bash", Description: "None.", Parameters: json.RawMessage(`{"type":"object","required":["never"]}`),
			Call: func(context.Context, starhost.ToolCall) (starhost.Result, error) {
				return starhost.Result{}, nil
			}}}
		p.RespondsTo = grants
		return p
	}
	tests := []struct {
		name    string
		owner   starhost.Plugin
		foreign bool
		want    string // the combined decision and its reason
		plugins []string
	}{
		{"a foreign call that a later hook changes", owner(args(`{"command":"rm"}`)), true, "deny no", []string{"", ""}},
		{"a call of the plugin's tool that a later hook changes", owner(args(`{"command":"rm"}`)), false, "deny no", []string{"p9", "p9"}},
		{"a harmless change", owner(args(`{"command":"ls"}`)), true, "modify ", []string{"", ""}},
		{"a response without the grant", owner(respond("from p9")), true,
			`deny the guard of p9 failed: respond: tool "Bash" is not p9's own: the operator must grant "respond:Bash"`, []string{""}},
		{"a response with the grant", owner(respond("from p9"), "Bash"), true, "respond ", []string{""}},
		{"a response for the plugin's own tool", owner(respond("from p9")), false, "respond ", []string{"p9"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plugins = nil
			h := newHost(t, host.Options{}, guard, tt.owner)
			e := &starhost.Event{Name: pre, Tool: "Bash", Foreign: tt.foreign, Arguments: json.RawMessage(`{"command":"id"}`)}
			out, err := h.Fire(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "decision", tt.want, string(out.Decision.Action)+" "+out.Decision.Reason)
			diff(t, "the tool's plugin, for the guard", tt.plugins, plugins)
		})
	}
}

// onceAllowed allows the first call and denies the second.
func onceAllowed() starhost.Hook {
	n := 0
	return hookFunc(pre, func(*starhost.Event) starhost.Decision {
		if n++; n > 1 {
			return starhost.Deny("asked again")
		}
		return starhost.Decision{}
	})
}

func TestTraceOfACall(t *testing.T) {
	var logged []string
	h := newHost(t, host.Options{Log: func(l host.LogLine) {
		logged = append(logged, l.Plugin+" "+l.Level+": "+l.Text)
	}}, echo(),
		pluginWith(1, refusingHook("prod", deny)), pluginWith(2, hook(pre, args(`{"text":"prod"}`))),
		pluginWith(3, failingHook(pre, starhost.FailSkip)))
	turn := begin(t, h, host.Request{})
	call(t, turn, "echo", `{"text":"hi"}`)
	var got []string
	for _, tr := range turn.Hooks() {
		got = append(got, fmt.Sprintf("%s %s %s %q again=%v", tr.Event, tr.Plugin, tr.Action, tr.Detail, tr.Again))
	}
	diff(t, "trace", []string{
		`pre_tool_call p1  "" again=false`,
		`pre_tool_call p2 modify "arguments" again=false`,
		`pre_tool_call p3 error "division by zero" again=false`,
		`pre_tool_call p1 deny "no" again=true`,
	}, got)
	diff(t, "log", []string{"p3 error: hook pre_tool_call: division by zero"}, logged)
	if n := len(turn.Errors()); n != 1 {
		t.Errorf("errors: got %d, want 1", n)
	}
}

// TestInvalidArguments checks that a call with invalid arguments reaches no hook, and that the model gets all
// mistakes at once.
func TestInvalidArguments(t *testing.T) {
	p := echo()
	p.Tools[0].Parameters = json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["b"]}`)
	fired := false
	watch := hookFunc(pre, func(*starhost.Event) starhost.Decision {
		fired = true
		return starhost.Decision{}
	})
	got := call(t, begin(t, newHost(t, host.Options{}, p, plugin("watch", watch)), host.Request{}), "echo", `{"a":"x"}`)
	want := "echo: the arguments are not valid:\n\"a\": type: got \"x\", want \"integer\"\n\"b\": missing"
	diff(t, "result", want, got.Result.ForLLM)
	if !got.Result.IsError || fired {
		t.Errorf("is_error %v, a hook fired %v, want an is_error and no hook", got.Result.IsError, fired)
	}
}

func TestUnknownTool(t *testing.T) {
	fired := false
	h := newHost(t, host.Options{}, echo(),
		plugin("watch", hookFunc(pre, func(*starhost.Event) starhost.Decision {
			fired = true
			return starhost.Decision{}
		})))
	got := call(t, begin(t, h, host.Request{}), "ehco", "{}").Result
	diff(t, "result", starhost.Result{ForLLM: `unknown tool "ehco" (did you mean echo?)`, IsError: true}, got)
	if fired {
		t.Error("a hook fired for a tool that is not on offer")
	}
}

// TestFailingTools checks that the model gets the failure of a tool as a result with is_error, and that
// post_tool_call handlers see this result.
func TestFailingTools(t *testing.T) {
	big := strings.Repeat("x", 11_000)
	tests := []struct {
		name string
		call func() (starhost.Result, error)
		want string
	}{
		{"error", func() (starhost.Result, error) { return starhost.Result{}, errors.New("no route") }, "tool echo failed: no route"},
		{"panic", func() (starhost.Result, error) { panic("nil map") }, "tool echo failed: panic: nil map"},
		{"too many attachments", func() (starhost.Result, error) {
			return starhost.Result{Attachments: make([]fragments.Attachment, len(big))}, nil
		}, "tool echo failed: 11000 fragments and attachments, limit 10000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := echo()
			p.Tools[0].Call = func(context.Context, starhost.ToolCall) (starhost.Result, error) {
				return tt.call()
			}
			var seen starhost.Event
			turn := begin(t, newHost(t, host.Options{}, p,
				plugin("watch", hookFunc(post, func(e *starhost.Event) starhost.Decision {
					seen = *e
					return starhost.Decision{}
				}))), host.Request{})
			got := call(t, turn, "echo", `{"text":""}`)
			diff(t, "result", starhost.Result{ForLLM: tt.want, IsError: true}, got.Result)
			var failure *host.HandlerError
			if !errors.As(got.Err, &failure) || failure.What != "tool echo" || failure.Plugin != "tools" {
				t.Errorf("error: got %#v, want a *HandlerError of the tool", got.Err)
			}
			if !seen.IsError || seen.Result.ForLLM != tt.want {
				t.Errorf("post_tool_call saw %+v, want the failure", seen.Result)
			}
		})
	}
	var p *host.PanicError
	turn := begin(t, newHost(t, host.Options{},
		pluginWith(1, hookFunc("pre_llm_call", func(*starhost.Event) starhost.Decision { panic("oh") }))), host.Request{})
	if errs := prompt(t, turn).Errors; len(errs) != 1 || !errors.As(errs[0], &p) ||
		!strings.Contains(string(p.Stack), "tool_test.go") {
		t.Errorf("errors: got %v, want a *PanicError with the stack", errs)
	}
}

// TestPostToolCallPipeline checks that the next handler gets a result that a handler changed, with its
// is_error.
func TestPostToolCallPipeline(t *testing.T) {
	var saw []string
	watch := func(e *starhost.Event) starhost.Decision {
		saw = append(saw, fmt.Sprint(e.Result.ForLLM, " ", e.IsError))
		return starhost.Decision{}
	}
	image := fragments.Attachment{Content: "png", Type: "image/png"}
	h := newHost(t, host.Options{}, echo(),
		pluginWith(1, hookFunc(post, watch)), pluginWith(2, hook(post, starhost.Modify("result", starhost.Result{ForLLM: "bad", IsError: true, Attachments: []fragments.Attachment{image}}))), pluginWith(3, hookFunc(post, watch)),
		pluginWith(4, hook(post, starhost.Modify("result", "text alone"))), pluginWith(5, hookFunc(post, watch)))
	got := call(t, begin(t, h, host.Request{}), "echo", `{"text":"a"}`).Result
	diff(t, "what handlers saw", []string{`{"text":"a"} false`, "bad true", "text alone true"}, saw)
	image.Plugin, image.Source, image.Pos = "p2", "post_tool_call", "p.star:2:1"
	diff(t, "result", starhost.Result{ForLLM: "text alone", IsError: true, Attachments: []fragments.Attachment{image}}, got)
}

// TestNestedCalls checks that an abort in a tool call that a handler makes ends the whole turn.
func TestNestedCalls(t *testing.T) {
	var lanes []string
	p := echo()
	p.Tools = append(p.Tools, starhost.Tool{Name: "outer", Description: "Calls echo.",
		Call: func(ctx context.Context, c starhost.ToolCall) (starhost.Result, error) {
			turn := host.TurnOf(ctx)
			lanes = append(lanes, host.LaneOf(ctx).Path())
			r, err := turn.CallTool(ctx, starhost.ToolCall{Name: "echo", Arguments: json.RawMessage(`{"text":"inner"}`)})
			return r.Result, err
		}})
	inner := p.Tools[0].Call
	p.Tools[0].Call = func(ctx context.Context, c starhost.ToolCall) (starhost.Result, error) {
		lanes = append(lanes, host.LaneOf(ctx).Path())
		return inner(ctx, c)
	}
	turn := begin(t, newHost(t, host.Options{}, p), host.Request{})
	prompt(t, turn)
	turn.Reply(context.Background(), starhost.Reply{ToolCalls: []starhost.ToolCall{{ID: "c1", Name: "outer"}}})
	diff(t, "result", `{"text":"inner"}`, call(t, turn, "outer", "").Result.ForLLM)
	diff(t, "lanes", []string{"1", "1/1"}, lanes)
	diff(t, "messages", []string{"user: ", "assistant: ", `tool: {"text":"inner"}`}, roles(prompt(t, turn).Messages))

	turn = begin(t, newHost(t, host.Options{}, p, pluginWith(1, starhost.Hook{Event: pre, Match: []string{"echo"}, Call: hook(pre, abort).Call})), host.Request{})
	var aborted *host.AbortError
	if _, err := turn.CallTool(context.Background(), starhost.ToolCall{Name: "outer"}); !errors.As(err, &aborted) ||
		aborted.Plugin != "p1" {
		t.Errorf("outer: got %v, want the abort of p1", err)
	}
}

func TestCancelledCalls(t *testing.T) {
	tests := []struct {
		name string
		wrap func(cancel func()) starhost.Plugin
	}{
		{"in a hook", func(cancel func()) starhost.Plugin {
			return pluginWith(1, hookFunc(pre, func(*starhost.Event) starhost.Decision {
				cancel()
				return starhost.Decision{}
			}))
		}},
		{"in a failing hook", func(cancel func()) starhost.Plugin {
			return pluginWith(1, starhost.Hook{Event: pre,
				Call: func(ctx context.Context, _ *starhost.Event) (starhost.Decision, error) {
					cancel()
					return starhost.Decision{}, ctx.Err()
				}})
		}},
		{"while approving", func(cancel func()) starhost.Plugin { return pluginWith(1, hook(pre, askFor)) }},
		{"while asked to approve", func(cancel func()) starhost.Plugin {
			p := pluginWith(1, hook(pre, askFor))
			p.Hooks = append(p.Hooks, hookFunc(approval, func(*starhost.Event) starhost.Decision {
				cancel()
				return approve
			}))
			return p
		}},
		{"in the tool", func(cancel func()) starhost.Plugin {
			return starhost.Plugin{Name: "p1",
				Tools: []starhost.Tool{{Name: "other", Description: "d",
					Call: func(context.Context, starhost.ToolCall) (starhost.Result, error) {
						cancel()
						return starhost.Result{}, nil
					}}}}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			approver := func(context.Context, host.ApprovalRequest) (host.Answer, error) {
				cancel()
				return host.Answer{Yes: true}, nil
			}
			p := tt.wrap(cancel)
			name, args := "echo", `{"text":""}`
			if len(p.Tools) > 0 {
				name, args = "other", "{}"
			}
			turn := begin(t, newHost(t, host.Options{Approver: approver}, echo(), p,
				plugin("late", hookFunc(post, func(*starhost.Event) starhost.Decision {
					t.Error("a hook ran after the turn was cancelled")
					return starhost.Decision{}
				}))), host.Request{})
			if _, err := turn.CallTool(ctx, starhost.ToolCall{Name: name,
				Arguments: json.RawMessage(args)}); !errors.Is(err, context.Canceled) {
				t.Errorf("CallTool: got %v, want context.Canceled", err)
			}
		})
	}
}

func TestApprovalRequest(t *testing.T) {
	var got host.ApprovalRequest
	p := echo()
	p.Tools[0].Approval = starhost.ApprovalAsk
	approver := func(_ context.Context, r host.ApprovalRequest) (host.Answer, error) {
		got = r
		return host.Answer{Yes: true}, nil
	}
	h := newHost(t, host.Options{Approver: approver},
		p, pluginWith(1, hook(pre, askFor)), pluginWith(2, hook(pre, args(`{"text":"final"}`))))
	call(t, begin(t, h, host.Request{}), "echo", `{"text":"a"}`)
	if len(got.Asks) != 1 || got.Asks[0].Plugin != "p1" || got.Asks[0].Reason != "sure?" {
		t.Errorf("Asks: got %v, want the one of p1", got.Asks)
	}
	got.Asks = nil
	diff(t, "request", host.ApprovalRequest{
		SessionID: "session-1", Plugin: "tools", Reasons: []string{"tool echo asks for approval", "sure?"}, // p1 was called twice
		Call: starhost.ToolCall{ID: "c1", Name: "echo", Arguments: json.RawMessage(`{"text":"final"}`)},
	}, got)
}

// TestLawOffer checks that the host offers the tools that its filter accepts, sorted by name, and that a
// caller that changes the host's list does not change the host.
func TestLawOffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 0, 6, rapid.ID).Draw(t, "tools")
		denied := rapid.SliceOf(rapid.SampledFrom(append(names, "none"))).Draw(t, "denied")
		p := starhost.Plugin{Name: "p"}
		for _, name := range names {
			p.Tools = append(p.Tools, starhost.Tool{Name: name, Description: "Does it.",
				Call: func(context.Context, starhost.ToolCall) (starhost.Result, error) {
					return starhost.Result{}, nil
				}})
		}
		h := host.New(host.Options{Tools: host.ToolFilter{Deny: denied}})
		if err := h.Add(p); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, name := range slices.Sorted(slices.Values(names)) {
			if !slices.Contains(denied, name) {
				want = append(want, name)
			}
		}
		for range 2 {
			var got []string
			tools := h.Tools()
			for i := range tools {
				got = append(got, tools[i].Name)
				tools[i].Name = "changed"
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("Tools (-want +got):\n%s", diff)
			}
		}
	})
}

// TestMaxResult checks that the model gets the start of a long result and a line that says so, and that
// handlers get the whole result.
func TestMaxResult(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	seen := 0
	p := plugin("p", starhost.Hook{Event: "post_tool_call", Call: func(
		_ context.Context, e *starhost.Event,
	) (starhost.Decision, error) {
		seen = max(seen, len(e.Result.ForLLM))
		return starhost.Decision{}, nil
	}})
	p.Tools = []starhost.Tool{
		{Name: "long", Description: "L.", Call: func(
			context.Context, starhost.ToolCall,
		) (starhost.Result, error) {
			return starhost.Result{ForLLM: long}, nil
		}},
		{Name: "fails", Description: "F.", Call: func(
			context.Context, starhost.ToolCall,
		) (starhost.Result, error) {
			return starhost.Result{}, errors.New(long)
		}},
		{Name: "nests", Description: "N.", Call: func(
			ctx context.Context, _ starhost.ToolCall,
		) (starhost.Result, error) {
			turn := host.TurnOf(ctx)
			reply, err := turn.CallTool(ctx, starhost.ToolCall{Name: "long"})
			return starhost.Result{ForLLM: strconv.Itoa(len(reply.Result.ForLLM))}, err
		}},
	}
	for most, limit := range map[int]int{0: 256 << 10, 1001: 1001} {
		seen = 0
		turn := begin(t, newHost(t, host.Options{MaxResult: most}, p), host.Request{})
		if _, err := turn.Prompt(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"long", "fails", "nests"} {
			reply, err := turn.CallTool(t.Context(), starhost.ToolCall{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			text, note := reply.Result.ForLLM, fmt.Sprintf(" bytes, limit %d ([tools] max_result)]", limit)
			switch {
			case name == "nests":
				diff(t, "nested result", strconv.Itoa(len(long)), text)
			case len(text) > limit+100 || !strings.HasSuffix(text, note) || !utf8.ValidString(text):
				t.Errorf("%s: got %d bytes that end with %q, want %q", name, len(text), text[max(0, len(text)-100):], note)
			}
		}
		if seen < 2<<20 {
			t.Errorf("post_tool_call saw %d bytes, want all", seen)
		}
	}
}

// TestMaxResultOfCaller checks that the same limit applies to the result of a tool that the caller runs.
func TestMaxResultOfCaller(t *testing.T) {
	replies := scriptedModel{replyWith(`c1 shell`), {Content: "done"}}
	s := newHost(t, host.Options{MaxResult: 1000}).NewSession(host.SessionConfig{})
	got, err := s.Turn(t.Context(), host.Request{Text: "hi", Tools: []starhost.Tool{{Name: "shell"}}}, &replies)
	if err == nil {
		err = got.Turn.Answer("c1", starhost.Result{ForLLM: strings.Repeat("x", 5000)})
	}
	if err == nil {
		got, err = got.Turn.Run(t.Context(), &replies)
	}
	if err != nil {
		t.Fatal(err)
	}
	messages := got.Prompt.Messages
	text := messages[len(messages)-1].Content.String()
	if len(text) > 1100 || !strings.HasSuffix(text, "limit 1000 ([tools] max_result)]") {
		t.Errorf("got %d bytes that end with %q", len(text), text[max(0, len(text)-100):])
	}
}

// TestAttachmentTypes checks that the host accepts only MIME types for attachments, because it writes the
// type into headers and data URLs.
func TestAttachmentTypes(t *testing.T) {
	for _, tt := range []struct {
		typ string
		ok  bool
	}{
		{"image/png", true}, {"text/plain; charset=utf-8", true}, {"application/vnd.a+json", true}, {"", true},
		{"image/png\r\nX-Evil: 1", false}, {"image/png;a=\n", false}, {"png", false}, {"a/b/c", false}, {"image/\x1b[2J", false},
	} {
		p := plugin("p", starhost.Hook{Event: "pre_llm_call", Call: func(
			context.Context, *starhost.Event,
		) (starhost.Decision, error) {
			a := fragments.Attachment{Content: "x", Type: tt.typ, Name: "x"}
			return starhost.Decision{Action: starhost.ActionContext, Context: starhost.Context{Attachments: []fragments.Attachment{a}}}, nil
		}})
		turn := begin(t, newHost(t, host.Options{}, p), host.Request{})
		if _, err := turn.Prompt(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ok := len(turn.Errors()) == 0; ok != tt.ok {
			t.Errorf("%q: got %v, want accepted %v", tt.typ, turn.Errors(), tt.ok)
		}
	}
}
