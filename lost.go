package starhost

import (
	"fmt"
	"slices"
)

// A LostGuard is a plugin that is not loaded and that may be a guard: without it, calls would run
// that it would refuse. See [Host.Lose].
type LostGuard struct {
	// Name is the plugin's; "" for a path that leads to no plugin.
	Name string
	// Err says why it is not loaded, with the place of the mistake.
	Err error
	// Events are the events that it may have hooks on, sorted. They are nil if nobody knows them.
	Events []string
	// Open says that the operator lets events pass without the guard.
	Open bool
}

// promptEvents are the events in front of a request to the model. A lost guard of one of them could
// refuse the prompt at any of them.
var promptEvents = []string{"turn_start", "pre_llm_call", "pre_send"}

// closes reports whether the host refuses an event because the guard is lost: an event of guards,
// and each event that the guard itself could refuse.
func (g *LostGuard) closes(spec *EventSpec) bool {
	own := []string{spec.Name}
	if slices.Contains(promptEvents, spec.Name) {
		own = promptEvents
	}
	return !g.Open && spec.CanRefuse() &&
		(spec.Guard || slices.ContainsFunc(own, func(event string) bool { return slices.Contains(g.Events, event) }))
}

// CanRefuse reports whether a handler's decision can stop what the event is about.
func (s *EventSpec) CanRefuse() bool { return s.refusal() != ActionNone }

// refusal returns the decision that stops what the event is about, ActionNone if none does.
func (s *EventSpec) refusal() Action {
	for _, action := range []Action{ActionDeny, ActionAbort} {
		if slices.Contains(s.Actions, action) {
			return action
		}
	}
	return ActionNone
}

// closedBy returns the error of the first guard that closes an event, and counts the others.
func closedBy(spec *EventSpec, lost []LostGuard) (why error) {
	more := -1
	for i := range lost {
		if !lost[i].closes(spec) {
			continue
		}
		if more++; why == nil {
			why = lost[i].Err
		}
	}
	if more > 0 {
		why = fmt.Errorf("%w (and %d more guards are not loaded)", why, more)
	}
	return why
}
