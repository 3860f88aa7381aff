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

// observer returns a function for Options.Observe that adds to seen what it receives: the event, the tool or
// text of the event, the answer, who gave the answer, and the effects.
func observer(seen *[]string, fail func(e starhost.Event) error) func(starhost.Event, host.Outcome) error {
	return func(e starhost.Event, o host.Outcome) error {
		text := strings.TrimSpace(fmt.Sprintf("%s %s%s %s", e.Name, e.Tool, e.Command, o.Decision.Action))
		if a := o.Answer; a != nil {
			text += " by " + a.By + ":"
			for _, ask := range a.Asks {
				text += fmt.Sprintf(" %s says %q", ask.Plugin, ask.Reason)
				if ask.Pos != (starhost.Pos{}) {
					text += " " + ask.Pos.String()
				}
			}
			if a.Asked.IsZero() || a.Answered.Before(a.Asked) && o.Decision.Action != starhost.ActionAsk {
				text += " at a wrong time"
			}
		}
		if e.IsTrace() {
			for _, h := range o.Hooks {
				text += fmt.Sprintf(" %s %d effects", h.Plugin, len(h.Effects))
			}
			subject := string(e.Arguments)
			for _, a := range e.App {
				subject = a.Name + " " + string(a.Value)
			}
			*seen = append(*seen, text+" "+subject)
		}
		if fail != nil {
			return fail(e)
		}
		return nil
	}
}

// TestApprovalTrace checks that the host reports one trace for each way to answer a question about a call,
// and that the trace says who answered.
func TestApprovalTrace(t *testing.T) {
	type approverFunc = func(context.Context, host.ApprovalRequest) (host.Answer, error)
	approver := func(yes bool, by string, err error) approverFunc {
		return func(context.Context, host.ApprovalRequest) (host.Answer, error) {
			return host.Answer{Yes: yes, By: by}, err
		}
	}
	late := func(ctx context.Context, _ host.ApprovalRequest) (host.Answer, error) {
		<-ctx.Done()
		return host.Answer{Yes: true, By: "person"}, nil
	}
	allow := pluginWith(2, hook("approve_tool_call", starhost.Decision{Action: starhost.ActionApprove}))
	asks := ` tools says "tool echo asks for approval" p1 says "sure?" p.star:1:1`
	tests := []struct {
		name    string
		options host.Options
		plugins []starhost.Plugin
		want    string
	}{
		{"a person", host.Options{Approver: approver(true, "person", nil)}, nil, "approve by person:" + asks},
		{"a person's no", host.Options{Approver: approver(false, "person", nil)}, nil, "deny by person:" + asks},
		{"a program", host.Options{Approver: approver(true, "", nil)}, nil, "approve by program:" + asks},
		{"its own word", host.Options{Approver: approver(true, "desk", nil)}, nil, "approve by desk:" + asks},
		{"never", host.Options{Approver: approver(false, "never", nil)}, nil, "deny by never:" + asks},
		{"nobody", host.Options{}, nil, "deny by nobody:" + asks},
		{"a failure", host.Options{Approver: approver(true, "person", errors.New("no terminal"))}, nil, "deny by nobody:" + asks},
		{"no answer in time", host.Options{ApprovalTimeout: time.Millisecond, Approver: late}, nil, "deny by nobody:" + asks},
		{"a hook", host.Options{}, []starhost.Plugin{allow}, "approve by plugin:" + asks},
		{"a journal", host.Options{Answer: func(host.Input) (json.RawMessage, error) {
			return json.RawMessage(`{"approved":true}`), nil
		}}, nil, "approve by journal:" + asks},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var seen []string
			tt.options.Observe = observer(&seen, nil)
			tool := echo()
			tool.Tools[0].Approval = starhost.ApprovalAsk
			plugins := []starhost.Plugin{tool, pluginWith(1, hook(pre, askFor))}
			h := newHost(t, tt.options, append(plugins, tt.plugins...)...)
			call(t, begin(t, h, host.Request{}), "echo", `{"text":"a"}`)
			diff(t, "traces", []string{`approval echo ` + tt.want + ` {"text":"a"}`}, seen)
		})
	}
}

// TestApprovalTraceStored checks the traces of a turn that waits for an answer, in this process and in the
// process that goes on with the turn.
func TestApprovalTraceStored(t *testing.T) {
	for _, yes := range []bool{true, false} {
		var seen []string
		var rig pauseRig
		rig.options.Observe = observer(&seen, nil)
		saved := rig.pausedSession(t)
		rig.now = rig.now.Add(time.Hour)
		if err := saved.Answer(saved.Paused.Digest, yes, rig.now); err != nil {
			t.Fatal(err)
		}
		rig.resume(t, saved)
		answer := map[bool]string{true: "approve", false: "deny"}[yes]
		asks := ` deploy says "tool deploy asks for approval" {"to":"prod"}`
		want := []string{"approval deploy ask by later:" + asks, "approval deploy " + answer + " by session:" + asks}
		diff(t, "traces", want, seen)
	}
}

