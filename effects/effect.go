package effects

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// effectKinds are all effects under the names that journals give them, with the members of their requests,
// and with the members of their replies if these are objects of starhost's own.
var effectKinds = []struct{ names, request, reply string }{
	{"env secret", "name", ""},
	{"exec", "argv stdin env", "code stdout stderr"},
	{"fire tools.call", "name arguments", ""},
	{"fragments.get reference", "ref", ""},
	{"fs.exists fs.read fs.read_bytes", "path", ""},
	{"fs.glob", "pattern", ""},
	{"fs.stat", "path", "name size is_dir"},
	{"fs.write", "path bytes sha256", ""},
	{"http.get http.post", "url headers auth body", "status headers body"},
	{"http.request", "method url headers auth body", "status headers body"},
	{"now state.keys uuid", "", ""},
	{"process", "method sha256", ""},
	{"random", "n", ""},
	{"state.delete store.delete store.keys", "key", ""},
	{"state.get store.get", "key", "value found"},
	{"state.set store.set", "key value", ""},
	{"store.add", "key n", ""},
	{"store.swap", "key old new", ""},
}

// kinds returns the names of all effects.
func kinds() (names []string) {
	for _, k := range effectKinds {
		names = append(names, strings.Fields(k.names)...)
	}
	return slices.Sorted(slices.Values(names))
}

// inputs are the names of journal entries that record no effect.
var inputs = []string{host.InputApproval, host.InputModel}

// An effectCall is one effect that a plugin asks for.
type effectCall struct {
	kind    string // one of effectKinds
	request any    // a struct with the whole request, for the journal
	subject string // a path or a URL, for people

	refusal    error                              // says why the plugin may not do the effect; nil if it may
	writes     bool                               // other handlers may see the result, so loaders may not do it
	persistent bool                               // the result outlives the session, so a dry run does not do it
	dryReply   func(context.Context) (any, error) // the reply of a dry run; nil means the zero reply
	external   bool                               // a golden case must state the reply: it runs no program and no server

	meter *meter // charges for work that depends on more than the request; may be nil
}

// An answerer supplies replies to effects, so that nothing happens in the world. [Replay] and [Answers]
// implement it.
type answerer interface {
	// answer returns the reply to an effect that the plugin asks for in the lane. If ok is false, the caller
	// does the effect. If err is not nil, the caller must not do it.
	answer(lane, plugin string, c effectCall) (e RecordedEffect, ok bool, err error)
}

// do runs every effect of a plugin, in this order: It refuses a write in a loader, and an effect without
// permission. It takes the reply from the world's Answers or from run; in a dry run, it does not call run for
// effects that outlive the session. It removes the plugin's own secrets from the reply, and all secrets from
// the record of the effect.
func do[T any](ctx context.Context, w *World, c effectCall, run func(context.Context) (T, error)) (reply T, err error) {
	lane := w.laneOf(ctx)
	if err := pay(ctx, effectSteps, 0); err != nil {
		return reply, err
	}
	switch {
	case ctx.Err() != nil:
		return reply, ctx.Err()
	case c.writes && lane.ReadOnly: // checked before the permission, because no grant helps
		return reply, errorf("E0509", "%s: got a call in a loader, but loaders only read: they run beside each other", c.kind)
	case c.refusal != nil:
		if r, ok := w.Answers.(*Replay); ok {
			r.recordRefusal(lane.Path(), w.Plugin, c)
		}
		return reply, c.refusal
	}
	e, answered, err := w.answer(lane.Path(), c)
	switch {
	case err != nil:
		return reply, err
	case answered:
		if err := pay(ctx, e.Steps, 0); err != nil {
			return reply, err
		}
		reply, err = decodeReply[T](e)
	case c.persistent && w.DryRun != nil:
		e.WouldRun = true
		reply, err = dryReply[T](ctx, c)
	default:
		reply, err = run(ctx)
		own := ownRedaction(w)
		reply, err = redactReply(own, reply), redactError(own, err)
		e.Steps = c.meter.spent()
	}
	if e.WouldRun && w.DryRun != nil {
		w.DryRun.Add(Effect{Lane: lane.Path(), Plugin: w.Plugin, Kind: c.kind, What: w.Secrets.Redact(c.subject)})
	}
	if lane.Recording() {
		e.Lane, e.Plugin, e.Kind = lane.Path(), w.Plugin, c.kind
		lane.Record(w.Secrets.redactJSON(e.withResult(c.request, reply, err).Line()))
	}
	return reply, err
}

// dryReply returns the reply to an effect that a dry run does not do.
func dryReply[T any](ctx context.Context, c effectCall) (reply T, err error) {
	if c.dryReply == nil {
		return reply, nil
	}
	v, err := c.dryReply(ctx)
	reply, _ = v.(T)
	return reply, err
}

// answer asks the world's Answers for a reply, and returns false if the world has none.
func (w *World) answer(lane string, c effectCall) (RecordedEffect, bool, error) {
	if w.Answers == nil {
		return RecordedEffect{}, false, nil
	}
	return w.Answers.answer(lane, w.Plugin, c)
}

// A redaction removes the values of secrets from a text. Nil leaves texts unchanged.
type redaction func(text string) string

// redactReply removes secrets from a reply. Replies of types that cannot contain a secret stay as they are.
func redactReply[T any](remove redaction, reply T) T {
	if text, ok := any(reply).(jsontext.Text); ok && remove != nil {
		return any(jsontext.Text(remove(string(text)))).(T)
	}
	if r, ok := any(reply).(interface{ redact(redaction) T }); ok && remove != nil {
		return r.redact(remove)
	}
	return reply
}

// doNothing stands for the work of an effect that the caller of do does after do has recorded it.
func doNothing(context.Context) (none struct{}, err error) { return none, nil }

