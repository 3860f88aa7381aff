package builtins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/builtins/modules"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// declarePlugin implements plugin.
//
// [ReadManifest] has read the arguments before the file runs. The call only checks that it
// stands before the registrations.
func declarePlugin(c call.Call) (starlark.Value, error) {
	r, err := recorderOf(c)
	if err != nil {
		return nil, err
	}
	if len(r.names)+len(r.plugin.Hooks) > 0 {
		return nil, c.Fail("E0302", "must stand before the first registration")
	}
	return starlark.None, nil
}

const (
	// maxRegistrations is the most registrations of one plugin, of all kinds together.
	maxRegistrations = 1000
	// maxListNames is the most names in one list of a registration.
	maxListNames = 100
)

// A listArg is an argument of a registration that lists names.
type listArg struct {
	name   string
	values stringOrList
}

// startRegistration returns the Recorder for one more registration with these lists of names. If the
// registration is not possible, it returns an error.
func startRegistration(c call.Call, lists ...listArg) (*Recorder, error) {
	r, err := recorderOf(c)
	if err != nil {
		return nil, err
	}
	p := r.plugin
	n := len(p.Tools) + len(p.Hooks) + len(p.FragmentLoaders) + len(p.TemplateLoaders) +
		len(p.Commands) + len(p.Skills) + len(p.Endpoints)
	if n >= maxRegistrations {
		return nil, c.Fail("E0320", "got registration %d of the plugin, want at most %d of all kinds", n+1, maxRegistrations)
	}
	for _, l := range lists {
		if len(l.values) > maxListNames {
			return nil, c.Fail("E0202", "%s: got %d names, want at most %d", l.name, len(l.values), maxListNames)
		}
	}
	return r, nil
}

// stringOrList is an argument that is one string or a list of strings.
type stringOrList []string

// Unpack implements starlark.Unpacker.
func (t *stringOrList) Unpack(v starlark.Value) error {
	if s, ok := starlark.AsString(v); ok {
		*t = stringOrList{s}
		return nil
	}
	list, ok := v.(starlark.Iterable)
	if !ok {
		return fmt.Errorf("got %s, want a string or a list of strings", v.Type())
	}
	for e := range starlark.Elements(list) {
		s, ok := starlark.AsString(e)
		if !ok {
			return fmt.Errorf("[%d]: got %s, want string", len(*t), e.Type())
		}
		*t = append(*t, s)
	}
	return nil
}

// seconds is an argument that is a number of seconds or a duration of the module time.
type seconds time.Duration

// Unpack implements starlark.Unpacker.
func (s *seconds) Unpack(v starlark.Value) error {
	f, ok := starlark.AsFloat(v)
	if d, isDuration := v.(modules.Duration); isDuration {
		f, ok = time.Duration(d).Seconds(), true
	}
	if !ok {
		return fmt.Errorf("got %s, want a number of seconds", v.Type())
	}
	if most := 24 * time.Hour; !(f > 0 && f <= most.Seconds()) {
		return fmt.Errorf("got %s, want more than 0 seconds, at most %.0f", v, most.Seconds())
	}
	*s = seconds(max(1, time.Duration(f*float64(time.Second))))
	return nil
}

// registerTool implements register_tool.
func registerTool(c call.Call) (starlark.Value, error) {
	var (
		handler, available starlark.Callable
		parameters, enum   *starlark.Dict
		timeout            seconds
		roles, kind        stringOrList
		t                  = starhost.Tool{Approval: starhost.ApprovalAuto}
	)
	err := c.Bind("handler", &handler, "name??", &t.Name, "description??", &t.Description, "parameters??", &parameters, "toolset??", &t.Toolset,
		"timeout??", &timeout, "approval??", (*string)(&t.Approval), "available??", &available, "roles??", &roles, "override?", &t.Override, "kind??", &kind,
		"enum??", &enum)
	if err != nil {
		return nil, err
	}
	if err := checkKinds(c, kind); err != nil {
		return nil, err
	}
	r, err := startRegistration(c, listArg{"roles", roles})
	if err != nil {
		return nil, err
	}
	sig, err := signatureOf(c, r, "handler", handler)
	if err != nil {
		return nil, err
	}
	if t.Name == "" {
		if t.Name, err = defaultToolName(c, sig.fn, t.Toolset); err != nil {
			return nil, err
		}
	}
	if t.Description == "" {
		t.Description = toolDescription(sig.fn.Doc(), parameters == nil)
	}
	if available != nil {
		if t.Available, err = availability(c, r, available); err != nil {
			return nil, err
		}
	}
	schema, err := schemaOf(c, sig, parameters, enum)
	if err != nil {
		return nil, err
	}
	if t.Pos, err = claimName(c, r, "tool", t.Name); err != nil {
		return nil, err
	}
	t.Parameters, t.Timeout, t.Roles, t.Kinds = schema.raw, time.Duration(timeout), roles, kind
	t.Call, t.Derived = r.toolCall(sig, schema.shape), schema.valid
	r.plugin.Tools = append(r.plugin.Tools, t)
	return starlark.None, c.Pay(20, 4096)
}

