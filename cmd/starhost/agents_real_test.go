package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/serve/hook"
)

// realRun is what a real agent did in the checks of e2e/agents.
type realRun struct {
	Version, Date string
	Checks        map[string]string
	Attacks       map[string]string // by the attack's name and the level of the settings, as "another hook (user)"
}

// realChecks are the checks, as columns of the table in the pages about agents.
var realChecks = []struct{ name, title string }{
	{"context", "context"}, {"resume", "context of a resumed session"}, {"prompt", "refused prompt"}, {"deny", "denied call"},
	{"ask", "question, nobody there"}, {"modify", "changed arguments"}, {"redact", "changed result"}, {"abort", "aborted call"},
	{"eight", "eight calls, one denied"}, {"broken", "call, plugin broken"}, {"missing", "call, starhost missing"},
	{"late", "call, starhost late"}, {"missing at a prompt", "prompt, starhost missing"},
	{"write by path", "denied write, by its path"}, {"write by content", "denied write, by its content"},
	{"mcp by argument", "denied MCP call, by an argument"}, {"mcp by kind", "denied MCP call, by its kind"},
	{"subagent", "denied call of a subagent"}, {"deny in a resumed session", "denied call, resumed session"},
	{"background", "denied call in the background"}, {"interactive shell", "denied command into a shell that runs"},
}

func readRealRuns(t *testing.T) map[string]realRun {
	t.Helper()
	text, err := os.ReadFile("../../e2e/agents/results.json")
	if err != nil {
		t.Fatal(err)
	}
	var runs map[string]realRun
	if err := json.Unmarshal(text, &runs); err != nil {
		t.Fatal(err)
	}
	return runs
}

// realRow returns what the real program of an agent did, nil if nobody ran it.
func realRow(a *hook.Agent, runs map[string]realRun) []string {
	r, ok := runs[a.Name]
	if !ok {
		return nil
	}
	row := []string{r.Version, r.Date}
	for _, c := range realChecks {
		row = append(row, r.Checks[c.name])
	}
	return row
}

// TestAgentsRowsReal compares the agents' rows with what the real programs did.
func TestAgentsRowsReal(t *testing.T) {
	for name, r := range readRealRuns(t) {
		a := agents.Find(name)
		if a == nil {
			t.Errorf("results.json has the agent %s, which has no row", name)
			continue
		}
		one := func(on bool, yes, no string) []string {
			if on {
				return []string{yes}
			}
			return []string{no}
		}
		want := map[string][]string{
			"context": {"once"}, "resume": {"once"}, "deny": {"not run"}, "ask": {"not run"}, "eight": {"guarded"}, "broken": {"not run"},
			"prompt": {"not sent", "reason sent"}, "abort": {"turn ends", "not run"},
			"modify": one(a.Rewrites != "", "changed", "not run"), "redact": one(a.Redacts != "", "changed", "not changed"),
			"missing":             one(strings.HasPrefix(a.Missing, "refuses"), "not run", "runs"),
			"late":                one(lateRefuses(a.Missing), "not run", "runs"),
			"missing at a prompt": {"sent", "not sent"}, "interactive shell": {"not run", "runs"},
		}
		for _, check := range []string{
			"write by path", "write by content", "mcp by argument", "mcp by kind", "subagent", "deny in a resumed session", "background",
		} {
			want[check] = []string{"not run"}
		}
		if name == "cline" { // a denial ends its whole turn, and its prompts ask no hook: the page says so
			for _, check := range []string{"deny", "ask", "eight", "broken", "missing"} {
				want[check] = []string{"turn ends"}
			}
			want["context"], want["prompt"] = []string{"none"}, []string{"sent"}
		}
		for check, got := range r.Checks {
			if !slices.Contains(want[check], got) {
				t.Errorf("%s %s: %s: the program did %q, the row says %q", name, r.Version, check, got, want[check])
			}
		}
		if !strings.Contains(a.Seen, r.Version) {
			t.Errorf("%s: the row describes %s, but version %s was run", name, a.Seen, r.Version)
		}
	}
}

// lateRefuses reports whether an agent refuses a call if starhost is late, as its row says.
func lateRefuses(missing string) bool {
	return strings.HasPrefix(missing, "refuses") && !strings.Contains(missing, "late")
}

// attackRows returns what attacks did in an agent, a row for each: with the user's settings and
// with those of all users.
func attackRows(a *hook.Agent, runs map[string]realRun) (rows [][]string) {
	seen := runs[a.Name].Attacks
	var names []string
	for name := range seen {
		name = strings.TrimSuffix(strings.TrimSuffix(name, " (user)"), " (managed)")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		rows = append(rows, []string{name, seen[name+" (user)"], seen[name+" (managed)"], runs[a.Name].Version})
	}
	return rows
}

// liftRows returns what lifts an agent's guard, a row for each.
func liftRows(a *hook.Agent) (rows [][]string) {
	for _, l := range a.Lifts() {
		stopped := l.StoppedBy
		if stopped == "" {
			stopped = "nothing"
		}
		rows = append(rows, []string{l.By, stopped, l.Ours, a.Seen})
	}
	return rows
}

// TestLiftsAttacked checks that each attack which passed a guard is in the table of lifts, and that
// what passed left a record or a word of doctor, unless the table says that nothing can see it.
func TestLiftsAttacked(t *testing.T) {
	for name, r := range readRealRuns(t) {
		a := hook.AgentOf(name)
		for attack, got := range r.Attacks {
			said := false
			for _, l := range a.Lifts() {
				said = said || strings.HasPrefix(l.Ours, "nothing") || strings.Contains(l.Ours, "cannot see") || strings.Contains(l.Ours, "install")
			}
			if got == "runs" && !said {
				t.Errorf("%s: %s: it ran without a word, and no row says so", name, attack)
			}
			if strings.HasSuffix(attack, "(managed)") && strings.HasPrefix(got, "runs") {
				if grade, _ := a.Grade(true); grade == "holds" {
					t.Errorf("%s: %s: it ran, and the guard is said to hold", name, attack)
				}
			}
		}
	}
}
