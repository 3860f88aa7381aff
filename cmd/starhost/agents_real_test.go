package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/serve/hook"
)

// realRun is what a real agent did in the checks of e2e/agents.
type realRun struct {
	Version, Date string
	Checks        map[string]string
}

// realChecks are the checks, as columns of the table in docs/agents.md.
var realChecks = []struct{ name, title string }{
	{"context", "context"}, {"resume", "context of a resumed session"}, {"prompt", "refused prompt"}, {"deny", "denied call"},
	{"ask", "question, nobody there"}, {"modify", "changed arguments"}, {"redact", "changed result"}, {"abort", "aborted call"},
	{"eight", "eight calls, one denied"}, {"broken", "call, plugin broken"}, {"missing", "call, starhost missing"},
	{"late", "call, starhost late"}, {"missing at a prompt", "prompt, starhost missing"},
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

// TestAgentsReal compares the table of real runs in docs/agents.md with their data. With -update it
// writes the table.
func TestAgentsReal(t *testing.T) {
	runs := readRealRuns(t)
	var b strings.Builder
	b.WriteString("| agent | version | date |")
	for _, c := range realChecks {
		b.WriteString(" " + c.title + " |")
	}
	b.WriteString("\n|" + strings.Repeat("---|", 3+len(realChecks)) + "\n")
	for _, a := range hook.Agents {
		r, ok := runs[a.Name]
		if !ok {
			continue
		}
		b.WriteString("| " + a.Title + " | " + r.Version + " | " + r.Date + " |")
		for _, c := range realChecks {
			b.WriteString(" " + r.Checks[c.name] + " |")
		}
		b.WriteString("\n")
	}
	src, err := os.ReadFile(agentsPage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- real: go test ./cmd/starhost -run AgentsReal -update -->\n", "<!-- end of real -->"
	before, rest, _ := strings.Cut(string(src), begin)
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatal("docs/agents.md has no place for the table of real runs")
	}
	got := before + begin + b.String() + end + after
	if *update {
		if err := os.WriteFile(agentsPage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(src), got); diff != "" {
		t.Errorf("docs/agents.md (-as it is +as it should be; go test ./cmd/starhost -run AgentsReal -update writes it):\n%s", diff)
	}
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
			"missing at a prompt": {"sent", "not sent"},
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
