package golden_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/starhost/starhost/golden"
)

const clockPlugin = `
def today(ctx):
    """The day."""
    return ctx.now

register_tool(today)
register_command("remind", lambda: "", complete = lambda ctx, typed: [ctx.now, "never\ntoday"] if typed else ["x", 1])
`

// TestClock runs cases that set their clock.
func TestClock(t *testing.T) {
	const call = "-- case.star --\ncall_tool(\"today\")\n"
	for _, tt := range []struct{ name, text, want string }{
		{"the default", call + "-- want --\n== call_tool today\n\"2026-01-01T00:00:00Z\"\n", "1 case: 1 passed\n"},
		{"a time", call + "-- now --\n2030-02-03T04:05:06+02:00\n-- want --\n== call_tool today\n\"2030-02-03T02:05:06Z\"\n", "1 case: 1 passed\n"},
		{"a day", call + "-- now --\r\n2030-02-03\r\n-- want --\n== call_tool today\n\"2030-02-03T00:00:00Z\"\n", "1 case: 1 passed\n"},
		{"no time", call + "-- now --\nnoon\n", `now: got "noon", want a time as 2026-01-01T00:00:00Z, or a day`},
		{"two times", call + "-- now --\n2030-02-03\n2030-02-04\n", `now: got "2030-02-03\n2030-02-04", want a time`},
		{"not read", "-- case.star --\nprompt(\"hi\")\n-- now --\n2030-02-03\n", "unused section \"now\""},
		{"set and advanced", "-- case.star --\nset_now(\"2030-02-03\")\nadvance(hours = 1)\ncall_tool(\"today\")\nset_now(\"2029-01-01\")\nturn(\"x\", [[tool_call(\"today\")], \"\"])\n-- now --\n2020-01-01\n" +
			"-- want --\n", "+2029-01-01T00:00:00Z"},
		{"in a completion", "-- case.star --\ncomplete_command(\"/remind x\")\n-- now --\n2020-01-01\n" +
			"-- want --\n== complete_command /remind x\n\"2020-01-01T00:00:00Z\"\n| never\n| today\n", "1 case: 1 passed\n"},
		{"names of commands", "-- case.star --\nprompt(\"x\")\nassert_eq(complete_command(\"/r\"), [\"/remind\"])\nassert_eq(complete_command(\"/none \"), [])\n-- want --\n",
			"+== complete_command /r\n+\"/remind\"\n+== complete_command /none \n"},
		{"a completion fails", "-- case.star --\ncomplete_command(\"/remind \")\n", "lambda: unsupported return value: [1]: got int, want string [E0312]\n  in <toplevel> golden/p_case.txtar:2:17"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"p.star": clockPlugin, "golden/p_case.txtar": tt.text})
			if _, got := test(t, golden.Options{Dir: dir}); !strings.Contains(got, tt.want) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestUnusedClock checks that Prune removes a time that no handler reads.
func TestUnusedClock(t *testing.T) {
	dir := tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": upperCase + "-- now --\n2030-02-03\n" + upperWant})
	test(t, golden.Options{Dir: dir, Prune: true})
	if got, err := os.ReadFile(filepath.Join(dir, "golden", "p_case.txtar")); err != nil || string(got) != upperCase+upperWant {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestHarmfulProse checks how failures show the texts of cases that a terminal would obey, or that are not
// UTF-8.
func TestHarmfulProse(t *testing.T) {
	const harm = "\xff\xfe \x1b]0;title\x07 \u202e \x9b31m"
	dir := tree(t, map[string]string{
		"p.star":              upperPlugin,
		"golden/p_case.txtar": "Prose " + harm + "\n-- case.star --\ncall_tool(\"upper\", text = \"hi\")\n-- want --\n" + harm + "\n",
		"golden/p_b.txtar":    harm + "\n-- case.star --\nx = \"" + harm + "\"\n",
		"golden/p_c.txtar":    harm + "\n-- " + harm + " --\n",
	})
	s, got := test(t, golden.Options{Dir: dir})
	if s.Failed+s.Broken != 3 || !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\x07\u202e\u009b") {
		t.Errorf("got %+q", got)
	}
}
