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

// realRun says what a real agent did in the checks of e2e/agents.
type realRun struct {
	Version, Date string
	Checks        map[string]string
	Attacks       map[string]string // outcomes, by attack and level of the settings: "another hook (user)"
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
		if name == "cline" { // as the page says, a denial ends the turn, and prompts call no hook
			for _, check := range []string{"deny", "ask", "eight", "broken", "missing", "late"} {
				want[check] = []string{"turn ends"}
			}
			want["context"], want["prompt"] = []string{"none"}, []string{"sent"}
		}
		if name == "droid" { // as the page says, droid exec calls no hook for prompts
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

// lateRefuses reports whether the row of an agent says that the agent refuses a call if starhost answers too
// late.
func lateRefuses(missing string) bool {
	return strings.HasPrefix(missing, "refuses") && !strings.Contains(missing, "late")
}

// attackRows returns a row for each attack on an agent: what it did with the user's settings, and with the
// settings of all users.
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

// liftRows returns a row for each way to turn off an agent's guard.
func liftRows(a *hook.Agent) (rows [][]string) {
	for _, l := range a.Lifts() {
		stopped := l.StoppedBy
		if stopped == "" {
			stopped = "nothing"
		}
		seen := a.Seen
		if l.Read != "" {
			seen = "read in " + l.Read
		}
		rows = append(rows, []string{l.By, stopped, l.Ours, seen})
	}
	return rows
}

// attacked are the agents that e2e/agents runs and attacks.
var attacked = []string{"claude-code", "cline", "codex", "copilot", "droid", "gemini", "opencode", "qwen"}

// TestLiftsAttacked compares the table of lifts with what attacks did. Each attack that passed a guard is in
// a row. Each row has attacks that passed, or says where somebody read about it. What a row says about the
// settings of all users and about starhost is what the attacks met there.
func TestLiftsAttacked(t *testing.T) {
	runs := readRealRuns(t)
	for _, name := range attacked {
		if len(runs[name].Attacks) < 3 && name != "cline" && name != "opencode" || len(runs[name].Attacks) == 0 {
			t.Errorf("%s: results.json has %d attacks: run e2e/agents with -run Attacks -update", name, len(runs[name].Attacks))
		}
	}
	for _, a := range hook.Agents {
		attacks, known := runs[a.Name].Attacks, map[string]bool{}
		for _, l := range a.Lifts() {
			if l.Attacks == "" {
				if l.Read == "" && slices.Contains(attacked, a.Name) {
					t.Errorf("%s: %s: neither attacked nor read", a.Name, l.By)
				}
				continue
			}
			for attack := range strings.SplitSeq(l.Attacks, ", ") {
				known[attack] = true
				user, isManaged := attacks[attack+" (user)"], attacks[attack+" (managed)"] != ""
				managed := attacks[attack+" (managed)"]
				switch {
				case user == "":
					t.Errorf("%s: %s: results.json has no such attack", a.Name, attack)
				case !strings.HasPrefix(user, "runs") && !strings.HasPrefix(managed, "runs"):
					t.Errorf("%s: %s: %q and %q: it lifts nothing", a.Name, attack, user, managed)
				case isManaged && strings.HasPrefix(managed, "runs") != (l.StoppedBy == ""):
					t.Errorf("%s: %s: %q, though the row says that %q stops it", a.Name, attack, managed, l.StoppedBy)
				}
				for _, got := range []string{user, managed} {
					if said := saysOurs(l.Ours, got); strings.HasPrefix(got, "runs") && !said {
						t.Errorf("%s: %s: got %q, the row says %q", a.Name, attack, got, l.Ours)
					}
				}
			}
		}
		for attack, got := range attacks {
			name := strings.TrimSuffix(strings.TrimSuffix(attack, " (user)"), " (managed)")
			if strings.HasPrefix(got, "runs") && !known[name] {
				t.Errorf("%s: %s: %s, and no row of the lifts names it", a.Name, attack, got)
			}
			if !strings.HasPrefix(got, "runs") && got != "not run" && got != "turn ends" {
				t.Errorf("%s: %s: got %q, which says nothing of the guard", a.Name, attack, got)
			}
		}
	}
}

// saysOurs reports whether the outcome of an attack contains what a row says that starhost does about the
// attack.
func saysOurs(ours, got string) bool {
	for says, want := range map[string]string{
		"no more calls": "recorded, later calls refused", "a record": "recorded", "doctor says off": "doctor says off",
	} {
		if strings.Contains(ours, says) && !strings.Contains(got, want) {
			return false
		}
	}
	return true
}
