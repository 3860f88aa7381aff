package builtins

import (
	"context"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/starnames"
)

// A Recorder adds the registrations of a plugin's file to a starhost.Plugin. Each evaluation has a Recorder
// of its own, which the registered handlers use later. After the evaluation nobody changes the Recorder.
type Recorder struct {
	// Trusted are the runners that count as harmless for shell.parse and shell.runs: trusted of [shell] in the config.
	Trusted []string

	plugin     *starhost.Plugin
	rt         call.Runtime
	world      *effects.World
	config     starlark.Value
	declared   []starhost.EventSpec
	handlers   []starlark.Value
	names      map[registeredName]starhost.Pos // the place of each registration
	captures   map[starhost.Pos]capture        // functions that capture a variable, by place; or nil
	decides    []string                        // what the files can decide, as in [starhost.Plugin.Decides]
	evaluation *handlerCall
	warnings   []host.LogLine

	// Prove makes register_guard check the examples of the rules. An event needs no proof.
	Prove bool
}

// Record returns a Recorder that adds registrations to p. Handlers do effects through w, and read the
// settings of config, which [Manifest.Configure] returned. declared are the program's own events, as in
// host.Options.AppEvents.
func Record(
	p *starhost.Plugin, rt call.Runtime, w *effects.World, config starlark.Value, declared ...starhost.EventSpec,
) *Recorder {
	r := &Recorder{plugin: p, rt: rt, world: w, config: config, declared: declared, names: map[registeredName]starhost.Pos{}}
	r.evaluation = &handlerCall{rec: r, logs: new(logBook)}
	return r
}

// End ends the evaluation. No registration follows, so End drops the data that only registrations need.
func (r *Recorder) End() {
	slices.Sort(r.decides)
	r.plugin.Decides = slices.Compact(r.decides)
	r.names, r.captures, r.decides = nil, nil, nil
}

// Attach returns a context for evaluating the plugin's files. Registrations find r through it.
func (r *Recorder) Attach(ctx context.Context) context.Context {
	r.evaluation.Context = ctx
	return r.evaluation
}

// Check checks a file as [Check] does. It also stores which functions capture a variable of a loop, because a
// registration refuses these. The loader calls it for each file before the file runs.
func (r *Recorder) Check(f Text) error {
	found, err := checkText(f)
	if err != nil {
		return err
	}
	r.decides = append(r.decides, found.Decides...)
	for _, c := range found.Captures {
		if r.captures == nil {
			r.captures = map[starhost.Pos]capture{}
		}
		r.captures[starhost.Pos{File: f.Name(), Line: c.Line, Col: c.Col}] = c
	}
	return nil
}

// ConfigName is the name under which plugins see their settings.
const ConfigName = "config"

// Env returns the names that only this plugin sees.
func (r *Recorder) Env() starlark.StringDict { return starlark.StringDict{ConfigName: r.config} }

// Handlers returns the registered handlers, so that the evaluator can freeze them with the globals.
func (r *Recorder) Handlers() []starlark.Value { return r.handlers }

// Logs returns the lines that the files printed during the evaluation.
func (r *Recorder) Logs() []host.LogLine { return r.evaluation.logs.lines }

// Warnings returns the registrations that have no effect, in order.
func (r *Recorder) Warnings() []host.LogLine { return r.warnings }

// A handlerCall is one call of a handler, or the evaluation of the plugin's files, which has
// neither turn nor lane.
//
// It is also the call's context and contains a buffer for the first arguments, so that a call
// needs one allocation.
type handlerCall struct {
	context.Context
	rec          *Recorder
	turn         *host.Turn
	lane         *host.Lane
	lastDecision *decision // the decision that the handler made last, or nil
	logs         *logBook  // nil until the handler logs something
	argBuffer    [4]starlark.Value
}

type handlerKey struct{}

// Value implements [context.Context].
func (h *handlerCall) Value(key any) any {
	if key == (handlerKey{}) {
		return h
	}
	if key == (call.TrustedRunners{}) {
		return h.rec.Trusted
	}
	if key == (call.BelowWorkspace{}) && h.rec.world != nil {
		return h.rec.world.Below
	}
	return h.Context.Value(key)
}

// handlerOf returns the handler's call that the builtin's call c belongs to, or nil if no plugin is running.
func handlerOf(c call.Call) *handlerCall {
	h, _ := c.Runtime.Context(c.Thread).Value(handlerKey{}).(*handlerCall)
	return h
}

// ctx returns the argument for the handler's parameter ctx.
func (h *handlerCall) ctx() *ctxValue { return &ctxValue{h, ""} }

// beginCall returns a new call of a handler in the turn of ctx.
func (r *Recorder) beginCall(ctx context.Context) *handlerCall {
	lane := host.LaneOf(ctx)
	if lane == nil {
		lane = &host.Lane{Plugin: r.plugin.Name}
	}
	return &handlerCall{Context: ctx, rec: r, turn: host.TurnOf(ctx), lane: lane}
}

// call calls a function within the limits of a handler, and adds the steps and bytes that it takes to the lane.
func (h *handlerCall) call(fn starlark.Callable, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, usage, err := h.rec.rt.CallWithin(h, call.Allowance{h.lane.MaxSteps, "[limits] event"}, fn, args, kwargs)
	h.lane.AddUsage(usage.Steps, usage.Bytes)
	if err != nil {
		return nil, h.rec.cleanError(err)
	}
	return v, nil
}

// callerOf returns the place of the innermost frame of Starlark code.
func callerOf(th *starlark.Thread) starhost.Pos {
	for i := range th.CallStackDepth() {
		if p := th.CallFrame(i).Pos; starnames.InScript(p) {
			return posOf(p)
		}
	}
	return starhost.Pos{}
}

// registrationPlace returns the place of a registration. It is the outermost frame, which is in plugin.star
// even if a function of a library registers.
func registrationPlace(th *starlark.Thread) starhost.Pos {
	for i := th.CallStackDepth() - 1; i >= 0; i-- {
		if p := th.CallFrame(i).Pos; starnames.InScript(p) {
			return posOf(p)
		}
	}
	file := th.CallFrame(th.CallStackDepth() - 1).Pos.Filename() // the host put a line into the file that registers
	return starhost.Pos{File: file, Line: 1, Col: 1}
}

// recorderOf returns the Recorder for a registration, or an error if the plugin cannot register now.
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

// maxName is the most bytes of a registered name. The host checks the form of names.
const maxName = 1 << 10

// A registeredName is the name of a registration and its kind, such as "tool".
type registeredName struct{ kind, name string }

// claimName reserves a name for a registration of some kind. If the name is taken, the error has the place of
// the first registration.
func claimName(c call.Call, r *Recorder, kind, name string) (starhost.Pos, error) {
	pos := registrationPlace(c.Thread)
	if len(name) > maxName {
		return pos, c.Fail("E0202", "got a name of %d bytes, want at most %d", len(name), maxName)
	}
	if old, taken := r.names[registeredName{kind, name}]; taken {
		return pos, c.Fail("E0305", "%s %s is already registered at %s", kind, errtext.Quote(name), old)
	}
	r.names[registeredName{kind, name}] = pos
	return pos, nil
}

// posOf converts a position of Starlark to a position of the host.
func posOf(p syntax.Position) starhost.Pos {
	return starhost.Pos{File: p.Filename(), Line: int(p.Line), Col: int(p.Col)}
}
