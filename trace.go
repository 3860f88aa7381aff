package starhost

import "slices"

// A HookTrace says what one handler did at one event.
type HookTrace struct {
	Event    string
	Plugin   string
	Pos      Pos
	Priority int
	Action   Action // what it decided; ActionError if it failed
	Detail   string // in short: the reason, the size, the error
	Again    bool   // it was asked again, with the final arguments: only a refusal counts
	Steps    uint64
	Bytes    uint64         // that guarded operations allocated
	Changes  map[string]any // of a modify
}

// EventLoad is the event name that traces give to a loader's call.
const EventLoad = "load"

// EventTemplate is the event name that traces give to a template loader's call.
const EventTemplate = "template"

// EventAvailable is the event name that traces give to the question whether a
// tool is available.
const EventAvailable = "available"

// EventOverride is the event name that traces give to the call of a tool that
// overrides another.
const EventOverride = "override"

// A note is a HookTrace before anybody reads it: a pointer to what is known of the
// hook anyway, and no text. Most hooks have nothing to say, and most turns end
// without a reader.
type traceNote struct {
	hook         *Hook
	steps, bytes uint64
	decision     *Decision  // of the hook; nil if it said nothing
	trace        *HookTrace // in place of all else: of what is no hook, or failed
}

// hookTrace returns the note in words.
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

// trace returns the trace of a call that decided nothing.
func (h *Hook) trace(steps, bytes uint64) HookTrace {
	return HookTrace{Event: h.Event, Plugin: h.plugin, Pos: h.Pos, Priority: h.Priority, Steps: steps, Bytes: bytes}
}

// appendTraces adds notes in words to a list.
func appendTraces(list []HookTrace, notes []traceNote) []HookTrace {
	list = slices.Grow(list, len(notes))
	for i := range notes {
		list = append(list, notes[i].hookTrace())
	}
	return list
}