// checkKinds refuses a kind that no call has. A guard with such a kind would never run.
func checkKinds(c call.Call, kinds []string) error {
	for _, k := range kinds {
		if !slices.Contains(agents.Kinds, k) {
			return c.Fail("E0202", "kind: got %s%s, want one of %s", errtext.Quote(k), near.DidYouMean(k, agents.Kinds), strings.Join(agents.Kinds, ", "))
		}
	}
	return nil
}

// availability returns a Go function that asks the plugin's handler whether a tool is available.
func availability(
	c call.Call, r *Recorder, handler starlark.Callable,
) (func(context.Context) (bool, error), error) {
	p, err := readPositionalHandler(c, r, "available", handler, 0)
	if err != nil {
		return nil, err
	}
	ask := positionalCall(r, p, func(v starlark.Value) (bool, error) {
		yes, ok := v.(starlark.Bool)
		if !ok {
			return false, call.Errorf("E0312", "got %s, want True or False", v.Type())
		}
		return bool(yes), nil
	})
	return func(ctx context.Context) (bool, error) { return ask(ctx, "") }, nil
}

// defaultToolName returns the name of a tool that states none: the name of its function, with the toolset's
// name before it.
func defaultToolName(c call.Call, fn *starlark.Function, toolset string) (string, error) {
	if fn.Name() == "lambda" {
		return "", c.Fail("E0307", "name: a lambda has none: give the tool a name")
	}
	if toolset != "" {
		return toolset + "_" + fn.Name(), nil
	}
	return fn.Name(), nil
}

// toolCall returns the Go function that calls a tool's handler.
func (r *Recorder) toolCall(
	sig *signature, shape *shape,
) func(context.Context, starhost.ToolCall) (starhost.Result, error) {
	return func(ctx context.Context, call starhost.ToolCall) (starhost.Result, error) {
		h := r.beginCall(ctx)
		kwargs, err := toolArguments(h, sig, shape, call.Arguments)
		if err != nil {
			return starhost.Result{}, r.cleanError(err)
		}
		v, err := h.call(sig.fn, nil, kwargs)
		return r.resultOf(sig.fn, v, err)
	}
}

// resultOf converts what the handler of a tool or a command returned. If the handler failed by fail(...), the
// error becomes a result.
func (r *Recorder) resultOf(fn *starlark.Function, v starlark.Value, err error) (starhost.Result, error) {
	if err != nil {
		if failed, ok := errors.AsType[*failError](err); ok {
			return r.cleanResult(starhost.Result{ForLLM: failed.message, IsError: true}), nil
		}
		return starhost.Result{}, err
	}
	result, err := toResult(v)
	return r.cleanResult(result), r.explainReturn(fn, err)
}

// toolArguments converts the arguments of a call to Starlark, in the order in which the model wrote them.
func toolArguments(h *handlerCall, sig *signature, shape *shape, raw json.RawMessage) ([]starlark.Tuple, error) {
	args, err := objectOf(raw)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, args.Len())
	for _, k := range args.Keys() {
		names = append(names, string(k.(starlark.String)))
	}
	return sig.keywordArguments(h, names, func(name string) (starlark.Value, error) {
		v, _, err := args.Get(starlark.String(name))
		return shape.property(name).coerce(v), err
	})
}

// objectOf converts a JSON object to a dict. Empty text becomes an empty dict.
func objectOf(raw json.RawMessage) (*starlark.Dict, error) {
	dict := new(starlark.Dict)
	if err := readObject(dict, raw); err != nil {
		return nil, err
	}
	return dict, nil
}

// explainReturn adds the name and the place of fn to an error about the value that fn returned.
func (r *Recorder) explainReturn(fn *starlark.Function, err error) error {
	if err == nil {
		return nil
	}
	return r.cleanError(call.Errorf("E0312", "%s: unsupported return value: %v", fn.Name(), err).At(fn.Position()))
}

