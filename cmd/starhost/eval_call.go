package main

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// callID is the id of the call that --call makes.
const callID = "call"

// readArguments reads the arguments for the tool or event that the flags name.
func readArguments(env Env, f *evalFlags, e *evaluation) (err error) {
	var types map[string]string
	switch {
	case f.callGiven:
		types, err = toolTypes(e.Set.Host, f.call)
	case f.fireGiven:
		types, err = eventTypes(e.Set.Host, f.fire)
	default:
		return nil
	}
	if err == nil {
		e.arguments, err = env.parseArguments(&f.requestFlags, types)
	}
	return err
}

// checkTools returns an error for an invalid glob of --tool, and warns of a glob that matches no tool.
func (res *Result) checkTools(f *evalFlags, e *evaluation) error {
	if len(f.tools) == 0 {
		return nil
	}
	names := jsontext.List(e.Set.Host.Tools(), func(t *starhost.Tool) string { return t.Name })
	names = append(names, jsontext.List(e.Request.Tools, func(t *starhost.Tool) string { return t.Name })...)
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

// mountForCall starts the MCP server that has the tool of --call. Without --allow-effects, starhost only
// lists the server's tools. The caller must call end.
func mountForCall(ctx context.Context, env Env, res *Result, f *evalFlags, e *evaluation) (end func(), err error) {
	wanted := func(server string) bool { return f.callGiven && strings.HasPrefix(f.call, server+"_") }
	for server := range e.Set.Config.MCP {
		if wanted(server) && (f.record != "" || f.replay != "") {
			return func() {}, usagef("--call: a case has no calls of MCP servers: call %s without --record and --replay", f.call)
		}
	}
	dryRun := &e.dryRun
	if f.allowEffects {
		dryRun = nil
	}
	return env.mountTools(ctx, res, e.Set, dryRun, wanted)
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
func (res *Result) callTool(ctx context.Context, f *evalFlags, e *evaluation) (*report.CallResult, error) {
	seen := len(e.Turn.Hooks())
	c := &report.CallResult{Arguments: jsontext.Must(e.arguments)}
	var err error
	c.Reply, err = e.Turn.CallTool(ctx, starhost.ToolCall{ID: callID, Name: f.call, Arguments: c.Arguments})
	c.Hooks = e.Turn.Hooks()[seen:]
	if err == nil && c.Reply.Result.IsError {
		res.code = report.ExitNegative
	}
	return c, err
}

// fireEvent fires the event that the flags name.
func fireEvent(ctx context.Context, f *evalFlags, e *evaluation) (*report.FireResult, error) {
	event, err := newEvent(e.Set.Host, f.fire, e.arguments)
	if err != nil {
		return nil, err
	}
	out, err := e.Turn.Fire(ctx, event)
	return &report.FireResult{Event: event.Name, Outcome: out}, err
}

// newEvent returns the event of --fire. eventTypes has checked its name.
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
		case **starhost.CallInfo: // starhost makes this argument from the others
		case *starhost.AppArg: // any JSON value is valid
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

// evaluateExpr evaluates the expression of -e.
func evaluateExpr(ctx context.Context, f *evalFlags, e *evaluation) (*report.ExprResult, error) {
	p, expr, err := exprPlugin(e.Set.Plugins, f.expr)
	if err != nil {
		return nil, err
	}
	if text := strings.TrimSpace(expr); helpCall().MatchString(text) && p.Inside.Module().Describe("help") == "" {
		value := helpText
		if name := helpName(text); name != "" {
			if value, err = explainName(p.Inside, name); err != nil {
				return nil, err
			}
		}
		return &report.ExprResult{Plugin: p.Name, Expr: text, Value: e.Set.Redact(strings.TrimSuffix(value, "\n"))}, nil
	}
	value, usage, err := p.Inside.Eval(ctx, e.Turn, expr)
	if err != nil {
		return nil, &host.HandlerError{Plugin: p.Name, What: "expression", Err: err}
	}
	return &report.ExprResult{Plugin: p.Name, Expr: strings.TrimSpace(expr), Value: e.Set.Redact(value), Usage: usage}, nil
}

// helpCall matches an expression that asks for help in the way of repl's prompt.
var helpCall = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^help(\(["']?[\w.]*["']?\))?$`) })

// exprPlugin splits [PLUGIN:]EXPR. If the text names no plugin, it returns the only loaded plugin.
func exprPlugin(plugins []loader.Plugin, text string) (*loader.Plugin, string, error) {
	loaded := map[string]*loader.Plugin{}
	for i := range plugins {
		if p := &plugins[i]; p.Inside != nil {
			loaded[p.Name] = p
		}
	}
	names := slices.Sorted(maps.Keys(loaded))
	name, expr, _ := strings.Cut(text, ":")
	switch p := loaded[name]; {
	case p != nil:
		return p, expr, nil
	case name != text && namesPlugin(name):
		return nil, "", usagef("-e: no loaded plugin is named %s%s", name, near.DidYouMean(name, names))
	case len(names) != 1:
		return nil, "", usagef("-e: there are %d plugins, want -e PLUGIN:EXPR", len(names))
	}
	return loaded[names[0]], text, nil
}

// namesPlugin reports whether the text before a colon must be the name of a plugin. Of all expressions, only
// a lambda begins with a name and a colon.
func namesPlugin(s string) bool {
	return s != "" && s != "lambda" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == "" && s[0] >= 'a'
}
