package hook

import (
	"encoding/json"
	"maps"
	"strings"
)

// nestedSettings are the settings of agents whose hooks have the form of Claude Code's: events with
// lists of groups, each with a list of commands.
type nestedSettings struct {
	guards, others        string         // names of events, with spaces between them; guards can refuse the first ones
	matcher               string         // what each group has as its matcher; "" for none
	failMember            string         // "block" in this member blocks if a guard's command fails
	inMillis              bool           // true if the timeout is in milliseconds
	isFlat                bool           // true if events have lists of commands, without groups
	managed, managedHooks map[string]any // without these, others switch managed hooks off
}

// format returns the settings as JSON.
func (n nestedSettings) format(s Settings) string {
	run := s.entry(n.inMillis)
	guard := maps.Clone(run)
	if n.failMember != "" && !s.FailOpen {
		guard[n.failMember] = "block"
	}
	hooks := map[string]any{}
	add := func(events string, command map[string]any) {
		for event := range strings.FieldsSeq(events) {
			group := map[string]any{"hooks": []any{command}}
			if n.matcher != "" {
				group["matcher"] = n.matcher
			}
			hooks[event] = []any{group}
			if n.isFlat {
				hooks[event] = []any{command}
			}
		}
	}
	add(n.guards, guard)
	add(n.others, run)
	all := map[string]any{}
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
