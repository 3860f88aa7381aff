package docgen

import (
	"fmt"
	"strings"

	"github.com/starhost/starhost/guard"
	"github.com/starhost/starhost/internal/markdown"
	"github.com/starhost/starhost/internal/page"
)

// packsName is the name of all packs of rules; packs.git is one of them.
const packsName = "packs"

// packs returns the packs of rules of guards.
func packs() []guard.Pack {
	all, err := guard.Packs()
	if err != nil {
		panic(err) // TestPacks reads all of them
	}
	return all
}

// A ruleJSON is a rule of a pack.
type ruleJSON struct {
	Pack     string `json:"pack"`
	Rule     string `json:"rule"`
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Match    string `json:"match"`
	NotMatch string `json:"not_match"`
}

// exampleOf returns the first example of a list on one line.
func exampleOf(list []guard.Example) string {
	return strings.ReplaceAll(list[0].String(), "\n", "⏎")
}

// printPack lists the rules of a pack.
func printPack(p *page.Page, pack guard.Pack) {
	fmt.Fprintf(p, "%s.%s: %s\n\n", packsName, pack.Name, pack.About)
	rows := make([][]string, len(pack.Rules))
	for i, r := range pack.Rules {
		rows[i] = []string{"  " + r.ID(), r.Decision, r.Reason, exampleOf(r.Match)}
	}
	p.Table(rows)
}

// packsBody returns a table for each pack.
func packsBody(r Reference) string {
	var b strings.Builder
	for _, pack := range r.Packs {
		rows := [][]string{{"rule", "decision", "reason", "matches", "does not match"}}
		for _, rule := range pack.Rules {
			rows = append(rows, []string{
				"`" + rule.Name + "`", rule.Decision, markdown.Cell(rule.Reason), markdown.Code(exampleOf(rule.Match)), markdown.Code(exampleOf(rule.NotMatch)),
			})
		}
		title := pack.Name
		if r.Name != "" { // the title says what docs was asked for
			title = packsName + "." + title
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s", title, markdown.Wrap(markdown.Escape(pack.About)), markdown.Table(rows))
	}
	return b.String()
}
