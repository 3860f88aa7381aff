package hook

import (
	"testing"

	"github.com/starhost/starhost/agents"
)

// TestListed checks that Agents has the adapter of each agent that agents/ marks as served.
func TestListed(t *testing.T) {
	for _, a := range agents.All {
		if a.Served != (AgentOf(a.Name) != nil) {
			t.Errorf("%s: served is %v, and Agents in hook.go has an adapter: %v", a.Name, a.Served, !a.Served)
		}
	}
}

// TestServedEvents checks that each event that agents/ marks as served has a kind. Without one,
// starhost would let the event pass and ask no guard.
func TestServedEvents(t *testing.T) {
	for _, a := range Agents {
		if a.Lines {
			continue // picoclaw reads its methods from picoMethods
		}
		for _, e := range a.Events {
			if k, _ := a.kindOf(e.Name); e.Served != (k != kindNone) {
				t.Errorf("%s: %s: got kind %d, served %v", a.Name, e.Name, k, e.Served)
			}
		}
		if k, _ := a.kindOf(a.toolEvent); k != kindTool {
			t.Errorf("%s: %s is not the event before a tool call", a.Name, a.toolEvent)
		}
	}
	for _, e := range picoclaw.Events {
		if e.Served != (picoMethods[e.Name] != nil) {
			t.Errorf("picoclaw: %s: served %v, but its method says otherwise", e.Name, e.Served)
		}
	}
}
