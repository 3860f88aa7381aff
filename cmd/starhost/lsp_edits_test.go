package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/starhost/starhost/report"
)

// editPieces are the texts that random edits insert.
var editPieces = []string{
	"(", ")", "[", "]", "{", "}", "\"", "'", "\"\"\"", "\n", "\n    ", ":", ",", ".", "=", "==", "#", "\\", "\t", " ", "é", "𝄞", "\x00", "\r\n",
	"ctx.", "ctx.http.get(", "def f(", "return ", "lambda x: ", "for x in ", "if ", "load(\"lib/text.star\", \"shorten\")\n", "load(\"", "x = 1\n",
	"register_hook(\"pre_tool_call\", guard)\n", "register_tool(", "plugin(config = {\"a\": 1})\n", "page", "config.a", "0x", "1e9", "%", "**", "fail(",
	"[y for y in [1]]\n", "def guard(tool):\n    return deny(tool)\n", "-- case.star --\n", "-- want --\n", "f(" + "(", "\u2028", "\ufeff",
}

// edit returns a text after one random edit.
func edit(r *rand.Rand, text string) string {
	at, to := r.IntN(len(text)+1), 0
	switch r.IntN(10) {
	case 0, 1: // remove some bytes, also a part of a character
		to = min(len(text), at+r.IntN(12))
		return text[:at] + text[to:]
	case 2: // repeat a part
		to = min(len(text), at+r.IntN(60))
		return text[:to] + text[at:to] + text[to:]
	case 3: // remove a line
		lines := strings.SplitAfter(text, "\n")
		n := r.IntN(len(lines))
		return strings.Join(lines[:n], "") + strings.Join(lines[n+1:], "")
	}
	return text[:at] + editPieces[r.IntN(len(editPieces))] + text[at:]
}

// TestLSPEdits edits files at random in one session, between questions at random places and broken
// messages. The server answers all of them, and its memory does not grow with their number.
func TestLSPEdits(t *testing.T) {
	edits := 400
	if os.Getenv("STARHOST_LONG") != "" {
		edits = 10_000
	}
	before := goleak.IgnoreCurrent()
	c := startLSP(t, lspPlugin)
	files := []string{oncall, "plugins/oncall/lib/text.star", "plugins/oncall/golden/a.txtar", "plugins/single.star"}
	start := map[string]string{
		oncall: longLSPPlugin, files[1]: lspPlugin[files[1]], files[3]: longLSPPlugin,
		files[2]: "A case.\n-- case.star --\nfire(\"pre_tool_call\", tool = \"x\")\n-- want --\n",
	}
	methods := []string{
		"textDocument/completion", "textDocument/hover", "textDocument/signatureHelp", "textDocument/definition", "textDocument/documentSymbol",
		"textDocument/formatting", "textDocument/prepareRename", "textDocument/rename", "textDocument/codeAction", "textDocument/codeLens", "no/such",
	}
	r := rand.New(rand.NewPCG(1, 2))
	texts := map[string]string{}
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var middle uint64
	for i := range edits {
		name := files[r.IntN(len(files))]
		if text := texts[name]; text == "" || len(text) > 20_000 || r.IntN(60) == 0 {
			texts[name] = start[name]
		}
		texts[name] = edit(r, texts[name])
		c.change(name, texts[name])
		switch r.IntN(30) {
		case 0:
			c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}})
		case 1:
			c.notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": c.uri(name)}})
		case 2:
			c.notify("textDocument/didChange", []int{1})
			c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": "untitled:a.star", "text": "x"}})
		case 3:
			c.write("{broken")
			c.answer()
		}
		method := methods[r.IntN(len(methods))]
		place := map[string]int{"line": r.IntN(60) - 1, "character": r.IntN(50) - 1}
		result, failure := c.try(method, map[string]any{
			"textDocument": map[string]any{"uri": c.uri(name)}, "position": place, "newName": fmt.Sprint("n", i),
			"range": map[string]any{"start": place, "end": place},
		})
		if strings.Contains(failure, "bug of starhost") || failure == "" && !json.Valid(result) {
			t.Fatalf("edit %d: %s at %v of\n%s\ngot %s %s", i, method, place, texts[name], result, failure)
		}
		if i%50 == 0 {
			texts[oncall] = edit(r, longLSPPlugin)
			c.change(oncall, texts[oncall])
			c.diagnostics(oncall)
		}
		if i == edits/2 {
			middle = heap()
		}
	}
	if end := heap(); end > middle+24<<20 {
		t.Errorf("memory: got %d KiB after %d edits and %d KiB after %d", end>>10, edits, middle>>10, edits/2)
	}
	if got := c.labels(c.at(oncall, "def f(ctx):\n    ctx.|\n")); len(got) < 10 {
		t.Errorf("after the edits: got %q", got)
	}
	if code := c.end(); code != report.ExitOK {
		t.Errorf("exit code: got %d, want 0", code)
	}
	goleak.VerifyNone(t, before)
}

const longLSPPlugin = `"""Pages teams."""

plugin(permissions = ["http:pager.internal"], config = {"team": "checkout", "max": 3})

load("lib/text.star", "shorten")

def page(ctx, team, times = 1):
    """Pages a team.

    Args:
      team (string): Which one.
      times (integer): How often.
    """
    for i in range(times):
        reply = ctx.http.get("https://pager.internal/", params = {"team": team})
        if reply.status != 200:
            fail("no", shorten(reply.text))
    return [t for t in [team, config.team] if t]

def guard(tool, arguments):
    if tool == "rm" and "all" in arguments:
        return deny("not all")

register_tool(page, approval = "ask")
register_hook("pre_tool_call", guard, match = ["rm", "page"])
register_fragment_loader("runbook", lambda service: fragment(service, source = "%s.md" % service))
`
