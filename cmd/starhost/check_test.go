package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/editor/lint"
	"github.com/starhost/starhost/loader"
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

// TestOwner finds the plugin of a file that an editor shows.
func TestOwner(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"plugins/oncall/plugin.star": "", "plugins/oncall/lib/text.star": "", "plugins/policy.star": ""})
	for file, want := range map[string][2]string{
		"plugins/oncall/plugin.star":   {"plugins/oncall", "plugin.star"},
		"plugins/oncall/lib/text.star": {"plugins/oncall", "lib/text.star"},
		"plugins/policy.star":          {"plugins/policy.star", "policy.star"},
		"plugins/new.star":             {"plugins/new.star", "new.star"},
	} {
		plugin, name := owningPlugin(loader.NewPath(dir, file))
		if diff := cmp.Diff(want, [2]string{plugin.Shown, name}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}
