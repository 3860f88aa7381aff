package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starhost/starhost/report"
)

// TestNewPlugin checks that each kind of plugin works as written, under short and long names.
// It runs the commands of the README, the printed next command, the golden cases, check and
// fmt.
func TestNewPlugin(t *testing.T) {
	names := []string{"ab", "my-plugin_2", strings.Repeat("x", maxNewName)}
	for _, s := range starters {
		for _, name := range names {
			t.Run(s.kind+"/"+name, func(t *testing.T) {
				dir := t.TempDir()
				out := runs(t, dir, "new", "plugin", name, "--kind", s.kind)
				_, next, _ := strings.Cut(out, "\nnext: ")
				commands := []string{next, "starhost check --lint --strict " + name, "starhost fmt --check " + name, "starhost eval " + name}
				readme, err := os.ReadFile(filepath.Join(dir, name, "README.md"))
				if err != nil || strings.Contains(string(readme), "starter") {
					t.Errorf("README.md: %v\n%s", err, readme)
				}
				for line := range strings.Lines(string(readme)) {
					if command, ok := strings.CutPrefix(line, "    starhost "); ok {
						commands = append(commands, "starhost "+command)
					}
				}
				for _, command := range commands {
					runs(t, dir, words(t, command)[1:]...)
				}
			})
		}
	}
}

// TestNewPluginsTogether checks that new plugins of one kind do not clash, whatever their
// names.
func TestNewPluginsTogether(t *testing.T) {
	for _, s := range starters {
		dir := t.TempDir()
		runs(t, dir, "new", "plugin", "first", "--kind", s.kind)
		runs(t, dir, "new", "plugin", "second", "--kind", s.kind)
		runs(t, dir, "check", "--strict", "first", "second")
	}
}

// runs runs a command that must succeed, and returns its output.
func runs(t *testing.T, dir string, args ...string) string {
	t.Helper()
	var out, diagnostics bytes.Buffer
	all := append([]string{"-C", dir}, args...)
	if code := run(t.Context(), all, strings.NewReader(""), &out, &diagnostics); code != report.ExitOK {
		t.Errorf("starhost %s: exit code %d\n%s%s", strings.Join(args, " "), code, out.String(), diagnostics.String())
	}
	return out.String()
}
