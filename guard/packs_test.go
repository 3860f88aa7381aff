package guard

import (
	"strings"
	"testing"
)

// allPacks is a file of rules with every pack.
func allPacks(t testing.TB) *Set {
	t.Helper()
	s, err := Load("rules.toml", `packs = ["`+strings.Join(PackNames, `", "`)+`"]`)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPacks proves the examples of all packs.
func TestPacks(t *testing.T) {
	for _, err := range allPacks(t).Prove() {
		t.Error(err)
	}
}
