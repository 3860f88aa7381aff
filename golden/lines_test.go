package golden_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/golden"
)

const sizePlugin = `plugin(permissions = ["fs.read:**"])
register_tool(lambda ctx: "%d bytes" % len(ctx.fs.read("a.txt")), name = "size", description = "Size.")
register_tool(lambda ctx: ctx.fs.read("a.txt"), name = "show", description = "Text.")
register_hook("pre_llm_call", lambda: "a note")
`

// TestCheckoutLineEnds checks cases whose lines end in CRLF after Git's autocrlf: the difference shows only
// lines that really differ, and a rewritten case has one kind of line ends.
func TestCheckoutLineEnds(t *testing.T) {
	const lf = "A case.\n-- case.star --\ncall_tool(\"size\")\n-- workspace/a.txt --\none\ntwo\n-- want --\n== call_tool size\n\"8 bytes\"\n"
	crlf := strings.ReplaceAll(lf, "\n", "\r\n")
	dir := tree(t, map[string]string{"p.star": sizePlugin, "golden/p_case.txtar": crlf})
	_, got := test(t, golden.Options{Dir: dir})
	want := `FAILED p.star::p_case (golden/p_case.txtar:9)
  A case.
--- want
+++ got
@@ -1,2 +1,2 @@
 == call_tool size
-"8 bytes"
+"10 bytes"
  help: each line of this file ends in CRLF, those of its workspace too: write *.txtar -text in .gitattributes
  help: starhost test --update p.star::p_case accepts the difference

1 case: 1 failed
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a case with CRLF (-want +got):\n%s", diff)
	}
	if s, text := test(t, golden.Options{Dir: dir, Update: true}); s.Updated != 1 {
		t.Errorf("--update: got %s", text)
	}
	text, err := os.ReadFile(filepath.Join(dir, "golden", "p_case.txtar"))
	if diff := cmp.Diff(strings.Replace(crlf, "8 bytes", "10 bytes", 1), string(text)); diff != "" || err != nil {
		t.Errorf("%v, file (-want +got):\n%s", err, diff)
	}
	if s, text := test(t, golden.Options{Dir: dir}); s.Passed != 1 {
		t.Errorf("the updated case: got %s", text)
	}
}

// TestLinesThatLookLikeSections checks that a file in a case can have a line that looks like the beginning of
// a section. The line has a backslash in front.
func TestLinesThatLookLikeSections(t *testing.T) {
	const text = "-- case.star --\ncall_tool(\"show\")\n-- workspace/a.txt --\nx\n\\-- want --\n\\\\-- a --\n\\- no marker\n" +
		"-- want --\n== call_tool show\n| x\n| -- want --\n| \\-- a --\n| \\- no marker\n|\n"
	dir := tree(t, map[string]string{"p.star": sizePlugin, "golden/p_case.txtar": text})
	if s, text := test(t, golden.Options{Dir: dir}); s.Passed != 1 {
		t.Errorf("got %s", text)
	}
}

// TestReportsOfPrompts checks that the output of a prompt has one line about it, unless the step or the
// existing want asks for the report with sizes and hashes.
func TestReportsOfPrompts(t *testing.T) {
	const (
		short = "== prompt 1\n[user]\na note\nhi\n\nprompt       fragments: pre_llm_call; tools: show, size\n"
		full  = "== prompt 1\n[user]\na note\nhi\n\nfragments    1 given, 1 kept\n  1  f63e34a034f1  pre_llm_call  6 B  p\n" +
			"hooks        pre_llm_call: p (context 6 B)\ntools        show, size\nprompt       9 B, about 2 tokens\n"
		step = "-- case.star --\nprompt(\"hi\")\n-- want --\n"
	)
	dir := tree(t, map[string]string{
		"p.star":                sizePlugin,
		"golden/p_short.txtar":  step + short,
		"golden/p_full.txtar":   step + full,
		"golden/p_choice.txtar": strings.Replace(step, `"hi"`, `"hi", report = True`, 1) + full,
		"golden/p_none.txtar":   "-- case.star --\nprompt(\"hi\")\n",
	})
	s, text := test(t, golden.Options{Dir: dir})
	if s.Passed != 3 || s.Failed != 1 || !strings.Contains(text, "| prompt       fragments: pre_llm_call; tools: show, size\n") {
		t.Errorf("got %s", text)
	}
}

// TestFailuresShowWhatWasThere checks that the failure of a row shows the row's input, and that the message
// about an unused effect comes with the output.
func TestFailuresShowWhatWasThere(t *testing.T) {
	dir := tree(t, map[string]string{
		"p.star": sizePlugin,
		"golden/p_rows.txtar": "-- case.star --\nprint(row(\"text\"))\n-- rows.jsonl --\n" + `{"name": "a", "text": "one"}` + "\n" +
			`{"name": "b", "text": "two"}` + "\n-- want/a --\none\n-- want/b --\none\n",
		"golden/p_same.txtar": "-- case.star --\nprint(1)\n-- effects.jsonl --\n" + `{"exec":{"argv":["date"]},"reply":{"code":0}}` + "\n-- want --\n1\n",
		"golden/p_text.txtar": "-- case.star --\nprint(1)\n-- effects.jsonl --\n" + `{"exec":{"argv":["date"]},"reply":{"code":0}}` + "\n-- want --\n2\n",
	})
	_, got := test(t, golden.Options{Dir: dir})
	want := `FAILED p.star::p_rows/b (golden/p_rows.txtar:5)
  row: {"name": "b", "text": "two"}
--- want/b
+++ got
@@ -1 +1 @@
-one
+two
  help: starhost test --update p.star::p_rows/b accepts the difference

FAILED p.star::p_same (golden/p_same.txtar:4)
the output:
  | 1
unused line 1 in section "effects.jsonl": no effect asked for it
  help: starhost test --prune p.star::p_same

FAILED p.star::p_text (golden/p_text.txtar:4)
--- want
+++ got
@@ -1 +1 @@
-2
+1
unused line 1 in section "effects.jsonl": no effect asked for it
  help: starhost test --prune p.star::p_text

4 cases: 1 passed, 3 failed
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
