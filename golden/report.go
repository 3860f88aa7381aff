package golden

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// labelWidth is where the text of a report's line begins.
const labelWidth = 13

// Report says what became of everything that was offered for a prompt: a line for
// each topic that there is something to say about, with a row below it for each
// fragment and attachment. It is part of what `eval` prints and of every
// case's want.
func Report(p *starhost.Prompt) string {
	var b strings.Builder
	if len(p.Fragments) > 0 {
		writeLine(&b, "fragments", fragmentCounts(p))
		b.WriteString(fragmentTable(p.Fragments))
	}
	if len(p.Attachments) > 0 {
		writeLine(&b, "attachments", attachmentCounts(p.Attachments))
		b.WriteString(attachmentTable(p.Attachments))
	}
	writeLine(&b, "hooks", HookLines(p.Hooks)...)
	writeLine(&b, "tools", strings.Join(toolNames(p.Tools), ", "))
	writeLine(&b, "model", p.Model)
	if options := string(p.Options); options != "{}" {
		writeLine(&b, "options", options)
	}
	if c := p.CacheBreak; c != nil {
		writeLine(&b, "cache break", cacheBreak(c))
	}
	writeLine(&b, "prompt", fmt.Sprintf("%d B, about %s", p.Bytes(), tokens(Tokens(p))))
	return b.String()
}

// tokens words a number of them.
func tokens(n int) string {
	if n == 1 {
		return "1 token"
	}
	return fmt.Sprintf("%d tokens", n)
}

// Tokens estimates the size of a prompt's system text and new user message in
// tokens: a quarter of their bytes.
func Tokens(p *starhost.Prompt) int { return p.Bytes() / 4 }

// writeLine writes a labelled line, further texts below the first. It writes
// nothing where there is no text.
func writeLine(b *strings.Builder, label string, texts ...string) {
	for _, text := range texts {
		if text != "" {
			b.WriteString(label + strings.Repeat(" ", labelWidth-len(label)) + text + "\n")
			label = ""
		}
	}
}

// fragmentCounts sums up the fragments: "4 given, 3 kept, 1 repeated (46 B saved)".
func fragmentCounts(p *starhost.Prompt) string {
	count := map[fragments.Status]int{}
	for _, r := range p.Fragments {
		count[r.Status]++
	}
	text := fmt.Sprintf("%d given, %d kept", p.Given, count[fragments.Kept])
	if n := p.Given - len(p.Fragments); n > 0 {
		text += fmt.Sprintf(", %d repeated", n)
	}
	text += otherCounts(count)
	if p.SavedBytes > 0 {
		text += fmt.Sprintf(" (%d B saved)", p.SavedBytes)
	}
	return text
}

func attachmentCounts(rows []*fragments.AttachmentRow) string {
	count := map[fragments.Status]int{}
	for _, r := range rows {
		count[r.Status]++
	}
	text := strconv.Itoa(count[fragments.Kept])
	if others := otherCounts(count); others != "" {
		text += " kept" + others
	}
	return text
}

// otherCounts counts what was not kept.
func otherCounts(count map[fragments.Status]int) string {
	text := ""
	for _, s := range []fragments.Status{fragments.InSession, fragments.Changed, fragments.Dropped} {
		if count[s] > 0 {
			text += fmt.Sprintf(", %d %s", count[s], s)
		}
	}
	return text
}

func fragmentTable(rows []*fragments.Row) string {
	cells := make([][]string, len(rows))
	for i, r := range rows {
		place := "-"
		if r.Place > 0 {
			place = strconv.Itoa(r.Place)
		}
		target := ""
		if r.Target == fragments.System {
			target = r.Target.String()
		}
		cells[i] = []string{
			place, r.ID.Short(), oneLine(r.Source), size(len(r.Content)),
			providers(r.Provenance()), target, verdict(r.Status, r.Reason),
		}
	}
	return table(cells, 3)
}

func attachmentTable(rows []*fragments.AttachmentRow) string {
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = attachmentCells(strconv.Itoa(i+1), r.ID, &r.Attachment)
		cells[i] = append(cells[i], providers(r.Provenance()), verdict(r.Status, r.Reason))
	}
	return table(cells, 4)
}

func attachmentCells(place string, id fragments.Hash, a *fragments.Attachment) []string {
	what := a.Type
	if a.Width > 0 {
		what += fmt.Sprintf(" %dx%d", a.Width, a.Height)
	}
	bytes := size(a.Bytes())
	if a.URL != "" {
		bytes = "by URL"
	}
	return []string{place, id.Short(), oneLine(cmp.Or(a.Name, a.URL, a.Source)), what, bytes}
}

// table aligns the cells of all rows, those of one column, sizes, at their ends.
// A column that is empty in all rows is left out.
func table(rows [][]string, sizes int) string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			if widths[i] > 0 {
				line += "  " + pad(cell, widths[i], i == sizes)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func pad(cell string, width int, right bool) string {
	space := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
	if right {
		return space + cell
	}
	return cell + space
}

func size(n int) string { return strconv.Itoa(n) + " B" }

// providers lists the plugins that offered a content, each once, in order.
func providers(list []fragments.Origin) string {
	var names []string
	seen := map[string]bool{"": true}
	for _, o := range list {
		if !seen[o.Plugin] {
			seen[o.Plugin] = true
			names = append(names, o.Plugin)
		}
	}
	return strings.Join(names, ", ")
}

// verdict says why something is not part of the request, "" if it is.
func verdict(s fragments.Status, reason string) string {
	switch {
	case s == fragments.Kept:
		return ""
	case reason == "":
		return string(s)
	}
	return string(s) + ": " + oneLine(reason)
}

// HookLines says what handlers did, a line for each event in the order of their
// first calls: "pre_llm_call: oncall (context 46 B), policy".
func HookLines(traces []starhost.HookTrace) []string {
	var lines []string
	at := map[string]int{}
	for _, t := range traces {
		text := t.Plugin
		if did := strings.TrimSpace(string(t.Action) + " " + oneLine(t.Detail)); did != "" {
			text += " (" + did + ")"
		}
		if i, ok := at[t.Event]; ok {
			lines[i] += ", " + text
			continue
		}
		at[t.Event] = len(lines)
		lines = append(lines, t.Event+": "+text)
	}
	return lines
}

func toolNames(tools []starhost.Tool) []string {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	return names
}

func cacheBreak(c *starhost.CacheBreak) string {
	text := fmt.Sprintf("at byte %d: %s", c.Offset, c.Cause)
	if c.Plugin != "" {
		text += fmt.Sprintf(" by %s (%s)", c.Plugin, c.Pos)
	}
	return text
}

// oneLine returns text as it is, or quoted if it has control characters.
func oneLine(text string) string {
	for _, r := range text {
		if r < ' ' || r == 0x7f {
			return strconv.Quote(text)
		}
	}
	return text
}
