package golden_test

import (
	"strings"
	"testing"

	"github.com/starhost/starhost/golden"
)

// TestTurnFailures: the replies of a scripted model are as many as the turn takes.
func TestTurnFailures(t *testing.T) {
	tests := []struct{ name, step, want string }{
		{"too few replies", `turn("hi", [tool_call("upper", text = "x")])`, "turn: model_replies has 1, want one more: the turn goes on"},
		{"too many replies", `turn("hi", ["a", "b"])`, "turn: model_replies has 2, want 1: the turn is over"},
		{"a reference", `turn("hi", ["a"], fragments = ["none:x"])`, `turn: unknown fragment reference "none:x"`},
		{"a command", `command("/none")`, `command: unknown command "/none"`},
		{"a template", `render_template("none:x")`, `render_template: unknown template "none:x"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": "-- case.star --\n" + tt.step + "\n"})
			s, out := test(t, golden.Options{Dir: dir})
			if s.Failed != 1 || !strings.Contains(out, tt.want) {
				t.Errorf("got %s", out)
			}
		})
	}
}

// TestTurnBeginsAborted: steps in a turn that a handler does not let begin.
func TestTurnBeginsAborted(t *testing.T) {
	dir := tree(t, map[string]string{
		"p.star": `register_hook("turn_start", lambda: abort("closed"))`,
		"golden/p_case.txtar": "-- case.star --\nassert_eq(turn('x').completed, False)\nassert_eq(command('/x').output, '')\nassert_eq(render_template('x:y').prompt, '')\n" +
			"-- want --\n== turn 1\nabort: closed (p.star:1:14)\n== command /x\nabort: closed (p.star:1:14)\n== render_template x:y\nabort: closed (p.star:1:14)\n",
	})
	if s, out := test(t, golden.Options{Dir: dir}); s.Passed != 1 {
		t.Errorf("got %s", out)
	}
}
