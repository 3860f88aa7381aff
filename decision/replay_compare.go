package decision

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/starhost/starhost"
)

// The outcomes of replayed events.
const (
	isSame       = "same"          // also with another reason or place
	nowDenied    = "now denied"    // or aborted
	nowPass      = "now pass"      // denied or asked before
	askMore      = "ask more"      // a person must approve now
	nowDiffers   = "now differ"    // another action, change or result, which refuses as before
	otherContext = "other context" // the same decision with other fragments or attachments
	isUnclear    = "cannot tell"
)

// A comparison compares a replayed event with its record.
type comparison struct {
	outcome             string // one of the above
	plugin, pos, reason string // the decision that makes the difference
	isReworded          bool   // the same decision has another reason, plugin or place
	contextBytes        int    // bytes of context more than the record's
	hasOtherContext     bool
	unknown             string // why the record is not enough to compare
}

// compare compares an outcome with the recorded one.
func compare(record *Record, out *starhost.Outcome) comparison {
	was, is := &record.Decision, newDecision(&out.Decision)
	c := comparison{outcome: isSame, plugin: is.Plugin, pos: is.Pos, reason: is.Reason}
	context := newContexts(out.Context())
	c.hasOtherContext = !slices.EqualFunc(record.Context, context, func(a, b Context) bool { return a.ID == b.ID })
	for _, list := range [][]Context{context, record.Context} {
		c.contextBytes = -c.contextBytes
		for i := range list {
			c.contextBytes -= list[i].Bytes
		}
	}
	c.compareDecisions(record, &is)
	if c.outcome == isSame && c.hasOtherContext {
		c.outcome = otherContext
		c.plugin, c.pos, c.reason = otherPlugin(record.Context, context), "", ""
	}
	if c.outcome == nowPass || c.outcome == nowDiffers && is.Plugin == "" {
		c.plugin, c.pos, c.reason = was.Plugin, was.Pos, was.Reason
	}
	c.isReworded = c.outcome == isSame && (was.Plugin != is.Plugin || was.Pos != is.Pos || was.Reason != is.Reason)
	return c
}

// compareDecisions compares a decision with the recorded one. A denial equals an abort.
func (c *comparison) compareDecisions(record *Record, is *Decision) {
	was := &record.Decision
	before, after := severity(was.Action), severity(is.Action)
	switch {
	case before != after:
		c.outcome = map[int]string{1: nowPass, 2: askMore, 3: nowDenied}[after]
	case before == 3:
	case was.Action != is.Action:
		c.outcome = nowDiffers
	default:
		if len(was.Changes) > 0 || len(is.Changes) > 0 {
			c.compareChanges(record, is)
		}
		c.compareResults(record, is)
	}
}

// severity returns 3 for an action that refuses, 2 for one that asks a person, else 1.
func severity(action string) int {
	switch starhost.Action(action) {
	case starhost.ActionDeny, starhost.ActionAbort:
		return 3
	case starhost.ActionAsk:
		return 2
	}
	return 1
}

// compareChanges compares the changes of two decisions.
func (c *comparison) compareChanges(record *Record, is *Decision) {
	was := &record.Decision
	names := map[string]json.RawMessage{}
	maps.Copy(names, was.Changes)
	maps.Copy(names, is.Changes)
	for name := range names {
		recorded, wasThere := was.Changes[name]
		value, isThere := is.Changes[name]
		if wasThere != isThere || !sameJSON(recorded, value) {
			c.differ(record, "/decision/changes/"+name)
		}
	}
}

// compareResults compares the results and the values of two decisions.
func (c *comparison) compareResults(record *Record, is *Decision) {
	was := &record.Decision
	switch {
	case (was.Result == nil) != (is.Result == nil):
		c.outcome = nowDiffers
	case was.Result != nil && !sameJSON(encodeJSON(was.Result), encodeJSON(is.Result)):
		c.differ(record, "/decision/result")
	}
	if !sameJSON(was.Value, is.Value) {
		c.differ(record, "/decision/value")
	}
}

// differ makes the outcome a difference, unless the record lacks a part of the recorded value.
func (c *comparison) differ(record *Record, pointer string) {
	for _, list := range [][]string{record.Omitted, record.Cut} {
		for _, lacking := range list {
			isPart := lacking == pointer || strings.HasPrefix(lacking, pointer+"/")
			if c.outcome = nowDiffers; isPart {
				c.unknown = "the record lacks " + lacking[1:] + ", so that it cannot be compared"
			}
		}
	}
	c.outcome = nowDiffers
}

// otherPlugin returns the plugin of the first fragment or attachment that only one list has.
func otherPlugin(was, is []Context) string {
	for i := range max(len(was), len(is)) {
		switch {
		case i >= len(was):
			return is[i].Plugin
		case i >= len(is) || was[i].ID != is[i].ID:
			return was[i].Plugin
		}
	}
	return ""
}
