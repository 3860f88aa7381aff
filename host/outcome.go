// What the handlers of one event decided together, and the errors and traces of their calls.

package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
)

// actionNames lists actions for a message, such as "deny, ask or abort".
func actionNames(actions []starhost.Action) string {
	names := make([]string, len(actions))
	for i, a := range actions {
		names[i] = string(a)
		switch a {
		case starhost.ActionContext:
			names[i] = "context (a string, fragments, attachments)"
		case starhost.ActionValue:
			names[i] = "a JSON value"
		}
	}
	return errtext.Or(names)
}

// soften turns a decision into a decision without effect, which says what the plugin would do.
func soften(d *starhost.Decision) {
	*d = starhost.Decision{Action: "would " + d.Action, Reason: d.Detail(), Pos: d.Pos}
}

// An AbortError says which handler ended the turn, and why.
type AbortError struct {
	Reason string
	Plugin string
	Pos    starhost.Pos
	Lost   error // see [Outcome.Lost]
}

func (e *AbortError) Error() string {
	return fmt.Sprintf("%s: turn aborted by %s: %s", e.Pos, e.Plugin, e.Reason)
}

// A HandlerError says which plugin's handler failed, and why.
type HandlerError struct {
	Plugin string
	What   string       // "hook pre_llm_call", "tool page", "loader runbook"
	Pos    starhost.Pos // place of the registration
	Err    error
}

func (e *HandlerError) Error() string { return e.Err.Error() }

func (e *HandlerError) Unwrap() error { return e.Err }

// Traceback returns the lines of the failure's traceback, or "" if the error has none. Errors of the
// evaluator have one, which their method Detail returns.
func (e *HandlerError) Traceback() string {
	var detailed interface{ Detail() string }
	if errors.As(e.Err, &detailed) {
		return detailed.Detail()
	}
	return ""
}

// advice returns in brackets what the plugin's author can write instead, or "". A person who sees only the
// denial learns it from there. Errors of the evaluator have such advice, which their method Advice returns.
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
	Pos    starhost.Pos    // place of the call
}

// A HookTrace says how one handler answered one event.
type HookTrace struct {
	Event    string
	Plugin   string
	Pos      starhost.Pos
	Priority int
	Action   starhost.Action // the decision; ActionError if the handler failed
	Detail   string          // the reason, the size or the error
	Again    bool            // called again with the final arguments, so only a refusal counts
	Steps    uint64
	Bytes    uint64         // allocated by guarded operations
	Changes  map[string]any // the changes of a modify
	// Decision is the handler's decision, or nil. Effects are the lines of the journal for the effects of the
	// call, and of the handlers that it called. Logs are the lines that all of these handlers logged. The
	// three fields are set for [Options.Observe] only.
	Decision *starhost.Decision
	Effects  []json.RawMessage
	Logs     []LogLine
}

// An Answer is the answer to an [ApprovalRequest]. An Approver sets Yes and By. The host sets the other
// fields, for [Options.Observe].
type Answer struct {
	Yes bool
	// By says who answered: one of [Answerers], or a word that the program chose. Empty means "program".
	By string
	// Asks say why somebody must approve. Pos is zero for a tool that always asks, and for the question of a
	// command.
	Asks []starhost.Decision
	// Asked and Answered are the times of the question and of the answer. Answered is zero while the turn
	// waits. If a turn waited, the stored answer is older than the record.
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
	Decisions []starhost.Decision
	// Decision is the decision of the event: the strongest one among abort, deny, ask, approve, respond and
	// modify. Its Changes are the final values of all changed arguments.
	Decision starhost.Decision
	// Ask is true if any handler asks for an approval, even if another handler responds.
	Ask bool
	// Lost says why the host refused the event and called no handler: a guard is not loaded. Nil means that
	// the handlers decided.
	Lost error
	// Hooks are the calls of the handlers in their order, with their decisions and effects. Turn is the
	// number of the turn, and Duration the time that the event took. The three fields are set for
	// [Options.Observe] only.
	Hooks    []HookTrace
	Turn     int
	Duration time.Duration
	// Answer is the answer to a question about a call, in an outcome about such an answer; else it is nil.
	// Decision is then approve or deny, or ask while the turn waits. See [Options.Observe].
	Answer *Answer

	problems []string // why the tool cannot take the final arguments
}

// Combine sets Decision and Ask from Decisions. An abort wins over a deny, and a deny over all others, in any
// order. An ask wins over an approve. The first respond wins.
func (o *Outcome) Combine() {
	if len(o.Decisions) == 0 {
		return
	}
	rank := [...]starhost.Action{starhost.ActionAbort, starhost.ActionDeny, starhost.ActionAsk, starhost.ActionApprove, starhost.ActionRespond}
	best, last := len(rank), -1
	var changes map[string]any
	for i := range o.Decisions {
		d := &o.Decisions[i]
		if d.Action == starhost.ActionContext {
			continue // context does not compete with other decisions
		}
		if r := slices.Index(rank[:], d.Action); r >= 0 && r < best {
			best, o.Decision = r, *d
		}
		o.Ask = o.Ask || d.Action == starhost.ActionAsk
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
func (o *Outcome) ending() *starhost.Decision {
	for i := range o.Decisions {
		if o.Decisions[i].Action == starhost.ActionEnd {
			return &o.Decisions[i]
		}
	}
	return nil
}

// Context returns the context of all decisions, in order.
func (o *Outcome) Context() []starhost.Context { return o.appendContext(nil) }

// appendContext appends the context of all decisions to list.
func (o *Outcome) appendContext(list []starhost.Context) []starhost.Context {
	for i := range o.Decisions {
		if c := o.Decisions[i].Context; !c.IsEmpty() {
			list = append(list, c)
		}
	}
	return list
}

// firstRespond returns the first respond decision, or nil.
func (o *Outcome) firstRespond() *starhost.Decision {
	for i := range o.Decisions {
		if o.Decisions[i].Action == starhost.ActionRespond {
			return &o.Decisions[i]
		}
	}
	return nil
}
