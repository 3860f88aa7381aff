package starhost

import "slices"

// A HookTrace says how one handler answered one event.
type HookTrace struct {
	Event    string
	Plugin   string
	Pos      Pos
	Priority int
	Action   Action // the decision; ActionError if the handler failed
	Detail   string // the reason, the size or the error
	Again    bool   // the host called the handler again with the final arguments: only a refusal counts
	Steps    uint64
	Bytes    uint64         // allocated by guarded operations
	Changes  map[string]any // by a modify
}

// The events of traces about calls of other handlers than hooks.
const (
	EventLoad      = "load"      // a fragment loader
	EventTemplate  = "template"  // a template loader
	EventAvailable = "available" // [Tool.Available]
	EventOverride  = "override"  // a tool that overrides another
)

// A traceNote stores what a HookTrace needs. It is small, because most handlers decide nothing and
// most programs never read the traces.
type traceNote struct {
	hook         *Hook
	steps, bytes uint64
	decision     *Decision  // nil if the handler decided nothing
	trace        *HookTrace // replaces all other fields if the call is no hook, or failed
}

// hookTrace returns the trace of a note.
func (n *traceNote) hookTrace() HookTrace {
	if n.trace != nil {
		return *n.trace
	}
	t := n.hook.trace(n.steps, n.bytes)
	if d := n.decision; d != nil {
		t.Action, t.Detail, t.Changes = d.Action, d.detail(), d.Changes
	}
	return t
}

// trace returns the trace of a call without a decision.
func (h *Hook) trace(steps, bytes uint64) HookTrace {
	return HookTrace{Event: h.Event, Plugin: h.plugin, Pos: h.Pos, Priority: h.Priority, Steps: steps, Bytes: bytes}
}

// appendTraces appends the traces of notes to list.
func appendTraces(list []HookTrace, notes []traceNote) []HookTrace {
	list = slices.Grow(list, len(notes))
	for i := range notes {
		list = append(list, notes[i].hookTrace())
	}
	return list
}
