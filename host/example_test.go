package host_test

import (
	"context"
	"fmt"
	"log"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
)

// A program embeds the host: a Go plugin with a tool, a hook and a fragment loader, and the prompt
// that they make.
func ExampleHost() {
	oncall := starhost.Plugin{
		Name: "oncall",
		Tools: []starhost.Tool{{Name: "page", Description: "Page a team.",
			Call: func(ctx context.Context, c starhost.ToolCall) (starhost.Result, error) {
				return starhost.Result{ForLLM: "paged"}, nil
			}}},
		Hooks: []starhost.Hook{{Event: "pre_llm_call",
			Call: func(ctx context.Context, e *starhost.Event) (starhost.Decision, error) {
				return starhost.TextContext("Answer with the runbook step you rely on."), nil
			}}},
		FragmentLoaders: []starhost.FragmentLoader{{Prefix: "runbook",
			Load: func(ctx context.Context, arg string) (starhost.Context, error) {
				return starhost.Context{Fragments: []fragments.Fragment{{Content: "1. Check the payment gateway.", Source: arg + ".md"}}}, nil
			}}},
	}

	h := host.New(host.Options{})
	if err := h.Add(oncall); err != nil {
		log.Fatal(err)
	}
	session := h.NewSession(host.SessionConfig{})
	prompt, err := session.Prompt(context.Background(), host.Request{Text: "Why is checkout slow?", Fragments: []string{"runbook:checkout"}})
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println(prompt.Text)
	for _, f := range prompt.Fragments {
		fmt.Println(f.ID.Short(), f.Status, f.Source, f.Plugin)
	}
	fmt.Println("tools:", prompt.Tools[0].Name)
	// Output:
	// 1. Check the payment gateway.
	// Answer with the runbook step you rely on.
	// Why is checkout slow?
	// 4a576d5f1811 kept checkout.md oncall
	// 00f750d900de kept pre_llm_call oncall
	// tools: page
}

// A turn with a tool call: the guard denies the call, and the denial goes into the next prompt as the tool's
// answer.
func ExampleTurn() {
	guard := starhost.Plugin{Name: "policy", Hooks: []starhost.Hook{{Event: "pre_tool_call", Match: []string{"restart_*"}, Call: func(ctx context.Context, e *starhost.Event) (starhost.Decision, error) {
		return starhost.Deny("restarts need a change ticket"), nil
	}}}}
	ops := starhost.Plugin{Name: "ops", Tools: []starhost.Tool{{Name: "restart_pods",
		Description: "Restart a service.", Call: func(ctx context.Context, c starhost.ToolCall) (starhost.Result, error) {
			return starhost.Result{ForLLM: "restarted"}, nil
		}}}}
	h := host.New(host.Options{})
	if err := h.Add(guard, ops); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	turn, err := h.NewSession(host.SessionConfig{}).Begin(ctx, host.Request{Text: "Restart checkout."})
	if err != nil {
		log.Fatal(err)
	}
	defer turn.End(ctx)
	if _, err := turn.Prompt(ctx); err != nil {
		log.Fatal(err)
	}
	call := starhost.ToolCall{ID: "call-1", Name: "restart_pods"}
	turn.Reply(context.Background(), starhost.Reply{ToolCalls: []starhost.ToolCall{call}}) // the model's answer
	if _, err := turn.CallTool(ctx, call); err != nil {
		log.Fatal(err)
	}
	prompt, err := turn.Prompt(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range prompt.Messages {
		fmt.Printf("%s %q\n", m.Role, m.Content)
	}
	// Output:
	// user "Restart checkout."
	// assistant ""
	// tool "denied by policy: restarts need a change ticket"
}

// If two plugins register a name, the error has both places.
func ExampleHost_Add() {
	h := host.New(host.Options{})
	page := starhost.Tool{Name: "page", Description: "Page a team.", Pos: starhost.Pos{File: "oncall/plugin.star", Line: 9, Col: 1},
		Call: func(context.Context, starhost.ToolCall) (starhost.Result, error) {
			return starhost.Result{}, nil
		}}
	fmt.Println(h.Add(starhost.Plugin{Name: "oncall", Tools: []starhost.Tool{page}}))
	page.Pos = starhost.Pos{File: "pager.star", Line: 2, Col: 1}
	fmt.Println(h.Add(starhost.Plugin{Name: "pager", Tools: []starhost.Tool{page}}))
	// Output:
	// <nil>
	// pager.star:2:1: tool "page" is already registered at oncall/plugin.star:9:1
}

// The agent loop: the model asks for a tool, gets its answer, and then answers the user.
func ExampleSession_Turn() {
	ops := starhost.Plugin{Name: "ops", Tools: []starhost.Tool{{Name: "p99", Description: "The latency of a service.",
		Call: func(ctx context.Context, c starhost.ToolCall) (starhost.Result, error) {
			return starhost.Result{ForLLM: "812 ms"}, nil
		}}}}
	h := host.New(host.Options{})
	if err := h.Add(ops); err != nil {
		log.Fatal(err)
	}
	model := &scriptedModel{ // the scripted model stands for an endpoint
		{ToolCalls: []starhost.ToolCall{{ID: "call-1", Name: "p99"}}},
		{Content: "Checkout's p99 is 812 ms."},
	}
	result, err := h.NewSession(host.SessionConfig{}).Turn(context.Background(), host.Request{Text: "How slow is checkout?"}, model)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text)
	fmt.Println(result.Rounds, "rounds,", result.Calls[0].Call.Name, "gave", result.Calls[0].Result.ForLLM)
	// Output:
	// Checkout's p99 is 812 ms.
	// 2 rounds, p99 gave 812 ms
}
