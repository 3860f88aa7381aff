package decision

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
)

// The outcomes of replayed events.
const (
	isSame       = "same"          // the same, or with another reason or place only
	nowDenied    = "now denied"    // denied or aborted now
	nowPass      = "now pass"      // was denied or asked before
	askMore      = "ask more"      // now a person must approve
	nowDiffers   = "now differ"    // another action, change or result, which refuses neither more nor less
	otherContext = "other context" // the same decision with other fragments or attachments
	isUnclear    = "cannot tell"
)

// A comparison compares a replayed event with its record.
type comparison struct {
	outcome             string // one of the outcomes above
	plugin, pos, reason string // the decision that differs
	isReworded          bool   // the same decision, with another reason, plugin or place
	contextBytes        int    // bytes of context beyond those of the record
	hasOtherContext     bool
	unknown             string // why the record is not enough to compare; "" if it is
}

// compare compares the outcome of a replayed event with the record.
func compare(record *Record, out *host.Outcome) comparison {
	b := recordBuilder{Record: &Record{}, include: everything}
	is := b.decision("", &out.Decision)
	for _, c := range out.Context() {
		b.addContext(&Handler{}, &c)
	}
	was := &record.Decision
	c := comparison{outcome: isSame, plugin: is.Plugin, pos: is.Pos, reason: is.Reason}
	c.hasOtherContext = !slices.EqualFunc(record.Context, b.Context, func(a, b Context) bool { return a.ID == b.ID })
	c.contextBytes = sizeOf(b.Context) - sizeOf(record.Context)
	for _, part := range []string{"/decision", "/context"} {
		if slices.Contains(record.Cut, part) {
			c.unknown = "the record was too large for the log and lacks the " + part[1:]
		}
	}
	c.compareDecisions(record, &is)
	if c.outcome == isSame && c.hasOtherContext {
		c.outcome = otherContext
		c.plugin, c.pos, c.reason = otherPlugin(record.Context, b.Context), "", ""
	}
	if c.outcome == nowPass || c.outcome == nowDiffers && is.Plugin == "" {
		c.plugin, c.pos, c.reason = was.Plugin, was.Pos, was.Reason
	}
	c.isReworded = c.outcome == isSame && (was.Plugin != is.Plugin || was.Pos != is.Pos || was.Reason != is.Reason)
	return c
}

// everything has all parts that a record can contain by the operator's choice.
var everything = []string{IncludePrompt, IncludeResults, IncludeWrites}

// sizeOf returns the bytes of fragments and attachments.
func sizeOf(list []Context) (n int) {
	for i := range list {
		n += list[i].Bytes
	}
	return n
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

// severity returns 3 for an action that refuses, 2 for one that asks a person, and else 1.
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
	names := map[string]bool{}
	for _, changes := range []map[string]json.RawMessage{record.Decision.Changes, is.Changes} {
		for name := range changes {
			names[name] = true
		}
	}
	for name := range names {
		recorded, wasThere := record.Decision.Changes[name]
		value, isThere := is.Changes[name]
		if wasThere != isThere || !sameChange(recorded, value) {
			c.differ(record, "/decision/changes/"+name)
		}
	}
}

// sameChange reports whether the new value of an argument equals the recorded one. The recorded one can be a
// [Digest], or a [Result] with a digest.
func sameChange(recorded, value json.RawMessage) bool {
	if sameJSON(recorded, value) {
		return true
	}
	var digest Digest
	if json.Unmarshal(recorded, &digest) == nil && digest.SHA256 != "" {
		return digest == digestOfJSON(value)
	}
	var was, is Result
	if json.Unmarshal(recorded, &was) != nil || json.Unmarshal(value, &is) != nil {
		return false
	}
	return was.Digest != nil && sameResult(&was, &is)
}

// sameResult reports whether a result equals the recorded one.
func sameResult(was, is *Result) bool {
	if was == nil || is == nil {
		return was == is
	}
	hidden := *is
	if was.Digest != nil {
		digest := digestOf(is.ForLLM + "\x00" + is.ForUser)
		hidden.ForLLM, hidden.ForUser, hidden.Digest = "", "", &digest
	}
	return sameJSON(jsontext.EncodeOrNull(was), jsontext.EncodeOrNull(hidden))
}

// compareResults compares the results and the values of two decisions.
func (c *comparison) compareResults(record *Record, is *Decision) {
	if !sameResult(record.Decision.Result, is.Result) {
		c.differ(record, "/decision/result")
	}
	if !sameJSON(record.Decision.Value, is.Value) {
		c.differ(record, "/decision/value")
	}
}

// differ notes that the event differs in the value at a pointer. If the record has only a part of that value,
// the replay cannot tell.
func (c *comparison) differ(record *Record, pointer string) {
	c.outcome = nowDiffers
	for _, cut := range record.Cut {
		if cut == pointer || strings.HasPrefix(cut, pointer+"/") {
			c.unknown = "the record lacks a part of " + cut[1:]
		}
	}
}

// otherPlugin returns the plugin of the first fragment or attachment that is in one of the lists only.
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
