package starlark

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the tables in docs/sandbox.md")

// TestDocsHaveThePrices checks that the tables of docs/sandbox.md are those of the code.
func TestDocsHaveThePrices(t *testing.T) {
	const path, begin, end = "../docs/sandbox.md", "<!-- prices -->\n", "<!-- /prices -->"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no part for the prices", path)
	}
	tables := pricesText()
	if *update {
		if err := os.WriteFile(path, []byte(head+begin+tables+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(tables, old); diff != "" {
		t.Errorf("%s is stale; -update writes it (-want +got):\n%s", path, diff)
	}
}

// pricesText returns the tables in Markdown.
func pricesText() string {
	var b strings.Builder
	b.WriteString("\n| operation | pays for | steps | bytes |\n|---|---|---|---|\n")
	for _, p := range priceTable {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", strings.ReplaceAll(p.op, "|", `\|`), p.unit, p.stepText(), p.byteText())
	}
	b.WriteString("\n| method | pays for | steps | bytes |\n|---|---|---|---|\n")
	for _, typ := range slices.Sorted(maps.Keys(methods)) {
		for _, name := range slices.Sorted(maps.Keys(methods[typ])) {
			m := methods[typ][name]
			what, steps, bytes := m.unit, m.stepText(), m.byteText()
			if m.note != "" {
				what, steps, bytes = m.note, "", ""
			}
			fmt.Fprintf(&b, "| `%s.%s` | %s | %s | %s |\n", typ, name, what, steps, bytes)
		}
	}
	b.WriteString("\n| function | pays |\n|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, functions[name].note)
	}
	return b.String() + "\n"
}

func (p *price) stepText() string {
	switch {
	case p.per == 0:
		return ""
	case p.per < 1:
		return fmt.Sprintf("%g each", 1/p.per)
	}
	return fmt.Sprintf("1 for %g", p.per)
}

func (p *price) byteText() string {
	var parts []string
	if p.bytes > 0 {
		parts = append(parts, fmt.Sprintf("%d each", p.bytes))
	}
	if p.fixed > 0 {
		parts = append(parts, fmt.Sprint(p.fixed))
	}
	return strings.Join(parts, ", and ")
}
