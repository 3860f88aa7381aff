package starhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

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

	actionEnd Action = "end_session" // the session ends after the turn
)

// actionNames lists actions for a message: "deny, ask or abort".
func actionNames(actions []Action) string {
	names := make([]string, len(actions))
	for i, a := range actions {
		names[i] = string(a)
		switch a {
		case ActionContext:
			names[i] = "context (a string, fragments, attachments)"
		case ActionValue:
			names[i] = "a JSON value"
		}
	}
	return orList(names)
}

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
	if detail := d.detail(); detail != "" {
		text += ": " + errtext.Cut(detail)
	}
	return text
}

// refuses reports whether the decision stops a call or asks a person about it.
func (d *Decision) refuses() bool {
	return d.Action == ActionDeny || d.Action == ActionAsk || d.Action == ActionAbort
}

// decides reports whether the decision has an effect beyond offering context or a value.
func (d *Decision) decides() bool {
	return d.Action != ActionNone && d.Action != ActionContext && d.Action != ActionValue
}

// soften turns a decision into one without effect, which says what the plugin would do.
func (d *Decision) soften() {
	*d = Decision{Action: "would " + d.Action, Reason: d.detail(), Pos: d.Pos}
}

// detail returns a short text for the trace.
func (d *Decision) detail() string {
	switch d.Action {
	case ActionContext:
		return d.Context.size()
	case ActionModify:
		return strings.Join(sortedKeys(d.Changes), ", ")
	case ActionRespond:
		return strconv.Itoa(len(d.Result.ForLLM)) + " B"
	case ActionValue:
		return strconv.Itoa(len(d.Value)) + " B" // reports must not show the value, which can be secret
	}
	return d.Reason
}

// An AbortError says which handler ended the turn, and why.
type AbortError struct {
	Reason string
	Plugin string
	Pos    Pos
	Lost   error // see [Outcome.Lost]
}

func (e *AbortError) Error() string {
	return fmt.Sprintf("%s: turn aborted by %s: %s", e.Pos, e.Plugin, e.Reason)
}

// A HandlerError says which plugin's handler failed, and why.
type HandlerError struct {
	Plugin string
	What   string // "hook pre_llm_call", "tool page", "loader runbook"
	Pos    Pos    // place of the registration
	Err    error
}

func (e *HandlerError) Error() string { return e.Err.Error() }

func (e *HandlerError) Unwrap() error { return e.Err }

// Traceback returns the lines of the failure's traceback, "" if the error has none. Errors of the
// evaluator have one: their method Detail returns it.
func (e *HandlerError) Traceback() string {
	var detailed interface{ Detail() string }
	if errors.As(e.Err, &detailed) {
		return detailed.Detail()
	}
	return ""
}

// advice returns what the plugin's author can write instead, in brackets, or "". A person who sees
// only the denial learns it there. Errors of the evaluator have it: their method Advice returns it.
func advice(err error) string {
	var helpful interface{ Advice() string }
	if !errors.As(err, &helpful) || helpful.Advice() == "" {
		return ""
	}
	return " (" + helpful.Advice() + ")"
}

// A LogLine is one line that a handler logged or printed.
type LogLine struct {
	Plugin string
	Level  string // "debug", "info", "warn" or "error"
	Text   string
	Fields json.RawMessage // a JSON object, nil for none
	Pos    Pos             // place of the call
}

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
	// Decision is the decision, nil for none. Effects are the journal's lines of the effects of the
	// call, and of the handlers that it called, and Logs are the lines that all of these logged.
	// All are only for [Options.Observe].
	Decision *Decision
	Effects  []json.RawMessage
	Logs     []LogLine
}

// An Answer is the answer to an [ApprovalRequest]. An Approver sets Yes and By, and the host the
// other fields, for [Options.Observe].
type Answer struct {
	Yes bool
	// By says who answered: one of [Answerers], or a word of the program. Empty means "program".
	By string
	// Asks say why an approval is needed. Pos is zero for a tool that always asks, and for the
	// question of a command.
	Asks []Decision
	// Asked and Answered are the times of the question and of the answer, which is zero while the
	// turn waits. The stored answer to the question of a turn that waited is older than the record.
	Asked, Answered time.Time
}

// Answerers returns the words that say who answered a question about a call: a person at the
// terminal, the same person before, the flag --approve (auto, never), the user of an MCP client,
// the stored answer to a turn that waited, a golden case, a hook of approve_tool_call, the program
// around starhost, nobody, a journal ([Options.Answer]), and nobody yet.
func Answerers() []string {
	return []string{
		"person", "always", "auto", "never", "mcp", "session", "answers", "plugin", "program", "nobody",
		"journal", "later",
	}
}

// An Outcome combines the decisions of all handlers of one event.
type Outcome struct {
	// Decisions has an entry for each handler that decided something, in the order of their calls,
	// and then the refusals of handlers that the host called again. The caller must not change it,
	// because the turn's trace shares it.
	Decisions []Decision
	// Decision is the decision of the event: the winner among abort, deny, ask, approve, respond
	// and modify. Its Changes are the final values of all changed arguments.
	Decision Decision
	// Ask is true if any handler asks for an approval, even if another handler responds.
	Ask bool
	// Lost is why the host refused the event and called no handler: a guard is not loaded. Nil
	// means that the handlers decided.
	Lost error
	// Hooks are the calls of the handlers in their order, with their decisions and effects. Turn is
	// the number of the turn, and Duration the time of the event. All are only for
	// [Options.Observe].
	Hooks    []HookTrace
	Turn     int
	Duration time.Duration
	// Answer is the answer to a question about a call, else nil. Decision is then approve or deny,
	// or ask while the turn waits. See [Options.Observe].
	Answer *Answer

	problems []string // why the tool cannot take the final arguments
}

// Combine sets the outcome's Decision and Ask from its Decisions, by the rules of plugin-api.md,
// section 3: an abort wins over a deny, a deny over all others, in any order; an ask wins over an
// approve; the first respond wins.
func (o *Outcome) Combine() {
	if len(o.Decisions) == 0 {
		return
	}
	rank := [...]Action{ActionAbort, ActionDeny, ActionAsk, ActionApprove, ActionRespond}
	best, last := len(rank), -1
	var changes map[string]any
	for i := range o.Decisions {
		d := &o.Decisions[i]
		if d.Action == ActionContext {
			continue // context stands beside all other decisions
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
	switch ending := o.ending(); {
	case best == len(rank) && changes != nil:
		o.Decision = o.Decisions[last]
	case best == len(rank) && ending != nil:
		o.Decision = *ending
	}
	o.Decision.Changes = changes
}

// ending returns the first decision that ends the session, or nil.
func (o *Outcome) ending() *Decision {
	for i := range o.Decisions {
		if o.Decisions[i].Action == actionEnd {
			return &o.Decisions[i]
		}
	}
	return nil
}

// Context returns the context of all decisions, in order.
func (o *Outcome) Context() []Context { return o.appendContext(nil) }

// appendContext appends the context of all decisions to list.
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
