package builtins

import (
	"context"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A Recorder fills a starhost.Plugin with what a plugin's file registers. One
// Recorder serves one evaluation; the handlers that it recorded keep it. After
// the evaluation it is only read.
type Recorder struct {
	plugin     *starhost.Plugin
	rt         call.Runtime
	world      *effects.World
	config     starlark.Value
	declared   []starhost.EventSpec
	handlers   []starlark.Value
	names      map[registeredName]starhost.Pos // where they were taken
	captures   map[starhost.Pos]capture        // by the place of the function; nil if there are none
	evaluation *handlerCall
}

// Record returns a Recorder that adds to p. What handlers may reach is in w;
// config is what [Manifest.Configure] returned; declared are the events of the
// program's own, as in starhost.Options.AppEvents.
func Record(p *starhost.Plugin, rt call.Runtime, w *effects.World, config starlark.Value, declared ...starhost.EventSpec) *Recorder {
	r := &Recorder{plugin: p, rt: rt, world: w, config: config, declared: declared, names: map[registeredName]starhost.Pos{}}
	r.evaluation = &handlerCall{rec: r, logs: new(logBook)}
	return r
}

// End ends the evaluation, after which nothing registers: r drops what only registrations
// need.
func (r *Recorder) End() { r.names, r.captures = nil, nil }

// Attach returns a context for the evaluation of the plugin's files, in which
// registrations find r.
func (r *Recorder) Attach(ctx context.Context) context.Context {
	r.evaluation.Context = ctx
	return r.evaluation
}

// Check is [Check], and remembers for the registrations which functions capture
// the variables of a loop. It must be asked about each file before it runs.
func (r *Recorder) Check(f Text) error {
	found, err := checkText(f)
	if err != nil {
		return err
	}
	for _, c := range found {
		if r.captures == nil {
			r.captures = map[starhost.Pos]capture{}
		}
		r.captures[starhost.Pos{File: f.Name(), Line: c.Line, Col: c.Col}] = c
	}
	return nil
}

// ConfigName is the name that [Recorder.Env] has.
const ConfigName = "config"

// Env returns the names that this plugin alone has.
func (r *Recorder) Env() starlark.StringDict { return starlark.StringDict{ConfigName: r.config} }

// Handlers returns the values that registrations keep: handlers.
func (r *Recorder) Handlers() []starlark.Value { return r.handlers }

// Logs returns what the files printed while they were evaluated.
func (r *Recorder) Logs() []starhost.LogLine { return r.evaluation.logs.lines }

// A handlerCall is one call of a handler, or the evaluation of the plugin's
// files, which has neither turn nor lane.
//
// It is the context of the call, too, and holds the first arguments itself, so
// that a call allocates nothing else.
type handlerCall struct {
	context.Context
	rec          *Recorder
	turn         *starhost.Turn
	lane         *starhost.Lane
	lastDecision *decision // the last decision that the handler made, or nil
	logs         *logBook  // nil until the handler logs
	argBuffer    [4]starlark.Value
}

type handlerKey struct{}

// Value implements [context.Context].
func (h *handlerCall) Value(key any) any {
	if key == (handlerKey{}) {
		return h
	}
	return h.Context.Value(key)
}

// handlerOf returns the call of the handler that c belongs to, or nil if no plugin
// is running.
func handlerOf(c call.Call) *handlerCall {
	h, _ := c.Runtime.Context(c.Thread).Value(handlerKey{}).(*handlerCall)
	return h
}

// ctx returns what the handler's parameter ctx gets.
func (h *handlerCall) ctx() *ctxValue { return &ctxValue{h, ""} }

// begin returns the record of a call for a turn.
func (r *Recorder) begin(ctx context.Context, t *starhost.Turn) *handlerCall {
	lane := starhost.LaneOf(ctx)
	if lane == nil {
		lane = &starhost.Lane{Plugin: r.plugin.Name}
	}
	return &handlerCall{Context: ctx, rec: r, turn: t, lane: lane}
}

// run calls the function of s and adds what the call spent to the lane.
func (h *handlerCall) run(s *signature, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, usage, err := h.rec.rt.CallWithin(h, call.Allowance{h.lane.MaxSteps, "[limits] event"}, s.fn, args, kwargs)
	h.lane.Spent(usage.Steps, usage.Bytes)
	if err != nil {
		return nil, h.rec.cleanError(err)
	}
	return v, nil
}

// callerOf returns the place of the innermost frame of Starlark code.
func callerOf(th *starlark.Thread) starhost.Pos {
	for i := range th.CallStackDepth() {
		if p := th.CallFrame(i).Pos; p.Line > 0 {
			return posOf(p)
		}
	}
	return starhost.Pos{}
}

// registrationPlace returns the place of a registration: that of the outermost
// frame, which is in plugin.star even where a library's helper registers.
func registrationPlace(th *starlark.Thread) starhost.Pos {
	for i := th.CallStackDepth() - 1; i >= 0; i-- {
		if p := th.CallFrame(i).Pos; p.Line > 0 {
			return posOf(p)
		}
	}
	return starhost.Pos{}
}

// recorderOf returns the Recorder for a registration, or an error if this is not
// the time for one.
func recorderOf(c call.Call) (*Recorder, error) {
	h := handlerOf(c)
	if h == nil {
		return nil, c.Fail("E0304", "this file is no plugin: only a plugin registers")
	}
	file, module := c.Runtime.CurrentFile(c.Thread)
	switch {
	case file == "" || h.turn != nil:
		return nil, c.Fail("E0304", "got a registration in a handler, want it while the plugin is loaded: move it to the top level")
	case module:
		return nil, c.Fail("E0304", "got a registration while %s is being loaded as a module: put it into a function that plugin.star calls", file)
	}
	return h.rec, nil
}

// maxName is the most bytes of the name of anything that is registered. What
// names look like, the host says.
const maxName = 1 << 10

// A claimed is a name of what is registered, such as a "tool".
type registeredName struct{ kind, name string }

// claimName takes a name for a thing of some kind, or says where it was taken.
func claimName(c call.Call, r *Recorder, kind, name string) (starhost.Pos, error) {
	pos := registrationPlace(c.Thread)
	if len(name) > maxName {
		return pos, c.Fail("E0202", "got a name of %d bytes, want at most %d", len(name), maxName)
	}
	if old, taken := r.names[registeredName{kind, name}]; taken {
		return pos, c.Fail("E0305", "%s %q is already registered at %s", kind, name, old)
	}
	r.names[registeredName{kind, name}] = pos
	return pos, nil
}

// retainHandler remembers a handler, so that it is frozen with the globals.
func (r *Recorder) retainHandler(fn *starlark.Function) { r.handlers = append(r.handlers, fn) }

// posOf converts a place.
func posOf(p syntax.Position) starhost.Pos {
	return starhost.Pos{File: p.Filename(), Line: int(p.Line), Col: int(p.Col)}
}
