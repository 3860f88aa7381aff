package ui

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/starhost/starhost/decision"
)

// maxCosts is the most places of handlers in memory.
const maxCosts = 10_000

// A costKey is what handlers said at one place, in one kind of event.
type costKey struct{ plugin, event, pos, action string }

// A cost sums up the calls of handlers that ended at one place, in the records of the log.
type cost struct {
	Event  string `json:"event"`
	Pos    string `json:"pos"`
	Action string `json:"action"`
	Calls  uint64 `json:"calls"`
	Steps  uint64 `json:"steps"` // the sum
	Most   uint64 `json:"most"`  // steps in one call
	Failed uint64 `json:"failed"`
}

// addCosts adds the handlers of a record. The caller holds the lock.
func (x *index) addCosts(r *decision.Record) {
	for i := range r.Handlers {
		h := &r.Handlers[i]
		key := costKey{h.Plugin, cmp.Or(h.Event, r.Event), h.Pos, h.Action}
		if len(key.plugin)+len(key.event)+len(key.pos)+len(key.action) > 4*maxReason {
			continue // no handler that starhost loaded
		}
		c := x.costs[key]
		if c == nil {
			if len(x.costs) >= maxCosts {
				continue
			}
			key.plugin, key.event = strings.Clone(key.plugin), strings.Clone(key.event)
			key.pos, key.action = strings.Clone(key.pos), strings.Clone(key.action)
			c = &cost{Event: key.event, Pos: key.pos, Action: key.action}
			x.costs[key] = c
		}
		c.Calls++
		c.Steps += h.Steps
		c.Most = max(c.Most, h.Steps)
		if h.Error != "" {
			c.Failed++
		}
	}
}

// costsOf returns the costs of a plugin, the largest sum first.
func (x *index) costsOf(plugin string) []cost {
	x.mu.Lock()
	list := []cost{}
	for key, c := range x.costs {
		if key.plugin == plugin {
			list = append(list, *c)
		}
	}
	x.mu.Unlock()
	slices.SortFunc(list, func(a, b cost) int {
		return cmp.Or(cmp.Compare(b.Steps, a.Steps), cmp.Compare(a.Pos, b.Pos),
			cmp.Compare(a.Event, b.Event), cmp.Compare(a.Action, b.Action))
	})
	return list[:min(len(list), maxShown)]
}

// answerCosts answers with the costs of a plugin's handlers in the log.
func (s *Server) answerCosts(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"costs": s.log.costsOf(r.URL.Query().Get("plugin"))})
}
