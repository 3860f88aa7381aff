package hook

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"
)

// nestedSettings are the settings of agents that have a list of commands, or of groups of commands, for each
// event.
type nestedSettings struct {
	// guards and others are names of events, with spaces between them; guards can refuse the first ones. "EVENT:X"
	// has X as its matcher in place of matcher.
	guards, others string
	matcher        string // "" for none
	// command returns the agent's form of the command. Nil means that of Claude Code.
	command               func(s Settings) map[string]any
	failMember            string         // the member that blocks if a guard's command fails
	failValue             any            // its value; nil means "block"
	inMillis              bool           // true if the timeout is in milliseconds
	isFlat                bool           // true if events have lists of commands, without groups
	version               int            // of the form; 0 for none
	managed, managedHooks map[string]any // without these, others switch managed hooks off
}

// format returns the settings as JSON.
func (n nestedSettings) format(s Settings) string {
	run := s.entry(n.inMillis)
	if n.command != nil {
		run = n.command(s)
	}
	guard := maps.Clone(run)
	if n.failMember != "" && !s.FailOpen {
		guard[n.failMember] = cmp.Or(n.failValue, any("block"))
	}
	hooks := map[string]any{}
	add := func(events string, command map[string]any) {
		for event := range strings.FieldsSeq(events) {
			event, matcher, isOwn := strings.Cut(event, ":")
			if !isOwn {
				matcher = n.matcher
			}
			group := map[string]any{"hooks": []any{command}}
			if n.isFlat {
				group = maps.Clone(command)
			}
			if matcher != "" {
				group["matcher"] = matcher
			}
			hooks[event] = []any{group}
		}
	}
	add(n.guards, guard)
	add(n.others, run)
	all := map[string]any{}
	if n.version > 0 {
		all["version"] = n.version
	}
	if s.Managed {
		maps.Copy(all, n.managed)
		maps.Copy(hooks, n.managedHooks)
	}
	all["hooks"] = hooks
	return formatSettings(all)
}

// dropsMember reports whether after lacks a member that before has.
func dropsMember(before, after json.RawMessage) bool {
	var b, a object
	if json.Unmarshal(before, &b) != nil || json.Unmarshal(after, &a) != nil {
		return true
	}
	for name := range b {
		if a[name] == nil {
			return true
		}
	}
	return false
}
