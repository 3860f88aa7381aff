package starhost

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/starhost/starhost/fragments"
)

// Action says what a handler decided.
type Action string

// The actions, in the order in which they win within one event. ActionNone is
// the zero value: the handler had nothing to say.
const (
	ActionAbort   Action = "abort"   // the turn ends
	ActionDeny    Action = "deny"    // the call does not run
	ActionAsk     Action = "ask"     // a person must approve
	ActionApprove Action = "approve" // no person is needed
	ActionRespond Action = "respond" // the call is answered without running
	ActionModify  Action = "modify"  // arguments of the event are replaced
	ActionContext Action = "context" // something to merge into the prompt
	ActionError   Action = "error"   // in traces only: the handler failed
	// ActionWouldDeny is what a deny becomes whose plugin only warns.
	ActionWouldDeny Action = "would deny"
	ActionNone      Action = ""
)

// actionNames lists actions for people: "deny, ask or abort".
func actionNames(actions []Action) string {
	names := make([]string, len(actions))
	for i, a := range actions {
		names[i] = string(a)
		if a == ActionContext {
			names[i] = "context (a string, fragments, attachments)"
		}
	}
	return orList(names)
}

// A Decision is what a handler returned. The zero value has no effect.
type Decision struct {
	Action Action
	// Reason is the text of an abort, deny or ask.
	Reason string
	// Changes holds the new values of a modify, by the event's argument: string,
	// json.RawMessage, *Messages, Result, or []string for the names of the tools
	// to keep.
	Changes map[string]any
	// Result is the answer of a respond.
	Result *Result
	// Context is what to merge.
	Context Context
	// Plugin and Pos are the handler's; the host sets them.
	Plugin string
	Pos    Pos
}

// refuses reports whether the decision keeps a call from running as it is.
func (d *Decision) refuses() bool {
	return d.Action == ActionDeny || d.Action == ActionAsk || d.Action == ActionAbort
}

// detail is the trace's short text of a decision.
func (d *Decision) detail() string {
	switch d.Action {
	case ActionContext:
		return d.Context.size()
	case ActionModify:
		return strings.Join(sortedKeys(d.Changes), ", ")
	case ActionRespond:
		return strconv.Itoa(len(d.Result.ForLLM)) + " B"
	}
	return d.Reason
}

// An AbortError says that a handler ended the turn.
type AbortError struct {
	Reason string
	Plugin string
	Pos    Pos
}

func (e *AbortError) Error() string {
	return fmt.Sprintf("%s: turn aborted by %s: %s", e.Pos, e.Plugin, e.Reason)
}

// A HandlerError says which plugin's handler failed, at what, and why.
type HandlerError struct {
	Plugin string
	What   string // "hook pre_llm_call", "tool page", "loader runbook"
	Pos    Pos    // of the registration
	Err    error
}

func (e *HandlerError) Error() string { return e.Err.Error() }

func (e *HandlerError) Unwrap() error { return e.Err }

// Traceback returns how the failure came about, in lines: what the cause's method
// Detail says, as the evaluator's errors have one; "" for other errors.
func (e *HandlerError) Traceback() string {
	var detailed interface{ Detail() string }
	if errors.As(e.Err, &detailed) {
		return detailed.Detail()
	}
	return ""
}

// An Outcome is what all handlers of one event decided together.
type Outcome struct {
	// Decisions has one entry for each handler that decided something, in their order,
	// and then the refusals of those that were asked again. It must not be changed: the
	// turn's trace shares it.
	Decisions []Decision
	// Decision is the combined one: of abort, deny, ask, approve, respond and
	// modify the one that wins. Its Changes hold the final value of every
	// argument that was changed.
	Decision Decision
	// Ask is true if any handler wants a person to approve, also beside a respond.
	Ask bool

	problems []string // why the tool cannot take the arguments that handlers left
}

// combine derives the outcome's one decision by the rules of plugin-api.md
// section 3: abort wins over deny, deny over all others, whatever the order; an
// ask wins over an approve; the first respond wins.
func (o *Outcome) combine() {
	if len(o.Decisions) == 0 {
		return
	}
	rank := [...]Action{ActionAbort, ActionDeny, ActionAsk, ActionApprove, ActionRespond}
	best, last := len(rank), -1
	var changes map[string]any
	for i := range o.Decisions {
		d := &o.Decisions[i]
		if d.Action == ActionContext {
			continue // beside all others
		}
		if r := slices.Index(rank[:], d.Action); r >= 0 && r < best {
			best, o.Decision = r, *d
		}
		o.Ask = o.Ask || d.Action == ActionAsk
		if len(d.Changes) > 0 {
			if last = i; changes == nil {
				changes = map[string]any{}
			}
			maps.Copy(changes, d.Changes)
		}
	}
	if changes == nil {
		return
	}
	if best == len(rank) {
		o.Decision = o.Decisions[last]
	}
	o.Decision.Changes = changes
}

// Context returns everything to merge, in order.
func (o *Outcome) Context() []Context { return o.appendContext(nil) }

// appendContext appends everything to merge to list.
func (o *Outcome) appendContext(list []Context) []Context {
	for i := range o.Decisions {
		if c := o.Decisions[i].Context; !c.empty() {
			list = append(list, c)
		}
	}
	return list
}

// firstRespond returns the first respond decision, or nil.
func (o *Outcome) firstRespond() *Decision {
	for i := range o.Decisions {
		if o.Decisions[i].Action == ActionRespond {
			return &o.Decisions[i]
		}
	}
	return nil
}

// TextContext returns a Decision that offers s as context, under a source that
// the host fills in; an empty s offers nothing.
func TextContext(s string) Decision {
	if s == "" {
		return Decision{}
	}
	return Decision{Action: ActionContext, Context: Context{Fragments: []fragments.Fragment{{Content: s}}}}
}

// Deny returns a Decision that denies, for the given reason.
func Deny(reason string) Decision { return Decision{Action: ActionDeny, Reason: reason} }

// Ask returns a Decision that wants a person to approve, for the given reason.
func Ask(reason string) Decision { return Decision{Action: ActionAsk, Reason: reason} }

// Modify returns a Decision that replaces one argument of its event.
func Modify(name string, value any) Decision {
	return Decision{Action: ActionModify, Changes: map[string]any{name: value}}
}
