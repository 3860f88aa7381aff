package decision

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/starhost/starhost/internal/errtext"
)

// A ReplayReport says how the replayed events compare with their records.
type ReplayReport struct {
	Events   int `json:"events"` // the number of events in the report
	Sessions int `json:"sessions"`
	Others   int `json:"others"` // the number of events that [ReplayOptions.Only] leaves out
	// Same counts the events with the same decision and no masked value, and SameMasked those with a masked
	// value. Reworded counts the events of both whose decision has another reason, plugin or place.
	Same       int `json:"same"`
	SameMasked int `json:"same_masked"`
	Reworded   int `json:"reworded"`
	NowDenied  int `json:"now_denied"`
	NowPass    int `json:"now_pass"`
	AskMore    int `json:"ask_more"`
	Differ     int `json:"now_differ"`
	CannotTell int `json:"cannot_tell"`
	// OtherContext counts the events that differ in their context only. ContextEvents counts all events with
	// other context, and ContextBytes how many bytes of context they have beyond their records.
	OtherContext  int `json:"other_context"`
	ContextEvents int `json:"context_events"`
	ContextBytes  int `json:"context_bytes"`

	// Groups are first the differences, the most frequent first, and then the reasons why the replay cannot
	// tell. MoreReasons counts the events in groups without a reason, because a report has a bounded number
	// of reasons.
	Groups      []ReplayGroup `json:"groups"`
	MoreReasons int           `json:"more_reasons"`
}

// A ReplayGroup sums up the events with the same outcome, plugin, place and reason.
type ReplayGroup struct {
	Outcome string `json:"outcome"` // such as "now denied" or "cannot tell"
	Plugin  string `json:"plugin"`
	Pos     string `json:"pos"` // "file:line:col" of the decision; if the event now passes, of the recorded one
	Reason  string `json:"reason"`
	Count   int    `json:"count"`
	Example string `json:"example"` // id of a record, or its place in a transcript
	Allowed bool   `json:"allowed"`
	// Merged is true for the events of several reasons or places, which the group does not name because there
	// are too many.
	Merged bool `json:"merged,omitempty"`
}

// Title returns the outcome and the plugin: "now denied by freeze".
func (g *ReplayGroup) Title() string {
	switch {
	case g.Plugin == "":
		return string(g.Outcome)
	case g.Outcome == nowPass:
		return "now pass " + g.Plugin
	case g.Outcome == otherContext:
		return "other context of " + g.Plugin
	}
	return string(g.Outcome) + " by " + g.Plugin
}

// ShowExample returns how a person sees the example.
func (g *ReplayGroup) ShowExample() string {
	if isID(g.Example) {
		return "starhost log show " + g.Example
	}
	return g.Example
}

// Text returns the title with the reason: "now denied by freeze: no writes".
func (g *ReplayGroup) Text() string { return strings.TrimSuffix(g.Title()+": "+g.Reason, ": ") }

// Changed returns the number of events that differ, except those that are allowed.
func (r *ReplayReport) Changed() (n int) {
	for i := range r.Groups {
		if g := &r.Groups[i]; g.Outcome != isUnclear && !g.Allowed {
			n += g.Count
		}
	}
	return n
}

// Unclear reports whether the replay cannot tell what the plugins decide about the events.
func (g *ReplayGroup) Unclear() bool { return g.Outcome == isUnclear }

// Allow marks the groups whose text begins with text, up to the end of a word, as allowed. It returns the
// number of their events.
func (r *ReplayReport) Allow(text string) (n int) {
	for i := range r.Groups {
		g := &r.Groups[i]
		rest, ok := strings.CutPrefix(g.Text(), text)
		if ok && g.Outcome != isUnclear && (rest == "" || rest[0] == ':' || rest[0] == ' ') {
			g.Allowed = true
			n += g.Count
		}
	}
	return n
}

// Summary returns the counts in one line.
func (r *ReplayReport) Summary() string {
	text := fmt.Sprintf("%s of %s: %s same", countOf(r.Events, "event"), countOf(r.Sessions, "session"), thousands(r.Same))
	for _, c := range []struct {
		n    int
		what string
	}{
		{r.SameMasked, "same, masked"}, {r.NowDenied, "now denied"}, {r.NowPass, "now pass"}, {r.AskMore, "ask more"},
		{r.Differ, "differ"}, {r.CannotTell, "cannot tell"},
	} {
		if c.n > 0 || c.what == "cannot tell" {
			text += fmt.Sprintf(", %s %s", thousands(c.n), c.what)
		}
	}
	if r.ContextEvents > 0 {
		text += fmt.Sprintf("; context: %s in %s", signedSize(r.ContextBytes), countOf(r.ContextEvents, "prompt"))
	}
	return text
}

// countOf returns a number with its noun, in the singular or the plural.
func countOf(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return thousands(n) + " " + noun
}

// thousands returns a number with commas between its thousands.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// signedSize returns a difference of sizes with its sign: "+18 KB".
func signedSize(n int) string {
	switch abs := max(n, -n); {
	case abs >= 10_000_000:
		return fmt.Sprintf("%+d MB", n/1_000_000)
	case abs >= 10_000:
		return fmt.Sprintf("%+d KB", n/1000)
	}
	return fmt.Sprintf("%+d B", n)
}

