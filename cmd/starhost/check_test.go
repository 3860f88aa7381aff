package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/editor/lint"
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

// TestLintCodes checks that each warning has its own code.
func TestLintCodes(t *testing.T) {
	var got []string
	for _, warning := range lint.Warnings() {
		got = append(got, lint.Code(warning))
	}
	var want []string
	for _, c := range lint.Codes {
		want = append(want, c.Code)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes of the warnings, sorted (-table +used):\n%s", diff)
	}
}
