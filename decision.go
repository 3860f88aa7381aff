package starhost

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
)

// An Action is the kind of a handler's decision.
type Action string

// The actions, in the order in which they win within one event. ActionNone is the zero value: the
// handler decided nothing.
const (
	ActionAbort   Action = "abort"   // the turn ends
	ActionDeny    Action = "deny"    // the call does not run
	ActionAsk     Action = "ask"     // a person must approve
	ActionApprove Action = "approve" // no person is needed
	ActionRespond Action = "respond" // the call is answered without running
	ActionModify  Action = "modify"  // arguments of the event are replaced
	ActionContext Action = "context" // something to merge into the prompt
	ActionValue   Action = "value"   // a value for the caller of an event that a program declares
	ActionError   Action = "error"   // in traces only: the handler failed
	// ActionWouldDeny replaces a deny if the plugin only warns: see [Plugin.Warn]. Its other
	// decisions become "would ask", "would modify" and so on, with the detail as the Reason.
	ActionWouldDeny Action = "would deny"
	ActionNone      Action = ""

	ActionEnd Action = "end_session" // the session ends after the turn
)

// A Decision is a handler's answer to an event. The zero value has no effect.
type Decision struct {
	Action Action
	// Reason is the reason of an abort, deny or ask.
	Reason string
	// Changes are the new values of a modify by the event's argument: string, json.RawMessage,
	// *Messages, Result, or []string with the names of the tools to offer. They may be []Tool, of
	// which the name and a new description count.
	Changes map[string]any
	// Result is the result of a respond.
	Result *Result
	// Context is the context to merge.
	Context Context
	// Value is the value, any JSON of at most 64 KiB.
	Value json.RawMessage
	// Plugin is the handler's plugin; the host sets it.
	Plugin string
	// Pos is the place that decides: of the call of deny(...), ask(...) and so on. If the handler
	// leaves it empty, the host sets it to the place of the handler's registration.
	Pos Pos
}

// String returns the action with what it is about, and the plugin: "deny by policy: no writes".
func (d Decision) String() string {
	text := string(d.Action)
	if d.Action == ActionNone {
		text = "no decision"
	}
	if d.Plugin != "" {
		text += " by " + d.Plugin
	}
	if d.Action == ActionRespond && d.Result == nil {
		return text
	}
	if detail := d.Detail(); detail != "" {
		text += ": " + errtext.Cut(detail)
	}
	return text
}

// Refuses reports whether the decision stops a call or asks a person about it.
func (d *Decision) Refuses() bool {
	return d.Action == ActionDeny || d.Action == ActionAsk || d.Action == ActionAbort
}

// Decides reports whether the decision has an effect beyond offering context or a value.
func (d *Decision) Decides() bool {
	return d.Action != ActionNone && d.Action != ActionContext && d.Action != ActionValue
}

// Detail returns a short text about the decision for traces.
func (d *Decision) Detail() string {
	switch d.Action {
	case ActionContext:
		return strconv.FormatInt(d.Context.Bytes(), 10) + " B"
	case ActionModify:
		return strings.Join(slices.Sorted(maps.Keys(d.Changes)), ", ")
	case ActionRespond:
		return strconv.Itoa(len(d.Result.ForLLM)) + " B"
	case ActionValue:
		return strconv.Itoa(len(d.Value)) + " B" // reports must not show the value, which can be secret
	}
	return d.Reason
}

// TextContext returns a Decision with s as context. The host fills in the source. An empty s offers
// nothing.
func TextContext(s string) Decision {
	if s == "" {
		return Decision{}
	}
	return Decision{Action: ActionContext, Context: Context{Fragments: []fragments.Fragment{{Content: s}}}}
}

// Deny returns a Decision that denies, for the given reason.
func Deny(reason string) Decision { return Decision{Action: ActionDeny, Reason: reason} }

// Ask returns a Decision that asks a person to approve, for the given reason.
func Ask(reason string) Decision { return Decision{Action: ActionAsk, Reason: reason} }

// Modify returns a Decision that replaces one argument of its event.
func Modify(name string, value any) Decision {
	return Decision{Action: ActionModify, Changes: map[string]any{name: value}}
}