// add counts a replayed event.
func (r *ReplayReport) add(record *Record, c *comparison) {
	switch c.outcome {
	case nowDenied:
		r.NowDenied++
	case nowPass:
		r.NowPass++
	case askMore:
		r.AskMore++
	case nowDiffers:
		r.Differ++
	case otherContext:
		r.OtherContext++
	case isUnclear:
		r.CannotTell++
	case isSame:
		if len(record.Masked) > 0 {
			r.SameMasked++
		} else {
			r.Same++
		}
	}
	if c.isReworded {
		r.Reworded++
	}
	if c.hasOtherContext && c.outcome != isUnclear {
		r.ContextEvents++
		r.ContextBytes += c.contextBytes
	}
}

// Bounds of the groups of a report.
const (
	maxGroups = 1000
	maxReason = 200 // the most bytes of a group's reason
)

// MergeReplays returns the report of the events of all parts. If no session is in two parts, it is the report of
// one replay of all events.
func MergeReplays(parts []*ReplayReport) *ReplayReport {
	out, all := new(ReplayReport), newGroups()
	sums := reflect.ValueOf(out).Elem()
	for _, part := range parts {
		for i := range sums.NumField() {
			if sum := sums.Field(i); sum.CanInt() {
				sum.SetInt(sum.Int() + reflect.ValueOf(part).Elem().Field(i).Int())
			}
		}
		for _, g := range part.Groups {
			all.add(g, nil)
		}
	}
	out.Groups, out.MoreReasons = all.sorted()
	return out
}

// groups collect the differences of a replay. Which of them keep their reason depends on the events only and not
// on their order, so that the reports of parts merge to the report of the whole: it is those with the shortest
// reasons, because a reason with the id or the address of one call is longer than one that returns.
type groups struct {
	whole, places, outcomes tier // groups with a reason; of a place without; of an outcome without a place
}

// A tier has the groups of one kind by what they have in common, up to twice as many as remain.
type tier struct {
	byKey map[ReplayGroup]*ReplayGroup
	last  *ReplayGroup // the key of the last group that may remain; nil until there are too many
}

func newGroups() groups {
	empty := func() tier { return tier{byKey: map[ReplayGroup]*ReplayGroup{}} }
	return groups{empty(), empty(), empty()}
}

// key returns what all events of a group have in common.
func (g *ReplayGroup) key() ReplayGroup {
	return ReplayGroup{Outcome: g.Outcome, Plugin: g.Plugin, Pos: g.Pos, Reason: g.Reason, Merged: g.Merged}
}

// compareKeys says which of two groups rather remains: the one with the shorter reason, or the shorter place.
func compareKeys(a, b ReplayGroup) int {
	return cmp.Or(
		cmp.Compare(len(a.Reason), len(b.Reason)), cmp.Compare(len(a.Plugin+a.Pos), len(b.Plugin+b.Pos)),
		strings.Compare(a.Outcome, b.Outcome), strings.Compare(a.Plugin, b.Plugin), strings.Compare(a.Pos, b.Pos),
		strings.Compare(a.Reason, b.Reason),
	)
}

// isPast reports whether a group does not remain.
func (t *tier) isPast(key ReplayGroup) bool { return t.last != nil && compareKeys(key, *t.last) > 0 }

// add adds the events of a group. example returns the example of a new group; nil means that of one. Of two
// records, the earlier one is the example.
func (g *groups) add(one ReplayGroup, example func(*ReplayGroup) string) {
	one.Reason = errtext.CutTo(one.Reason, maxReason, "…")
	t := &g.whole
	if one.Merged || t.isPast(one.key()) {
		t, one.Merged, one.Reason = &g.places, true, ""
		if one.Plugin+one.Pos == "" || t.isPast(one.key()) {
			t, one.Plugin, one.Pos = &g.outcomes, "", ""
		}
	}
	key := one.key()
	group := t.byKey[key]
	if group == nil {
		group = &key
		if group.Example = one.Example; example != nil {
			group.Example = example(group)
		}
		t.byKey[one.key()] = group
	}
	group.Count += one.Count
	group.Allowed = group.Allowed || one.Allowed
	if one.Example < group.Example && isID(one.Example) && isID(group.Example) {
		group.Example = one.Example
	}
	if len(t.byKey) >= 2*maxGroups {
		g.cut(t)
	}
}

// cut merges the groups of a tier that do not remain.
func (g *groups) cut(t *tier) {
	keys := slices.SortedFunc(maps.Keys(t.byKey), compareKeys)
	if len(keys) <= maxGroups {
		return
	}
	t.last = &keys[maxGroups-1]
	var past []ReplayGroup
	for _, key := range keys[maxGroups:] {
		past = append(past, *t.byKey[key])
		delete(t.byKey, key)
	}
	for _, group := range past {
		g.add(group, nil)
	}
}

// sorted returns the groups, differences first and the most frequent ones first, and the number of events in
// merged ones.
func (g *groups) sorted() (list []ReplayGroup, merged int) {
	g.cut(&g.whole)
	g.cut(&g.places)
	list = []ReplayGroup{}
	for _, t := range []tier{g.whole, g.places, g.outcomes} {
		for _, group := range t.byKey {
			list = append(list, *group)
			if group.Merged {
				merged += group.Count
			}
		}
	}
	rank := func(g ReplayGroup) int {
		if g.Outcome == isUnclear {
			return 1
		}
		return 0
	}
	slices.SortFunc(list, func(a, b ReplayGroup) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Outcome, b.Outcome),
			cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Pos, b.Pos), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(strconv.FormatBool(a.Merged), strconv.FormatBool(b.Merged)),
		)
	})
	return list, merged
}
