package hook

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// owns reports whether an event has a name and members as the agent sends them.
func (a *Agent) owns(all object) bool {
	_, known := a.kindOf(a.nameOf(all))
	return known && !slices.ContainsFunc(a.ForeignFields, func(name string) bool { return all[name] != nil })
}

// senders are the agents with forms of events of their own, each with a member of all its events.
// The first one that owns an event has sent it. isAlone is true if no other agent has the member:
// then the name is enough.
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

// sender returns the agent that sent an event. Agents read the hooks of others, and users copy
// their command lines, but each reads only its own form of an answer, and runs a call that another
// form denies.
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

// nearName returns the name of one of the agent's events that is equal to a name, or differs from
// it in letter case, blanks and marks alone, "" for none.
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

// Check returns why the event is refused before any guard is asked, nil if it is not. strict
// (--fail-closed) refuses all that [Event.CheckForm] does. Otherwise an unknown name is refused if
// it is that of an event in another spelling, or if the agent's row has all names of its version;
// isOpen (--fail-closed=false) lets the latter pass.
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

// A memberForm is a member that all events of a kind have.
type memberForm struct {
	kind   kind
	names  string // its names, with spaces between them; an event has one of them
	starts string // the possible first bytes of its value: '"' for a string, '{' for an object, 'n' for null
}

// CheckForm returns an error if the event is not one that the agent documents: its name is unknown,
// it lacks a member, or it has a member that only another agent's events have. See [Event.Check].
func (e *Event) CheckForm() error {
	if !e.IsDocumented() {
		return fmt.Errorf("%s: unknown event %s", e.agent.Name, quoteShort(e.name))
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