// registerHook implements register_hook.
func registerHook(c call.Call) (starlark.Value, error) {
	var h starhost.Hook
	var handler starlark.Callable
	match, kind := (*stringOrList)(&h.Match), (*stringOrList)(&h.Kind)
	if err := c.Bind("event", &h.Event, "handler", &handler, "priority?", &h.Priority, "match??", match, "kind??", kind,
		"on_error??", (*string)(&h.OnError)); err != nil {
		return nil, err
	}
	if err := checkKinds(c, h.Kind); err != nil {
		return nil, err
	}
	r, err := startRegistration(c, listArg{"match", h.Match})
	if err != nil {
		return nil, err
	}
	if len(h.Event) > maxName {
		return nil, c.Fail("E0306", "unknown event %s", errtext.Quote(h.Event))
	}
	spec, unknown := starhost.LookupEvent(h.Event, r.declared...)
	if unknown != nil && !r.mayBeDeclared(h.Event) {
		return nil, c.Fail("E0306", "%v", agents.UnknownEvent(h.Event, unknown))
	}
	sig, err := signatureOf(c, r, "handler", handler)
	if err != nil {
		return nil, err
	}
	if unknown != nil {
		line := host.LogLine{Plugin: r.plugin.Name, Level: "warn", Pos: registrationPlace(c.Thread)}
		line.Text = errtext.Format("%s: the hook never runs: %v", c.Name, unknown)
		r.warnings = append(r.warnings, line)
		return starlark.None, c.Pay(10, 1024)
	}
	if err := checkNames(c, sig, h.Event, spec.Args); err != nil {
		return nil, err
	}
	h.Pure, h.ReadsWords = !sig.takesArgument(ctxName), sig.takesArgument("user_message")
	h.Call, h.Pos = r.hookCall(spec, sig), registrationPlace(c.Thread)
	r.plugin.Hooks = append(r.plugin.Hooks, h)
	return starlark.None, c.Pay(10, 1024)
}

// mayBeDeclared reports whether a program or a plugin that is not loaded may declare an unknown event. It
// reports false if the name looks like a misspelt event of this program, because the hook may be a guard.
func (r *Recorder) mayBeDeclared(event string) bool {
	var names []string
	for _, e := range r.declared {
		if e.Plugin == "" {
			names = append(names, e.Name)
		}
	}
	return strings.HasPrefix(event, "app.") && near.Name(event, names) == ""
}

// hookCall returns the Go function that calls a hook's handler.
func (r *Recorder) hookCall(
	spec *starhost.EventSpec, sig *signature,
) func(context.Context, *starhost.Event) (starhost.Decision, error) {
	arguments := sig.arranger(spec)
	return func(ctx context.Context, e *starhost.Event) (d starhost.Decision, err error) {
		h := r.beginCall(ctx)
		args, kwargs, err := arguments(h, e)
		if err != nil {
			return d, r.cleanError(err)
		}
		v, err := h.call(sig.fn, args, kwargs)
		if err != nil {
			return d, err
		}
		_, nothing := v.(starlark.NoneType)
		if nothing && (h.lastDecision == nil || !spec.Guard) {
			return d, nil
		}
		if nothing {
			last := h.lastDecision
			return d, call.Errorf("E0311", "%s made the decision %s at %s and returned None: write return %s",
				sig.fn.Name(), last.action, last.place, last).At(sig.fn.Position())
		}
		err = toDecision(spec, v, &d)
		r.cleanDecision(&d)
		return d, r.explainReturn(sig.fn, err)
	}
}

// registerFragmentLoader implements register_fragment_loader.
func registerFragmentLoader(c call.Call) (starlark.Value, error) {
	var (
		prefix, description string
		handler             starlark.Callable
	)
	if err := c.Bind("prefix", &prefix, "handler", &handler, "description??", &description); err != nil {
		return nil, err
	}
	r, err := startRegistration(c)
	if err != nil {
		return nil, err
	}
	p, err := readPositionalHandler(c, r, "handler", handler, 1)
	if err != nil {
		return nil, err
	}
	if description == "" {
		description = firstParagraph(p.fn.Doc())
	}
	pos, err := claimName(c, r, "fragment loader", prefix)
	if err != nil {
		return nil, err
	}
	load := positionalCall(r, p, func(v starlark.Value) (starhost.Context, error) {
		got, err := toContext(v)
		return r.cleanContext(got), err
	})
	r.plugin.FragmentLoaders = append(r.plugin.FragmentLoaders, starhost.FragmentLoader{
		Prefix: prefix, Description: description, Load: load, Pos: pos,
	})
	return starlark.None, c.Pay(10, 1024)
}
