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
}

const resultsFile = "results.json"

// saveResults writes the outcomes of checks and attacks. Results of other agents stay, and those of
// other checks if they are of the same version.
func saveResults(t *testing.T, a *agent, seen, attacks map[string]string) {
	t.Helper()
	if len(seen)+len(attacks) == 0 {
		return
	}
	all := map[string]result{}
	if text, err := os.ReadFile(resultsFile); err == nil {
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatalf("%s: %v", resultsFile, err)
		}
	}
	r := result{Version: pinned(t, a.pkg), Date: time.Now().UTC().Format(time.DateOnly), Checks: map[string]string{}, Attacks: map[string]string{}}
	if old := all[a.name]; old.Version == r.Version {
		maps.Copy(r.Checks, old.Checks)
		maps.Copy(r.Attacks, old.Attacks)
	}
	maps.Copy(r.Checks, seen)
	maps.Copy(r.Attacks, attacks)
	all[a.name] = r
	text, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.WriteFile(resultsFile, append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
