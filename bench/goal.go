package main

import (
	"fmt"
	"strings"
	"time"
)

// A goal is a group of rows of the table, measured together.
type goal struct {
	id  string
	run func(*rig)
}

// goals are all that can be measured, in the order of the table.
var goals = []goal{
	{"P1", hookAgainstPeers},
	{"P1b", unreadMessages},
	{"P2", guardedCall},
	{"P2b", residentServer},
	{"P2c", emptyStart},
	{"P3", manyPlugins},
	{"P4", wholePrompts},
	{"P5", mergeFragments},
	{"P6", storedFragments},
	{"P6b", loggedCall},
	{"P7", replayedRecords},
	{"P8", shellTexts},
	{"P9", goldenCases},
	{"P10", proxiedRequests},
	{"P11", growths},
	{"P12", largestMemory},
}

func goalOf(id string) (goal, error) {
	var ids []string
	for _, g := range goals {
		if strings.EqualFold(g.id, id) {
			return g, nil
		}
		ids = append(ids, g.id)
	}
	return goal{}, fmt.Errorf("-only: got %s, want one of %s", id, strings.Join(ids, ", "))
}

// A claim is a measurement with the figure that meets its goal.
type claim struct {
	goal string // as "P1b"
	what string // ours, and its base
	want limit
}

// A limit is the greatest or the least figure that meets a goal.
type limit struct {
	sign  string // "≤" or "≥"; "" for a figure that no goal limits
	bound float64
	unit  string // the unit of a figure that is no ratio
}

func atMost(bound float64) limit  { return limit{sign: "≤", bound: bound} }
func atLeast(bound float64) limit { return limit{sign: "≥", bound: bound} }

// withUnit returns l as a limit of figures with a unit.
func (l limit) withUnit(unit string) limit {
	l.unit = unit
	return l
}

// allows reports whether a figure meets the limit.
func (l limit) allows(figure float64) bool {
	if l.sign == "≥" {
		return figure >= l.bound
	}
	return figure <= l.bound
}

func (l limit) String() string {
	if l.sign == "" {
		return "–"
	}
	return l.sign + " " + l.format(l.bound)
}

// format writes a figure in the form of the limit's kind: a speed as "21×", a small share as
// "1/80", a figure with its unit.
func (l limit) format(figure float64) string {
	switch {
	case l.unit != "":
		return strings.TrimSpace(digits(figure) + " " + l.unit)
	case l.sign == "≥":
		return digits(figure) + "×"
	case figure > 0 && figure < 0.35:
		return "1/" + digits(1/figure)
	}
	return digits(figure)
}

// digits writes three digits of a figure, or its whole part if that is longer.
func digits(figure float64) string {
	switch {
	case figure == float64(int64(figure)), figure >= 100:
		return fmt.Sprintf("%.0f", figure)
	case figure >= 10:
		return fmt.Sprintf("%.1f", figure)
	}
	return fmt.Sprintf("%.2f", figure)
}

// A row is a claim with its measured figures.
type row struct {
	claim
	got     spread
	sides   string // what was measured on both sides; "" if the row has none
	skipped string // why nothing was measured
}

// outcome returns in one word whether the goal is met.
func (r row) outcome() string {
	switch {
	case r.skipped != "":
		return "skipped"
	case r.want.sign == "":
		return "for information"
	case r.want.allows(r.got.median):
		return "met"
	}
	return "NOT MET"
}

func (r row) String() string {
	if r.skipped != "" {
		return fmt.Sprintf("%-4s %-62s %-9s %s", r.goal, r.what, r.want, "skipped: "+r.skipped)
	}
	text := fmt.Sprintf("%-4s %-62s %-9s %-8s %-9s", r.goal, r.what, r.want, r.outcome(), r.want.format(r.got.median))
	if r.got.min != r.got.max {
		text += fmt.Sprintf(" (%s – %s)", r.want.format(r.got.min), r.want.format(r.got.max))
	}
	return strings.TrimSpace(text + "  " + r.sides)
}

// roundDuration rounds a duration to three digits.
func roundDuration(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

// tally counts the rows by their outcomes.
func tally(rows []row) string {
	count := map[string]int{}
	for _, r := range rows {
		count[r.outcome()]++
	}
	return fmt.Sprintf("%d met, %d not met, %d skipped", count["met"], count["NOT MET"], count["skipped"])
}
