package main

import (
	"strings"
	"testing"

	"github.com/starhost/starhost/report"
)

// TestLimitExitCodes checks that every limit and every missing permission ends eval with 4,
// whether a handler of the evaluator or the host runs into it.
func TestLimitExitCodes(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"a.star": `def spin():
    """Spins."""
    for _ in range(1 << 62):
        pass

register_tool(spin)
register_tool(spin, name = "late", timeout = 0.01)
register_tool(lambda: "x" * 1000000000, name = "big", description = "Big.")
register_tool(lambda ctx: ctx.env("HOME"), name = "env", description = "Reads.")
register_tool(lambda: [[0] * n for n in range(100000)], name = "lists", description = "Lists.")
`,
		"override.star": `plugin(permissions = ["override:spin"])
register_tool(lambda: "y", name = "spin", description = "Another.", override = True)
`,
		"respond.star": `register_hook("pre_tool_call", lambda: respond("no"), match = "spin")
`,
		"hooks.star": `def spin():
    for _ in range(400000):
        pass

[register_hook("turn_start", spin) for _ in range(100)]
`,
	})
	for _, args := range [][]string{
		{"a.star", "--call", "spin"}, {"a.star", "--call", "late", "--max-steps", "1000000000"}, {"a.star", "--call", "big"},
		{"a.star", "--call", "env"}, {"a.star", "--call", "lists"}, {"a.star", "--call", "spin", "--timeout", "1ns"},
		{"a.star", "override.star"}, {"a.star", "respond.star", "--fire", "pre_tool_call", "--arg", "tool=spin"},
		{"hooks.star", "-p", "hi"},
	} {
		_, diagnostics := runIn(t, dir, report.ExitLimit, append([]string{"eval"}, args...)...)
		if args[0] == "hooks.star" && !strings.Contains(diagnostics, "[limits] event raises it [E0401]") {
			t.Errorf("%q: got %s", args, diagnostics) // another error comes first, and the exit code is the one for it
		}
	}
}
