package golden_test

import (
	"strings"
	"testing"

	"github.com/starhost/starhost/golden"
)

const countingPlugin = `
plugin(permissions = ["store"])

def count(ctx):
    """Counts the calls of a session, and of all sessions."""
    ctx.state.set("calls", ctx.state.get("calls", 0) + 1)
    return [ctx.session, ctx.turn, ctx.state.get("calls"), ctx.store.get("best", "none")]

def greet(ctx):
    return fragment("welcome", source = "greeting")

register_tool(count)
register_hook("session_start", greet)
`

// TestSessionSection starts cases in a session that began before.
func TestSessionSection(t *testing.T) {
	const call = "-- case.star --\ncall_tool(\"count\")\n-- session.json --\n"
	const prompt = "-- case.star --\nprompt(\"hi\")\n-- session.json --\n"
	for _, tt := range []struct{ name, text, want string }{
		{"all", call + `{"id":"s7","turn":3,"state":{"p":{"calls":41}},"store":{"p":{"best":[1]}}}`, `+["s7",4,42,[1]]`},
		{"nothing", call + `{}`, `+["case",1,1,"none"]`},
		{"of another plugin", call + `{"state":{"q":{"calls":41}},"store":{"q":{"best":1}}}`, `+["case",1,1,"none"]`},
		{"a new session welcomes", prompt + `{"turn":0}`, "welcome"},
		{"an old one does not", prompt + `{"turn":1}`, "+prompt       tools: count"},
		{"unknown member", call + `{"stats":{}}`, `session.json: unknown field "stats"`},
		{"a turn that cannot be", call + `{"turn":-1}`, "session.json: turn: got -1, want 0 to 1000000"},
		{"a text for a number", call + `{"turn":"x"}`, `session.json: turn: got string, want`},
		{"two objects", call + `{} {}`, "session.json: got more than an object, want one"},
		{"no JSON", call + `x`, "session.json: "},
		{"too much", call + `{"state":{"p":{"calls":"` + strings.Repeat("x", 2<<20) + `"}}}`, "session.json: state: got 2097159 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"p.star": countingPlugin, "golden/p_case.txtar": tt.text + "\n-- want --\n"})
			_, got := test(t, golden.Options{Dir: dir})
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}
