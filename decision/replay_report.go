package decision

import (
	"cmp"
	"fmt"
	"slices"
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

// groups collect the differences of a replay.
type groups struct {
	byKey  map[ReplayGroup]*ReplayGroup
	merged int // events without a reason in the report, because there are too many reasons
}

func newGroups() groups { return groups{byKey: map[ReplayGroup]*ReplayGroup{}} }

// add adds an event that differs, or that the replay cannot tell. example returns the example of a new
// group.
func (g *groups) add(c *comparison, example func(*ReplayGroup) string) {
	key := ReplayGroup{Outcome: c.outcome, Plugin: c.plugin, Pos: c.pos, Reason: errtext.CutTo(c.reason, maxReason, "…")}
	if g.byKey[key] == nil && len(g.byKey) >= maxGroups {
		key.Reason = ""
		g.merged++
	}
	if g.byKey[key] == nil && len(g.byKey) >= 2*maxGroups {
		key = ReplayGroup{Outcome: c.outcome}
	}
	group := g.byKey[key]
	if group == nil {
		group = &ReplayGroup{Outcome: key.Outcome, Plugin: key.Plugin, Pos: key.Pos, Reason: key.Reason}
		group.Example = example(group)
		g.byKey[key] = group
	}
	group.Count++
}

// sorted returns the groups: differences first, the most frequent ones first.
func (g *groups) sorted() []ReplayGroup {
	list := []ReplayGroup{}
	for _, group := range g.byKey {
		list = append(list, *group)
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
		)
	})
	return list
}
