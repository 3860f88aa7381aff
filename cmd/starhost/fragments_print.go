package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/store"
)

func (l fragmentList) WriteText(res *Result) {
	var rows [][]string
	for _, item := range l.items {
		rows = append(rows, []string{
			item.ID.Short(), item.Stored.Format(time.DateOnly), fmt.Sprintf("%d B", item.Size),
			texttable.Cell(strings.Join(item.Aliases, ", ")), texttable.Cell(item.Source), texttable.Cell(item.Begin),
		})
	}
	res.out.Table(rows)
	if l.more {
		res.out.WriteString("There are more: see --limit and --query.\n")
	}
}

// itemJSON is a stored fragment.
type itemJSON struct {
	ID      string   `json:"id"`
	Size    int64    `json:"size"`
	Stored  string   `json:"stored"`
	Source  string   `json:"source"`
	Aliases []string `json:"aliases"`
	Begin   string   `json:"begin"`
}

func newItemJSON(item *store.Item) itemJSON {
	return itemJSON{
		item.ID.String(), item.Size, item.Stored.Format(time.RFC3339), item.Source,
		append([]string{}, item.Aliases...), item.Begin,
	}
}

func (l fragmentList) WriteJSON(res *Result) error {
	return res.out.JSON(struct {
		head
		Fragments []itemJSON `json:"fragments"`
		More      bool       `json:"more"`
	}{head{"starhost.fragments/1", true}, jsontext.List(l.items, newItemJSON), l.more})
}

func (f shownFragment) WriteText(res *Result) {
	res.out.WriteString(f.text)
	if !strings.HasSuffix(f.text, "\n") && f.toTerminal {
		res.out.WriteString("\n")
	}
}

func (f shownFragment) WriteJSON(res *Result) error {
	return res.out.JSON(struct {
		head
		ID   string `json:"id"`
		Text string `json:"text"`
	}{head{"starhost.fragment/1", true}, f.id.String(), f.text})
}

func (n namedFragment) WriteText(res *Result) {
	if n.size < 0 {
		fmt.Fprintf(&res.out, "removed %s, which was sha256:%s\n", n.alias, n.id)
	} else {
		fmt.Fprintf(&res.out, "%s is sha256:%s, %d B\n", n.alias, n.id, n.size)
	}
}

func (n namedFragment) WriteJSON(res *Result) error {
	return res.out.JSON(struct {
		head
		Alias string `json:"alias"`
		ID    string `json:"id"`
	}{head{"starhost.alias/1", true}, n.alias, n.id.String()})
}

func (loaders loaderList) WriteText(res *Result) {
	var rows [][]string
	for _, l := range loaders {
		rows = append(rows, []string{prefixText(l.Prefix), l.Plugin, texttable.FirstLine(l.Description)})
	}
	res.out.Table(rows)
}

// prefixText returns how references with a prefix begin.
func prefixText(prefix string) string {
	switch prefix {
	case "":
		return "PATH"
	case "-":
		return "-"
	}
	return prefix + ":"
}

func (loaders loaderList) WriteJSON(res *Result) error {
	return res.out.JSON(struct {
		head
		Loaders []report.LoaderJSON `json:"loaders"`
		tail
	}{head{"starhost.loaders/1", len(res.problems) == 0}, jsontext.List(loaders, res.view().NewLoaderJSON), res.tail()})
}

func (c collection) WriteText(res *Result) {
	verb := "removed"
	if c.dry {
		verb = "would remove"
	}
	fmt.Fprintf(&res.out, "%s %d fragments, %d B\n", verb, c.removed.Contents, c.removed.Bytes)
}

func (c collection) WriteJSON(res *Result) error {
	return res.out.JSON(struct {
		head
		DryRun  bool       `json:"dry_run"`
		Removed amountJSON `json:"removed"`
	}{head{"starhost.gc/1", true}, c.dry, newAmountJSON(c.removed)})
}

type amountJSON struct {
	Fragments int64 `json:"fragments"`
	Bytes     int64 `json:"bytes"`
}

func newAmountJSON(n store.Amount) amountJSON { return amountJSON{n.Contents, n.Bytes} }

func (r storeReport) WriteText(res *Result) {
	rows := [][]string{
		{"store", r.name},
		{"fragments", fmt.Sprintf("%d, %d B", r.Contents, r.Bytes)},
		{"without alias", fmt.Sprintf("%d, %d B", r.Unnamed.Contents, r.Unnamed.Bytes)},
		{"aliases", fmt.Sprint(r.Aliases)},
	}
	if r.Contents > 0 {
		rows = append(rows, []string{"stored", r.Oldest.Format(time.DateOnly) + " to " + r.Newest.Format(time.DateOnly)})
	}
	res.out.Table(rows)
}

func (r storeReport) WriteJSON(res *Result) error {
	at := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Format(time.RFC3339)
	}
	return res.out.JSON(struct {
		head
		Store   string     `json:"store"`
		All     amountJSON `json:"all"`
		Unnamed amountJSON `json:"without_alias"`
		Aliases int64      `json:"aliases"`
		Oldest  string     `json:"oldest"`
		Newest  string     `json:"newest"`
	}{head{"starhost.stats/1", true}, r.name, newAmountJSON(r.Amount), newAmountJSON(r.Unnamed), r.Aliases, at(r.Oldest), at(r.Newest)})
}
