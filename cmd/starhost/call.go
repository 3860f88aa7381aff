package main

import (
	"context"
	"encoding/json"

	"github.com/starhost/starhost"
)

// A callResult is what became of --call.
type callResult struct {
	asked json.RawMessage // the arguments before any hook
	reply starhost.ToolReply
	hooks []starhost.HookTrace

	explained bool
}

// callID is the id of the one call that --call makes.
const callID = "call-1"

// callTool calls the tool that the flags name.
func (a *app) callTool(ctx context.Context, f *evalFlags, e *evaluation) (*callResult, error) {
	var tool *starhost.Tool
	var names []string
	for _, t := range e.set.Host.Tools() {
		if names = append(names, t.Name); t.Name == f.call {
			tool = &t
		}
	}
	if tool == nil {
		return nil, usagef("--call: unknown tool %q%s", f.call, didYouMean(f.call, names))
	}
	args, err := a.arguments(&f.requestFlags, tool.ParameterTypes())
	if err != nil {
		return nil, err
	}
	seen := len(e.turn.Hooks())
	c := &callResult{asked: mustJSON(args)}
	c.reply, err = e.turn.CallTool(ctx, starhost.ToolCall{ID: callID, Name: f.call, Arguments: c.asked})
	c.hooks = e.turn.Hooks()[seen:]
	if err == nil && c.reply.Result.IsError {
		a.code = exitNegative
	}
	return c, err
}

// A fireResult is what became of --fire.
type fireResult struct {
	event   string
	outcome starhost.Outcome
	hooks   []starhost.HookTrace
}

// fireEvent fires the event that the flags name.
func (a *app) fireEvent(ctx context.Context, f *evalFlags, e *evaluation) (*fireResult, error) {
	spec, err := starhost.LookupEvent(f.fire)
	if err != nil {
		return nil, usagef("--fire: %v", err)
	}
	args, err := a.arguments(&f.requestFlags, eventTypes(spec))
	if err != nil {
		return nil, err
	}
	event, err := starhost.NewEvent(spec.Name, args)
	if err != nil {
		return nil, usagef("--fire: %v", err)
	}
	seen := len(e.turn.Hooks())
	out, err := e.turn.Fire(ctx, event)
	return &fireResult{spec.Name, out, e.turn.Hooks()[seen:]}, err
}

// eventTypes returns the JSON Schema types of an event's arguments, "" for those
// that JSON itself says.
func eventTypes(spec *starhost.EventSpec) map[string]string {
	types := map[string]string{}
	for _, arg := range spec.Args {
		switch new(starhost.Event).Arg(arg).(type) {
		case *string, *starhost.Result:
			types[arg] = "string"
		case *bool:
			types[arg] = "boolean"
		case *int:
			types[arg] = "integer"
		case *json.RawMessage:
			types[arg] = "object"
		default:
			types[arg] = "array"
		}
	}
	return types
}

// mustJSON returns v as compact JSON. It is for values that always have one.
func mustJSON(v any) []byte {
	data, err := encodeJSON(v, "")
	if err != nil {
		panic(err)
	}
	return data[:len(data)-1]
}
