package golden_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/internal/testbed"
)

const pagerPlugin = `plugin(permissions = ["http:pager.internal", "secret:PAGER_TOKEN"])

def on_call(ctx, team):
    """Asks the pager.

    Args:
      team (string): Which team.
    """
    return ctx.http.get("https://pager.internal/" + team, headers = {"Authorization": "Bearer " + ctx.secret("PAGER_TOKEN")}).text

register_tool(on_call)
register_hook("pre_llm_call", lambda ctx: ctx.http.get("https://pager.internal/all").text)
`

func TestEffects(t *testing.T) {
	const (
		call = "-- case.star --\ncall_tool(\"on_call\", team = \"checkout\")\n"
		ada  = `{"http.get":{"url":"https://pager.internal/checkout"},"reply":{"status":200,"body":"Ada"}}` + "\n"
		want = "-- want --\n== call_tool on_call\n\"Ada\"\n"
		line = `effects.jsonl does not answer an effect: add this line, with its reply: {"http.get":{"url":"https://pager.internal/`
	)
	tests := []struct {
		name, text string
		want       []string // parts of the output, in their order
	}{
		{"answered", call + "-- effects.jsonl --\n\n" + ada + want, []string{"1 case: 1 passed\n"}},
		{"with a secret", call + "-- env --\nPAGER_TOKEN=abc\n-- effects.jsonl --\n" + ada + want, []string{"1 case: 1 passed\n"}},
		{"an error", call + "-- effects.jsonl --\n" + `{"http.get":{"url":"https://pager.internal/checkout"},"error":{"message":"connection refused"}}` + "\n",
			[]string{"| error: \"tool on_call failed: p.star:9:24: connection refused\"\n"}},
		{"not answered", call, []string{"FAILED p.star::p_case", line + `checkout","headers":{"Authorization":"Bearer <secret PAGER_TOKEN>"}},"reply":{"status":200,"body":""}} [E0517]`,
			"\n  help: starhost docs E0517\n  help: starhost test --record p.star::p_case\n"}},
		{"not answered to a hook", "-- case.star --\nprompt(\"hi\")\n", []string{line + "all\"", "--record p.star::p_case\n"}},
		{"not answered in a turn", "-- case.star --\nturn(\"hi\", [\"yes\"])\n", []string{line + "all\"", "--record p.star::p_case\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, map[string]string{"p.star": pagerPlugin, "golden/p_case.txtar": tt.text})
			_, got := test(t, golden.Options{Dir: dir})
			rest := got
			for _, part := range tt.want {
				_, after, ok := strings.Cut(rest, part)
				if !ok {
					t.Fatalf("got\n%s\nwant it to contain %q in order", got, tt.want)
				}
				rest = after
			}
		})
	}
}

// TestRecord checks that Record does the effects of a case once, and that their replies answer the effects in
// later runs. The case must not contain the value of a secret.
func TestRecord(t *testing.T) {
	testbed.Need(t, "cat")
	const plugin = `plugin(permissions = ["exec:cat", "secret:TOKEN"])

def echo(ctx, text):
    """Runs a program that says what it is told.

    Args:
      text (string): What it is told.
    """
    return ctx.exec(["cat"], stdin = text + ctx.secret("TOKEN")).stdout

register_tool(echo)
`
	const before = "Says it.\n-- case.star --\nfor _ in range(2):\n    call_tool(\"echo\", text = \"hi \")\n"
	dir := tree(t, map[string]string{"p.star": plugin, "golden/p_case.txtar": before})
	file := filepath.Join(dir, "golden", "p_case.txtar")
	getenv := func(name string) string { return map[string]string{"TOKEN": "very-secret"}[name] }
	o := golden.Options{Dir: dir, Record: true, Update: true, Getenv: getenv}
	s, printed := test(t, o)
	const (
		line = `{"exec":{"argv":["cat"],"stdin":"hi <secret TOKEN>"},"reply":{"code":0,"stdout":"hi <secret TOKEN>","stderr":""}}` + "\n"
		want = "-- want --\n== call_tool echo\n\"hi <secret TOKEN>\"\n== call_tool echo\n\"hi <secret TOKEN>\"\n"
	)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before+"-- effects.jsonl --\n"+line+want, string(text)); diff != "" || s.Updated != 1 {
		t.Errorf("%s: case (-want +got):\n%s", &s, diff)
	}
	if !strings.Contains(printed, "--- old effects.jsonl\n+++ new effects.jsonl\n@@ -0,0 +1 @@\n+"+line) {
		t.Errorf("got %s", printed)
	}
	if s, printed := test(t, o); s.Passed != 1 {
		t.Errorf("recorded again: %s", printed)
	}
	if s, printed := test(t, golden.Options{Dir: dir}); s.Passed != 1 {
		t.Errorf("without effects: %s", printed)
	}
	stale := strings.Replace(string(text), "hi <secret TOKEN>\",\"stderr", "ho\",\"stderr", 1)
	if err := os.WriteFile(file, []byte(stale), 0o644); err != nil {
		t.Fatal(err)
	}
	o.Update = false
	if s, printed := test(t, o); s.Recorded != 1 || !strings.HasPrefix(printed, "RECORDED p.star::p_case (golden/p_case.txtar)\n  Says it.\n--- old effects.jsonl\n") {
		t.Errorf("stale: %s", printed)
	}
}
