package hook

import (
	"encoding/json"
	"maps"
	"strings"
)

// nestedSettings are the settings of agents whose hooks have the form of Claude Code's: events with
// lists of groups, each with a list of commands.
type nestedSettings struct {
	guards, others        string         // events, with spaces between them; guards can refuse something
	matcher               string         // each group has it, unless it is ""
	failMember            string         // the member of a guard's command whose value "block" blocks if the command fails
	inMillis              bool           // the timeout is in milliseconds
	isFlat                bool           // events have lists of commands
	managed, managedHooks map[string]any // more settings, and members of hooks, without which others switch managed hooks off
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

// dropsMember reports whether the second of two objects lacks a member of the first.
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
