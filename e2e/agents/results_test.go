//go:build unix

package agents

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write results.json")

// A result says what an agent did in the checks.
type result struct {
	Version string            `json:"version"`
	Date    string            `json:"date"`
	Checks  map[string]string `json:"checks"`
	// Attacks are what attacks did, by their names with the level of the settings.
	Attacks map[string]string `json:"attacks,omitempty"`
	// Tools are those that the agent offers to the model, with the names of their arguments. A test
	// of package agents has what each of them is for guards.
	Tools map[string]string `json:"tools,omitempty"`
}

const resultsFile = "results.json"

// readResults returns what earlier runs wrote.
func readResults(t *testing.T) map[string]result {
	t.Helper()
	all := map[string]result{}
	text, err := os.ReadFile(resultsFile)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		t.Fatalf("%s: %v", resultsFile, err)
	}
	return all
}

// saveResults writes the outcomes of checks and attacks, and the offered tools. Results of other
// agents stay, and those of other checks if they are of the same version.
func saveResults(t *testing.T, a *agent, r result) {
	t.Helper()
	if len(r.Checks)+len(r.Attacks) == 0 {
		return
	}
	all := readResults(t)
	r.Version, r.Date = pinned(t, a.pkg), time.Now().UTC().Format(time.DateOnly)
	if old := all[a.name]; old.Version == r.Version {
		r.Checks, r.Attacks = merged(old.Checks, r.Checks), merged(old.Attacks, r.Attacks)
		if r.Tools == nil {
			r.Tools = old.Tools
		}
	}
	all[a.name] = r
	text, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.WriteFile(resultsFile, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// merged returns the members of both maps. Those of the second win.
func merged(old, now map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, old)
	maps.Copy(all, now)
	return all
}

// checkOffered fails on a tool that the agent offers and no earlier run saw: it may need a row in
// the agent's table.
func checkOffered(t *testing.T, a *agent) {
	t.Helper()
	known := readResults(t)[a.name].Tools
	for name, arguments := range a.offered {
		if got, ok := known[name]; !*update && (!ok || got != arguments) {
			t.Errorf("%s %s offers %s {%s}, an earlier run saw {%s}: see whether it needs a row, then run with -update", a.name, pinned(t, a.pkg), name, arguments, got)
		}
	}
}
