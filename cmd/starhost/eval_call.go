package main

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// A callResult is the result of --call.
type callResult struct {
	arguments json.RawMessage // before hooks change them
	reply     host.ToolReply
	hooks     []host.HookTrace

	printed bool
}

// callID is the id of the call that --call makes.
const callID = "call-1"

// readArguments reads the arguments for the tool or event that the flags name.
func (env Env) readArguments(f *evalFlags, e *evaluation) (err error) {
	var types map[string]string
	switch {
	case f.callGiven:
		types, err = toolTypes(e.set.Host, f.call)
	case f.fireGiven:
		types, err = eventTypes(e.set.Host, f.fire)
	default:
		return nil
	}
	if err == nil {
		e.arguments, err = env.parseArguments(&f.requestFlags, types)
	}
	return err
}

// checkTools refuses an invalid glob of --tool, and warns of a glob that matches no tool.
func (res *Result) checkTools(f *evalFlags, e *evaluation) error {
	if len(f.tools) == 0 {
		return nil
	}
	names := jsontext.List(e.set.Host.Tools(), func(t *starhost.Tool) string { return t.Name })
	names = append(names, jsontext.List(e.request.Tools, func(t *starhost.Tool) string { return t.Name })...)
	for _, glob := range f.tools {
		if _, err := path.Match(glob, ""); err != nil {
			return usagef("--tool: got %q, want a glob: %v", glob, err)
		}
		fits := func(name string) bool { ok, _ := path.Match(glob, name); return ok }
		if !slices.ContainsFunc(names, fits) {
			res.warn(f.strict, []loader.Warning{{Msg: "--tool: no tool fits " + quote(glob) + near.DidYouMean(glob, names)}})
		}
	}
	return nil
}

// mountForCall starts the MCP server whose tool --call names. Without --allow-effects starhost only
// lists its tools. The caller must call end.
func (env Env) mountForCall(ctx context.Context, res *Result, f *evalFlags, e *evaluation) (end func(), err error) {
	wanted := func(server string) bool { return f.callGiven && strings.HasPrefix(f.call, server+"_") }
	for server := range e.set.Config.MCP {
		if wanted(server) && (f.record != "" || f.replay != "") {
			return func() {}, usagef("--call: a journal has no calls of MCP servers: call %s without --record and --replay", f.call)
		}
	}
	dryRun := &e.dryRun
	if f.allowEffects {
		dryRun = nil
	}
	return env.mountTools(ctx, res, e.set, dryRun, wanted)
}

// toolTypes returns the JSON Schema types of a tool's parameters.
func toolTypes(h *host.Host, name string) (map[string]string, error) {
	var names []string
	for _, t := range h.Tools() {
		if t.Name == name {
			return t.ParameterTypes(), nil
		}
		names = append(names, t.Name)
	}
	hint := near.DidYouMean(name, names)
	switch {
	case len(names) == 0:
		hint = ": no plugin registers tools"
	case hint == "":
		hint = ", want one of " + strings.Join(names, ", ")
	}
	return nil, usagef("--call: unknown tool %q%s", name, hint)
}

// callTool calls the tool that the flags name.
func (res *Result) callTool(ctx context.Context, f *evalFlags, e *evaluation) (*callResult, error) {
	seen := len(e.turn.Hooks())
	c := &callResult{arguments: jsontext.Must(e.arguments)}
	var err error
	c.reply, err = e.turn.CallTool(ctx, starhost.ToolCall{ID: callID, Name: f.call, Arguments: c.arguments})
	c.hooks = e.turn.Hooks()[seen:]
	if err == nil && c.reply.Result.IsError {
		res.code = report.ExitNegative
	}
	return c, err
}

// A fireResult is the result of --fire.
type fireResult struct {
	event   string
	outcome host.Outcome
	hooks   []host.HookTrace
}

// fireEvent fires the event that the flags name.
func fireEvent(ctx context.Context, f *evalFlags, e *evaluation) (*fireResult, error) {
	event, err := newEvent(e.set.Host, f.fire, e.arguments)
	if err != nil {
		return nil, err
	}
	seen := len(e.turn.Hooks())
	out, err := e.turn.Fire(ctx, event)
	return &fireResult{event.Name, out, e.turn.Hooks()[seen:]}, err
}

// newEvent returns the event of --fire, whose name eventTypes has found.
func newEvent(h *host.Host, name string, arguments map[string]json.RawMessage) (*starhost.Event, error) {
	event, err := starhost.NewEvent(name, arguments, h.Events()...)
	if err != nil {
		return nil, usagef("--fire: %v", err)
	}
	if event.Agent != "" && agents.Find(event.Agent) == nil {
		return nil, unknownAgent("--fire", event.Agent)
	}
	return event, nil
}

// eventTypes returns the JSON Schema types of an event's arguments.
func eventTypes(h *host.Host, name string) (map[string]string, error) {
	spec, err := starhost.LookupEvent(name, h.Events()...)
	if err != nil {
		return nil, usagef("--fire: %v", agents.UnknownEvent(name, err))
	}
	types := map[string]string{}
	for _, arg := range spec.Args {
		switch spec.New().Arg(arg).(type) {
		case **starhost.CallInfo: // starhost makes it from the other arguments
		case *starhost.AppArg: // any JSON value
			types[arg] = ""
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
	if spec.Tool {
		types["agent"] = "string"
	}
	return types, nil
}
