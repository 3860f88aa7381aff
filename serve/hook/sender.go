package hook

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/starhost/starhost/internal/errtext"
)

// owns reports whether an event has a name and members that the agent sends.
func (a *Agent) owns(all object) bool {
	_, known := a.kindOf(a.nameOf(all))
	return known && !slices.ContainsFunc(a.ForeignFields, func(name string) bool { return all[name] != nil })
}

// senders are the agents that send events in a form of their own, each with a member that all its events
// have. The first agent that owns an event has sent it. isAlone is true if no other agent has the member, so
// that the member's name is enough.
var senders = []struct {
	member  string
	agent   *Agent
	isAlone bool
}{
	{"turn_id", codex, true}, {"hookEventName", vscode, false}, {"conversation_id", cursor, true}, {"sessionId", copilot, false},
	{"agent_action_name", windsurf, true}, {"hookName", cline, true}, {"event_type", openhands, true}, {"event", goose, false},
	{"extra", hermes, false}, {"session_id", claudeCode, false}, {"hook_event_name", gemini, false},
	{"hook_event_name", hermes, false}, {"hook_event_name", kiro, false},
}

// sender returns the agent that sent an event. Agents read the hooks of other agents, and users copy command
// lines, but each agent reads only its own form of an answer, and would run a call that another form denies.
func (a *Agent) sender(all object) *Agent {
	if a.owns(all) {
		return a
	}
	for _, s := range senders {
		_, knows := s.agent.kindOf(s.agent.nameOf(all))
		if all[s.member] != nil && (s.agent.owns(all) || s.isAlone && knows) {
			return s.agent
		}
	}
	return a
}

// nearName returns the name of the agent's event that is equal to a name, or differs from it only in letter
// case, blanks and marks. It returns "" if there is none.
func (a *Agent) nearName(name string) string {
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if !unicode.IsLetter(r) {
				return -1
			}
			return unicode.ToLower(r)
		}, s)
	}
	if _, ok := a.kindOf(name); ok {
		return name
	}
	near := ""
	for _, e := range a.Events {
		if letters(e.Name) == letters(name) && (near == "" || e.Served) {
			near = e.Name
		}
	}
	return near
}

// Check returns why starhost refuses the event before it asks any guard, or nil. If strict is true
// (--fail-closed), it refuses everything that [Event.CheckForm] refuses. Otherwise it refuses an unknown name
// in two cases: if it is the name of an event in another spelling, or if the agent's row has all names of the
// agent's version. isOpen (--fail-closed=false) lets an event of the second case pass.
func (e *Event) Check(strict, isOpen bool) error {
	why := e.CheckForm()
	switch near := e.agent.nearName(e.name); {
	case why == nil, strict:
	case e.IsDocumented():
		return nil
	case near != "":
		return fmt.Errorf("%w (did you mean %s?)", why, near)
	case !e.agent.AllEvents || isOpen:
		return nil
	default:
		return fmt.Errorf("%w; --fail-closed=false lets it pass", why)
	}
	if why != nil {
		why = fmt.Errorf("%w; --fail-closed refuses it", why)
	}
	return why
}

// A memberForm describes a member that all events of a kind have.
type memberForm struct {
	kind   kind
	names  string // the names of the member, with spaces between them; an event has one of them
	starts string // the first bytes that its value may have: '"' for a string, '{' for an object, 'n' for null
}

// CheckForm returns an error if the agent's documentation does not show such an event: the event's name is
// unknown, the event lacks a member, or it has a member that only another agent's events have. See
// [Event.Check].
func (e *Event) CheckForm() error {
	if !e.IsDocumented() {
		return fmt.Errorf("%s: unknown event %q", e.agent.Name, errtext.Clip(e.name))
	}
	for _, name := range e.agent.ForeignFields {
		if e.raw[name] != nil {
			return fmt.Errorf("%s: unknown form of %s: %s does not send %s", e.agent.Name, e.name, e.agent.Title, name)
		}
	}
	for _, m := range e.agent.members {
		if m.kind != e.kind {
			continue
		}
		names := strings.Fields(m.names)
		i := slices.IndexFunc(names, func(name string) bool { return e.raw[name] != nil })
		switch {
		case i < 0:
			return fmt.Errorf("%s: unknown form of %s: it has no %s", e.agent.Name, e.name, names[0])
		case !strings.Contains(m.starts, string(e.raw[names[i]][:1])):
			return fmt.Errorf("%s: unknown form of %s: %s has another type", e.agent.Name, e.name, names[i])
		}
	}
	return nil
}
