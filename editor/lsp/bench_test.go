package lsp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
)

// newTestServer returns a server without a client.
func newTestServer() *server {
	r := &Reference{
		Topics: builtins.Topics(nil), Steps: call.Topic{Entries: builtins.CaseTable(nil, nil)},
		Events: starhost.Events(), Permissions: effects.PermissionKinds(),
		Entry: func(e call.Entry) string { return e.Doc },
	}
	return &server{
		options: Options{Root: func(string) string { return "" }}, words: newWords(r),
		docs: map[string]*document{}, byRoot: map[string]*Facts{},
	}
}

// longPlugin returns a plugin of n lines, in which the last function has a statement.
func longPlugin(n int, statement string) string {
	var b strings.Builder
	b.WriteString("\"\"\"Pages.\"\"\"\n")
	for i := 0; i < n-10; i += 10 {
		fmt.Fprintf(&b, `
def page_%d(ctx, team, times = 1):
    """Pages a team."""
    level = ctx.config.level
    for i in range(times):
        if team == "checkout" and level > %d:
            ctx.log("info", "paging", team = team, round = i)
    return [t for t in [team, "search"] if t.startswith("c")]

register_tool(page_%d, name = "page_%d", description = "Pages %d")
`, i, i, i, i, i)
	}
	b.WriteString("\ndef last(ctx):\n    resp = ctx.http.get(\"https://a\")\n    " + statement + "\n")
	return b.String()
}

// BenchmarkCompletion measures one word typed at the end of a file of 5,000 lines: the text
// arrives, the server parses it and answers.
func BenchmarkCompletion(b *testing.B) {
	for _, bench := range []struct{ name, statement string }{
		{"parses", "x = ctx.ht"}, {"broken", "x = ctx."}, {"names", "x = pag"}, {"broken call", "x = (ctx.http.get("},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := newTestServer()
			text := longPlugin(5000, bench.statement)
			d := &document{uri: "file:///p.star", path: "/p.star"}
			d.setText(longPlugin(5000, "pass"), 1, false)
			d.outline()
			at := docParams{Position: newSource(text, 0, false).position(len(text) - 1)}
			b.ReportAllocs()
			for b.Loop() {
				d.setText(text, 1, false)
				result, err := s.complete(d, at)
				if list := result.(completionList); err != nil || len(list.Items) == 0 {
					b.Fatal("no completions", err)
				}
			}
		})
	}
}
