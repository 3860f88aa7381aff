package builtins_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// TestGuardPays checks that rules are bounded as handlers are: a plugin that nobody trusts may bring globs that
// would take minutes, and its guard refuses then.
func TestGuardPays(t *testing.T) {
	globs := strings.Repeat(`"`+strings.Repeat("*a", 60)+`b",`, 1000)
	long := strings.Repeat("a", 60_000)
	for name, tt := range map[string]struct{ rules, command, want string }{
		"long":    {"programs = [\"rm\"]\n", strings.Repeat("a && ", 16<<10/5) + "rm x", "deny rule: no"},
		"most":    {"programs = [\"rm\"]\n", strings.Repeat("a && ", 64<<10/5-1) + "b", "steps limit"}, // of the parse, before any rule
		"lists":   {"programs = [\"rm\"]\n", strings.Repeat("a;", 32<<10), `steps limit exceeded: "a command line of 65536 bytes" needs `},
		"few":     {"programs = [\"rm\"]\n", "rm x", "deny rule: no"},
		"args":    {"programs = [\"rm\"]\nargs = [" + globs + "]\n", "rm " + long, "steps limit"},
		"words":   {"programs = [\"rm\"]\nwords = [[" + globs + "]]\n", "rm " + long, "steps limit"},
		"paths":   {"paths = [" + globs + "]\n", "cat " + long, "steps limit"},
		"hosts":   {"hosts = [" + globs + "]\n", "curl http://" + long, "steps limit"},
		"text":    {"programs = [\"rm\"]\ntext = ['(a{1,500}){1,2}b']\n", "rm " + long, "steps limit"},
		"lines":   {"paths = [\"*x*\"]\n", strings.Repeat("a > $x; ", 8000), "limit"},
		"folders": {"paths = [\"*x*\"]\n", strings.Repeat("cd a; ", 10_000), "limit"},
	} {
		t.Run(name, func(t *testing.T) {
			s := script{
				src:   "register_guard()\n",
				files: map[string]string{"rules.toml": "[[rule]]\nname = \"rule\"\nreason = \"no\"\n" + tt.rules},
			}
			l := s.mustLoad(t)
			out, err := l.turn(t, host.Request{}).Fire(t.Context(), &starhost.Event{
				Name: "pre_tool_call", Agent: "claude-code", Foreign: true, Tool: "Bash", Workspace: "/w",
				Arguments: json.RawMessage(fmt.Sprintf(`{"command":%q}`, tt.command)),
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(out.Decision.Action, " ", out.Decision.Reason); out.Decision.Action != starhost.ActionDeny || !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
