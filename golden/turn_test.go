package golden_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/starhost/starhost/golden"
)

// TestTurnFailures checks that a scripted model must have exactly as many replies as the turn takes.
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

// TestTurnBeginsAborted checks steps in a turn whose beginning a handler aborts.
func TestTurnBeginsAborted(t *testing.T) {
	dir := tree(t, map[string]string{
		"p.star": `register_hook("turn_start", lambda: abort("closed"))`,
		"golden/p_case.txtar": "-- case.star --\nassert_eq(turn('x').completed, False)\nassert_eq(command('/x').output, '')\nassert_eq(render_template('x:y').prompt, '')\n" +
			"-- want --\n== turn 1\nabort: closed (p.star:1:42)\n== command /x\nabort: closed (p.star:1:42)\n== render_template x:y\nabort: closed (p.star:1:42)\n",
	})
	if s, out := test(t, golden.Options{Dir: dir}); s.Passed != 1 {
		t.Errorf("got %s", out)
	}
}

// TestUnusedEffects checks that a line that answered no effect is reported, and that Prune removes it.
func TestUnusedEffects(t *testing.T) {
	const line = `{"exec":{"argv":["date"]},"reply":{"code":0,"stdout":"","stderr":""}}` + "\n"
	before := upperCase + "-- effects.jsonl --\n" + line + "\n" + line + upperWant
	dir := tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": before})
	s, out := test(t, golden.Options{Dir: dir})
	if want := "unused line 1 in section \"effects.jsonl\": no effect asked for it\nunused line 3 in"; s.Results[0].Line != 5 || !strings.Contains(out, want) {
		t.Errorf("got line %d, %s", s.Results[0].Line, out)
	}
	test(t, golden.Options{Dir: dir, Prune: true})
	if got, err := os.ReadFile(filepath.Join(dir, "golden", "p_case.txtar")); err != nil || string(got) != upperCase+upperWant {
		t.Errorf("pruned: got %s, %v", got, err)
	}
	dir = tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": upperCase + "-- effects.jsonl --\n{}\n" + upperWant})
	if _, out := test(t, golden.Options{Dir: dir}); !strings.Contains(out, "effects.jsonl: line 1: got no effect, want one of env") {
		t.Errorf("a line that is none: got %s", out)
	}
}

// TestStoresAreApart checks that a case does not see values that another case stored.
func TestStoresAreApart(t *testing.T) {
	const plugin = `plugin(permissions = ["store"])

def count(ctx):
    """Counts."""
    ctx.store.set("n", ctx.store.get("n", 0) + 1)
    return ctx.store.get("n")

register_tool(count)
`
	const text = "-- case.star --\ncall_tool('count')\ncall_tool('count')\n-- want --\n== call_tool count\n\"1\"\n== call_tool count\n\"2\"\n"
	dir := tree(t, map[string]string{"p.star": plugin, "golden/p_a.txtar": text, "golden/p_b.txtar": text})
	if s, out := test(t, golden.Options{Dir: dir}); s.Passed != 2 {
		t.Errorf("got %s", out)
	}
}

// TestEvents checks lines of events that are invalid, and an event that no step fires and no hook listens to,
// which Prune removes.
func TestEvents(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"no JSON", `{"name":`, "events.jsonl: line 2: unexpected EOF"},
		{"another member", `{"nam":"app.x"}`, `events.jsonl: line 2: unknown field "nam"`},
		{"two objects", `{"name":"app.x"} {}`, "events.jsonl: line 2: got more than an object, want one"},
		{"another name", `{"name":"deploy"}`, `events.jsonl: line 2: event "deploy": want app. and a lower-case letter`},
		{"another action", `{"name":"app.x","actions":["respond"]}`, `events.jsonl: line 2: event app.x: action "respond": want context (a string, fragments, attachments), modify, deny, ask, abort or a JSON value`},
		{"unused", `{"name":"app.x"}`, `unused line 2 in section "events.jsonl": nothing fires the event or has a hook on it`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": upperCase + "-- events.jsonl --\n\n" + tt.line + "\n" + upperWant})
			if s, out := test(t, golden.Options{Dir: dir}); s.Failed != 1 || !strings.Contains(out, tt.want) {
				t.Errorf("got %s", out)
			}
			if _, out := test(t, golden.Options{Dir: dir, Prune: true}); strings.HasPrefix(out, "PRUNED") != (tt.name == "unused") {
				t.Errorf("pruned: got %s", out)
			}
		})
	}
}

// TestUnusedPluginFiles checks that a file of a plugin in the case that nothing reads is reported, and that
// Prune removes it.
func TestUnusedPluginFiles(t *testing.T) {
	const used = upperCase + "-- plugins/q/plugin.star --\nload(\"lib.star\", \"x\")\nprint(x, files.read(\"a.md\").strip(), len(files.glob(\"notes/*\")))\n-- plugins/q/lib.star --\nx = 1\n" +
		"-- plugins/q/a.md --\nA\n-- plugins/q/notes/b.txt --\nB\n-- plugins/single.star --\n"
	const unused = "-- plugins/q/c.md --\nC\n-- plugins/q/other.star --\n-- plugins/lost/lib.star --\n"
	dir := tree(t, map[string]string{"plugins/q/plugin.star": upperPlugin, "p.star": upperPlugin, "golden/p_case.txtar": used + unused})
	test(t, golden.Options{Dir: dir, Paths: []string{"p.star"}, Update: true, Prune: true})
	text, err := os.ReadFile(filepath.Join(dir, "golden", "p_case.txtar"))
	if got, _, _ := strings.Cut(string(text), "-- want --"); err != nil || got != used {
		t.Errorf("pruned: got %s, %v", got, err)
	}
	dir = tree(t, map[string]string{"p.star": upperPlugin, "golden/p_case.txtar": used + unused})
	_, out := test(t, golden.Options{Dir: dir, Paths: []string{"p.star"}})
	want := "unused section \"plugins/lost/lib.star\": nothing read this file\nunused section \"plugins/q/c.md\": nothing read this file\nunused section \"plugins/q/other.star\": nothing read this file\n"
	if !strings.Contains(out, want) {
		t.Errorf("got %s", out)
	}
}