// TestApprovalUnrecorded checks that an approval does not count if Observe fails to record it.
func TestApprovalUnrecorded(t *testing.T) {
	var seen []string
	o := host.Options{
		Approver: func(context.Context, host.ApprovalRequest) (host.Answer, error) {
			return host.Answer{Yes: true}, nil
		},
		Observe: observer(&seen, func(e starhost.Event) error {
			if e.Name == "approval" {
				return errors.New("the disk is full")
			}
			return nil
		}),
	}
	tool := echo()
	tool.Tools[0].Approval = starhost.ApprovalAsk
	got := call(t, begin(t, newHost(t, o, tool), host.Request{}), "echo", `{"text":"a"}`)
	diff(t, "result", "denied by host: the approval was not recorded: the disk is full", got.Result.ForLLM)
}

// TestRunTrace checks that the run of a tool, a command or a loader has a trace if it had effects, that the
// trace contains the effects of the calls inside the run, and that the memory of the trace has a bound.
func TestRunTrace(t *testing.T) {
	many := 0
	effect := func(ctx context.Context, n, bytes int) {
		for range n {
			host.LaneOf(ctx).Record(json.RawMessage(`"` + strings.Repeat("x", bytes-2) + `"`))
		}
	}
	p := starhost.Plugin{Name: "ops"}
	tool := func(name string, call func(context.Context, *host.Turn)) {
		p.Tools = append(p.Tools, starhost.Tool{Name: name, Description: "d", Call: func(
			ctx context.Context, _ starhost.ToolCall,
		) (starhost.Result, error) {
			turn := host.TurnOf(ctx)
			call(ctx, turn)
			return starhost.Result{ForLLM: "ok"}, nil
		}})
	}
	tool("quiet", func(context.Context, *host.Turn) {})
	tool("writes", func(ctx context.Context, _ *host.Turn) { effect(ctx, 2, 10) })
	tool("many", func(ctx context.Context, _ *host.Turn) { effect(ctx, many, 100_000) })
	tool("calls", func(ctx context.Context, turn *host.Turn) {
		effect(ctx, 1, 10)
		_, _ = turn.CallTool(ctx, starhost.ToolCall{Name: "writes"})
	})
	p.Commands = append(p.Commands, starhost.Command{Name: "do", Call: func(
		ctx context.Context, _ starhost.CommandCall,
	) (starhost.Result, error) {
		turn := host.TurnOf(ctx)
		_, err := turn.CallTool(ctx, starhost.ToolCall{Name: "writes"})
		return starhost.Result{ForUser: "done"}, err
	}})
	load := func(ctx context.Context, arg string) (starhost.Context, error) {
		turn := host.TurnOf(ctx)
		switch arg {
		case "quiet":
			return starhost.Context{}, nil
		case "inner":
			got, err := turn.Load(ctx, []string{"note:one"})
			return got[0], err
		case "many":
			effect(ctx, 30, 100_000)
		case "fails":
			effect(ctx, 1, 10)
			return starhost.Context{}, errors.New("no note")
		}
		effect(ctx, 1, 10)
		return starhost.Context{}, nil
	}
	p.FragmentLoaders = []starhost.FragmentLoader{{Prefix: "note", Load: load}}
	p.TemplateLoaders = []starhost.TemplateLoader{{Prefix: "brief", Load: func(
		ctx context.Context, arg string,
	) (starhost.Template, error) {

		_, err := load(ctx, arg)
		return starhost.Template{Fragments: []string{"note:of a template"}}, err
	}}}
	var seen []string
	h := newHost(t, host.Options{Observe: observer(&seen, nil)}, p)
	for _, r := range []host.Request{
		{Text: "a", Template: "brief:one", Fragments: []string{"note:two", "note:quiet", "note:inner", "note:many"}},
		{Text: "b", Template: "brief:quiet", Fragments: []string{"note:fails"}},
	} {
		_, _ = h.NewSession(host.SessionConfig{}).Prompt(t.Context(), r) // the second reference fails
	}
	diff(t, "traces of loaders", []string{
		`template_run ops 1 effects ref "brief:one"`, `load_run ops 1 effects ref "note:of a template"`,
		`load_run ops 1 effects ref "note:two"`, `load_run ops 1 effects ref "note:inner"`, `load_run ops 11 effects ref "note:many"`,
		`load_run ops 1 effects ref "note:of a template"`, `load_run ops 1 effects ref "note:fails"`,
	}, seen)
	seen = nil
	turn := begin(t, h, host.Request{})
	many = 30
	for _, name := range []string{"quiet", "writes", "calls", "many"} {
		call(t, turn, name, "{}")
	}
	turn.End(t.Context())
	if _, err := h.NewSession(host.SessionConfig{}).Command(t.Context(), "/do"); err != nil {
		t.Fatal(err)
	}
	diff(t, "traces", []string{
		"tool_run writes ops 2 effects {}", "tool_run calls ops 3 effects {}", "tool_run many ops 10 effects {}",
		"command_run do ops 2 effects {}",
	}, seen)
}
