package golden_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/starhost/starhost/golden"
)

// thousandCases writes 50 plugins, each with a tool, a guard, a loader and 20 cases.
func thousandCases(b *testing.B) string {
	const plugin = `"""Plugin %[1]d."""

plugin(version = "1.0.0", config = {"team": "checkout"})

def who_is_on_call_%[1]d(team = config.team):
    """Who is on call for a team today.

    Args:
      team (string): Team name, for example "checkout".
    """
    return {"checkout": "Ada", "orders": "Grace"}.get(team, "nobody")

register_tool(who_is_on_call_%[1]d)
register_hook("pre_tool_call", lambda arguments: deny("no") if arguments.get("team") == "prod" else None, match = "who_*")
register_fragment_loader("runbook%[1]d", lambda arg: "Read the runbook of %%s." %% arg)
`
	const text = `The team of case %[2]d has somebody on call.
-- case.star --
call_tool("who_is_on_call_%[1]d", team = "checkout")
load_fragments("runbook%[1]d:team%[2]d")
-- want --
== call_tool who_is_on_call_%[1]d
"Ada"
hooks        pre_tool_call: plugin%[1]d
== load_fragments runbook%[1]d:team%[2]d
  1  %[3]s
`
	dir := b.TempDir()
	files := map[string]string{}
	for p := range 50 {
		files[fmt.Sprintf("plugin%d/plugin.star", p)] = fmt.Sprintf(plugin, p)
		for c := range 20 {
			files[fmt.Sprintf("plugin%d/golden/case%d.txtar", p, c)] = fmt.Sprintf(text, p, c, "")
		}
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	if s, err := golden.Test(b.Context(), golden.Options{Dir: dir, Paths: []string{"."}, Update: true}); err != nil || s.Updated != 1000 {
		b.Fatalf("got %s, %v, want 1000 updated", &s, err)
	}
	return dir
}

// BenchmarkThousandCases runs 1,000 cases of 50 plugins, each once. It is for profiles; bench/
// measures the goal P9.
func BenchmarkThousandCases(b *testing.B) {
	dir := thousandCases(b)
	for b.Loop() {
		s, err := golden.Test(b.Context(), golden.Options{Dir: dir, Paths: []string{"."}, Once: true})
		if err != nil || s.Passed != 1000 {
			b.Fatalf("got %s, %v, want 1000 passed", &s, err)
		}
	}
}
