// Guards that are not loaded, and the events that the host refuses because of it.

package host

import (
	"fmt"
	"slices"

	"github.com/starhost/starhost"
)

// A Guard is a plugin that can refuse calls. Without it, calls would run that it would refuse.
//
// A program tells the host which guards it could not load: see [Host.Lose]. And a session remembers
// its guards ([SavedSession.Guards]): files, folders and variables decide which plugins a program
// loads, and the model may change those while the session runs.
type Guard struct {
	// Name is the name of the plugin; "" for a path that leads to no plugin. In a session, only the guard of
	// a required plugin has a name, and "" stands for any guard.
	Name string `json:"name,omitempty"`
	// From is [starhost.Plugin.From] of the plugin, for a guard in a session. If the guard stands for any
	// guard, From is the name of one of them.
	From string `json:"from,omitempty"`
	// Events are the events that the plugin may have hooks on, sorted. They are nil if nobody knows them.
	Events []string `json:"events,omitempty"`
	// Err says why the plugin is not loaded, with the place of the mistake.
	Err error `json:"-"`
	// Open is true if the operator lets events pass without the guard.
	Open bool `json:"-"`
}

// promptEvents are the events before a request to the model. A guard that is lost and has a hook on one of
// them could refuse the prompt at any of them.
var promptEvents = []string{"turn_start", "pre_llm_call", "pre_send"}

// closes reports whether the host refuses an event because the guard is lost. It does so for each event of
// guards, and for each event that the guard itself could refuse.
func (g *Guard) closes(spec *starhost.EventSpec) bool {
	own := []string{spec.Name}
	if slices.Contains(promptEvents, spec.Name) {
		own = promptEvents
	}
	return !g.Open && (spec.CanRefuse() || spec.HasResult()) &&
		(spec.Guard || slices.ContainsFunc(own, func(event string) bool { return slices.Contains(g.Events, event) }))
}

// closes returns why the host refuses an event in place of its handlers, or nil if it does not.
func (h *Host) closes(c *eventHooks) error {
	if c.Guard && h.opts.Halt != nil {
		if err := h.opts.Halt(); err != nil {
			return err
		}
	}
	return c.closed
}

// A HaltError says that the operator halts all calls: see [Options.Halt].
type HaltError struct {
	// Reason is what the operator wrote, in one line. File is the file with it.
	Reason, File string
}

func (e *HaltError) Error() string {
	return "the administrator halted all calls: " + e.Reason + " (" + e.File + ")"
}

// withheld returns the decision that withholds a result, for the reason why.
func withheld(why string) starhost.Decision {
	text := "[starhost withholds this result: " + why + "]"
	return starhost.Decision{Action: starhost.ActionModify, Changes: map[string]any{"result": starhost.Result{ForLLM: text, IsError: true}}}
}

// closedBy returns the error of the first lost guard that closes an event. The error also says how many
// others do.
func closedBy(spec *starhost.EventSpec, lost []Guard) (why error) {
	more := -1
	for i := range lost {
		if !lost[i].closes(spec) {
			continue
		}
		if more++; why == nil {
			why = lost[i].Err
		}
	}
	switch {
	case more == 1:
		why = fmt.Errorf("%w (and one more guard is not loaded)", why)
	case more > 1:
		why = fmt.Errorf("%w (and %d more guards are not loaded)", why, more)
	}
	return why
}
