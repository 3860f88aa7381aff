package main

import (
	"strings"
	"testing"

	"github.com/starhost/starhost/report"
)

// TestShipped checks that the plugins that ship are formatted and have no findings.
func TestShipped(t *testing.T) {
	for _, args := range [][]string{
		{"fmt", "--check", "../../scripts", "../../golden/testdata", "../../golden/plugins"},
		{"check", "--strict", "--no-config", "../../scripts"},
		{"check", "--strict", "--no-config", "../../golden/plugins"},
	} {
		var stderr strings.Builder
		if code := run(t.Context(), args, nil, &stderr, &stderr); code != report.ExitOK {
			t.Errorf("starhost %s: exit code %d\n%s", strings.Join(args, " "), code, stderr.String())
		}
	}
}
