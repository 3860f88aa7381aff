// This file has what a turn notes about each call of a handler, and what the host collects of an observed
// event.

package host

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/starhost/starhost"
)

// These are the events that traces name for calls of other handlers than hooks.
const (
	eventLoad      = "load"      // a fragment loader
	eventTemplate  = "template"  // a template loader
	eventAvailable = "available" // [starhost.Tool.Available]
	eventOverride  = "override"  // a tool that overrides another
)

// A traceNote stores what a HookTrace can be made of. It is small, because most handlers decide nothing, and
// most programs never read the traces.
type traceNote struct {
	hook         *starhost.Hook
	steps, bytes uint64
	decision     *starhost.Decision // nil if the handler decided nothing
	trace        *HookTrace         // takes the place of all other fields, if the call is of no hook or failed
}

// hookTrace returns the trace that a note stands for.
func (n *traceNote) hookTrace() HookTrace {
	if n.trace != nil {
		return *n.trace
	}
	t := traceOf(n.hook, n.steps, n.bytes)
	if d := n.decision; d != nil {
		t.Action, t.Detail, t.Changes = d.Action, d.Detail(), d.Changes
	}
	return t
}

// traceOf returns the trace of a call that made no decision.
func traceOf(h *starhost.Hook, steps, bytes uint64) HookTrace {
	return HookTrace{Event: h.Event, Plugin: h.Plugin.Name, Pos: h.Pos, Priority: h.Priority, Steps: steps, Bytes: bytes}
}

// appendTraces appends the traces of notes to list.
func appendTraces(list []HookTrace, notes []traceNote) []HookTrace {
	list = slices.Grow(list, len(notes))
	for i := range notes {
		list = append(list, notes[i].hookTrace())
	}
	return list
}

// An observation collects the calls of an event's handlers for [Options.Observe].
type observation struct {
	given   starhost.Event // the event as the first handler sees it
	start   time.Time
	calls   []HookTrace
	effects []json.RawMessage // the effects of the running call so far, with those of nested calls
	logs    []LogLine         // the lines that these calls logged
	isRun   bool              // the handler is no hook; its effects happen before the host counts them
	size    int               // the bytes of a run's effects and logs
	lost    int               // how many effects and logs had no room
}

// maxRun is the most bytes of effects and logs that the host holds for the record of one run of a
// tool, a command or a loader.
const maxRun = 1 << 20

// hasRoom reports whether the record of a run has room for an effect or line of that many bytes.
func (o *observation) hasRoom(bytes int) bool {
	if !o.isRun {
		return true // the budget of the event bounds it: see hold
	}
	if o.size+bytes > maxRun {
		o.lost++
		return false
	}
	o.size += bytes
	return true
}

// addLogs adds the lines that a call logged.
func (o *observation) addLogs(lines []LogLine) {
	for i := range lines {
		if o.hasRoom(len(lines[i].Text) + len(lines[i].Fields)) {
			o.logs = append(o.logs, lines[i])
		}
	}
}

// addCall adds the call of a handler. Its effects have been added before.
func (o *observation) addCall(n *traceNote) {
	call := n.hookTrace()
	if d := n.decision; d != nil {
		decision := *d
		decision.Changes = maps.Clone(d.Changes)
		if d.Result != nil {
			result := *d.Result
			decision.Result = &result
		}
		call.Decision = &decision
	}
	call.Effects, call.Logs, o.effects, o.logs = o.effects, o.logs, nil, nil
	o.calls = append(o.calls, call)
}