// An Effect names one effect that a [DryRun] did not do.
type Effect struct {
	Lane, Plugin string
	Kind         string // "exec"
	What         string // a path, a URL or a command line, for people
}

func (e Effect) String() string { return strings.TrimSpace(e.Kind + " " + e.What) }

// A DryRun lists the effects that worlds did not do because they outlive the session: ctx.exec,
// fs.write, http requests other than GET and HEAD, store.set, store.add,
// store.swap and store.delete. A plugin gets an
// empty reply instead: no output and code 0, the status 0, or False. The zero value is ready
// for use. A DryRun is safe for concurrent use.
type DryRun struct {
	mu      sync.Mutex
	effects []Effect
}

// Effects returns the effects that were not done, in order.
func (d *DryRun) Effects() []Effect {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Effect(nil), d.effects...)
}

// Add adds an effect that was not done.
func (d *DryRun) Add(e Effect) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.effects = append(d.effects, e)
}

// CallTool calls a tool on behalf of a handler. The call goes through the same hooks, approval and limits as
// a call of the model. The effects of the tool's handlers are in the lanes of these handlers.
func (w *World) CallTool(
	ctx context.Context, t *host.Turn, name string, arguments json.RawMessage,
) (host.ToolReply, error) {
	type request struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := checkLength("tools.call: name", name, maxName); err != nil {
		return host.ToolReply{}, err
	}
	if err := w.payFor(ctx, "tool", len(name)+len(arguments)); err != nil {
		return host.ToolReply{}, err
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	c := effectCall{kind: "tools.call", request: request{name, arguments}, subject: name, refusal: w.mayName("tool", name), writes: true}
	if _, err := do(ctx, w, c, doNothing); err != nil {
		return host.ToolReply{}, err
	}
	if err := checkDepth(ctx); err != nil {
		return host.ToolReply{}, err
	}
	return t.CallTool(withoutPay(ctx), starhost.ToolCall{Name: name, Arguments: arguments})
}

// FireEvent fires an event that the plugin declares, on behalf of a handler. The JSON object arguments has
// the arguments of e. FireEvent returns the values of the event's handlers, in the order of the handlers and
// without null. The effects of the handlers are in the lanes of these handlers.
func (w *World) FireEvent(
	ctx context.Context, t *host.Turn, e *starhost.Event, arguments json.RawMessage,
) ([]json.RawMessage, error) {
	type request struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := checkLength("fire: name", e.Name, maxName); err != nil {
		return nil, err
	}
	c := effectCall{kind: "fire", request: request{e.Name, arguments}, subject: e.Name, refusal: w.mayName("event", e.Name), writes: true}
	if _, err := do(ctx, w, c, doNothing); err != nil {
		return nil, err
	}
	if err := checkDepth(ctx); err != nil {
		return nil, err
	}
	out, err := t.Fire(ctx, e)
	if err != nil {
		return nil, err
	}
	var values []json.RawMessage
	for _, d := range out.Decisions {
		if d.Action == starhost.ActionValue && string(d.Value) != "null" {
			values = append(values, d.Value)
		}
	}
	return values, nil
}

// maxDepth is the longest chain of handlers that wait for each other.
const maxDepth = 8

func checkDepth(ctx context.Context) error {
	lane := host.LaneOf(ctx)
	if lane != nil && lane.Depth() >= maxDepth {
		return errorf("E0506", "handlers wait for each other: got a chain of more than %d, want at most that", maxDepth)
	}
	return nil
}

// LoadFragment resolves a reference on behalf of a handler. PREFIX:ARG of another plugin needs
// the permission fragment:PREFIX, and sha256:ID needs fragment:sha256. An alias stands for such
// an id and needs the same permission. The plugin itself reads a file or fetches a URL, with
// its own permissions, because the host's loaders serve only what the user typed.
func (w *World) LoadFragment(ctx context.Context, ref string) (starhost.Context, error) {
	t := host.TurnOf(ctx)
	type request struct {
		Ref string `json:"ref"`
	}
	if err := checkLength("fragments.get", ref, maxReference); err != nil {
		return starhost.Context{}, err
	}
	prefix, arg, ok := strings.Cut(ref, ":")
	switch {
	case !ok && fragments.CheckAlias(ref) == nil:
		prefix = "sha256"
	case !ok || len(prefix) < 2:
		return starhost.Context{}, errorf("E0503", "fragments.get: got %q, want PREFIX:ARG or an alias", ref)
	case prefix == "http" || prefix == "https":
		return fetchFragment(ctx, w, ref)
	case prefix == "file":
		return w.readFragment(ctx, arg)
	}
	if err := w.payFor(ctx, "fragment", len(ref)); err != nil {
		return starhost.Context{}, err
	}
	c := effectCall{kind: "fragments.get", request: request{ref}, subject: ref, refusal: w.mayName("fragment", prefix)}
	if refused := new(PermissionError); !ok && errors.As(c.refusal, &refused) {
		refused.Why = errtext.Format("%q has no prefix, so it is an alias", ref)
	}
	if _, err := do(ctx, w, c, doNothing); err != nil {
		return starhost.Context{}, err
	}
	if err := checkDepth(ctx); err != nil {
		return starhost.Context{}, err
	}
	all, err := t.Load(withoutPay(ctx), []string{ref})
	if err != nil {
		return starhost.Context{}, err
	}
	return all[0], nil
}

// readFragment returns a file of the workspace as the context that a reference to the file has.
func (w *World) readFragment(ctx context.Context, name string) (c starhost.Context, err error) {
	b, err := w.ReadFileBytes(ctx, name)
	if err != nil {
		return c, err
	}
	addContent(&c, sourceName(name), b)
	return c, nil
}
