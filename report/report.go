// Package report writes for people and programs what plugins register and do, what went wrong, and how
// a prompt came about: which fragments and attachments it
// contains, which hooks ran, and whether a provider's cache of an earlier prompt still serves.
// The commands print these texts and golden cases contain some. The package runs nothing.
package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/texttable"
)

// labelWidth is the width of the column of labels.
const labelWidth = 13

// Text describes a prompt: a labelled line for each topic, and a row for each fragment and
// attachment with its status. Topics without content have no line. The command eval prints the
// text, and the wanted output of golden cases contains it.
func Text(p *host.Prompt) string {
	var b strings.Builder
	if len(p.Fragments) > 0 {
		WriteLine(&b, "fragments", fragmentCounts(p))
		b.WriteString(fragmentTable(p.Fragments))
	}
	if len(p.Attachments) > 0 {
		WriteLine(&b, "attachments", attachmentCounts(p.Attachments))
		b.WriteString(attachmentTable(p.Attachments))
	}
	WriteLine(&b, "hooks", HookLines(p.Hooks)...)
	WriteLine(&b, "tools", strings.Join(toolNames(p.Tools), ", "))
	WriteLine(&b, "model", p.Model)
	if options := string(p.Options); options != "{}" {
		WriteLine(&b, "options", options)
	}
	if c := p.CacheBreak; c != nil {
		WriteLine(&b, "cache break", cacheBreak(c))
	}
	WriteLine(&b, "prompt", fmt.Sprintf("%d B, about %s%s", p.Bytes(), texttable.Count(tokens(p), "token"), attachmentBytes(p.Attachments)))
	return b.String()
}

// attachmentBytes says how much the attachments add to the size of a request, "" for none.
func attachmentBytes(rows []*fragments.AttachmentRow) string {
	n, bytes, links := 0, 0, 0
	for _, r := range rows {
		switch {
		case r.Status != fragments.Kept:
		case r.URL != "":
			links++
		default:
			n++
			bytes += r.Bytes()
		}
	}
	text := ""
	if n > 0 {
		text = fmt.Sprintf(", and %s of %d B", texttable.Count(n, "attachment"), bytes)
	}
	if links > 0 {
		text += ", and " + texttable.Count(links, "attachment") + " by URL"
	}
	return text
}

// Line describes a prompt in one line, without sizes and hashes, which change with every word: the
// sources of its fragments and attachments, what is not sent and why, and the tools, the model and
// the options. A list of more than 12 names is cut.
func Line(p *host.Prompt) string {
	var parts []string
	sent, others := map[bool][]string{}, []string(nil) // by whether it is an attachment
	add := func(isAttachment bool, name string, s fragments.Status, reason string) {
		name = texttable.OneLine(name)
		if s == fragments.Kept {
			sent[isAttachment] = append(sent[isAttachment], name)
			return
		}
		others = append(others, name+" "+verdict(s, reason))
	}
	for _, r := range p.Fragments {
		add(false, r.Source, r.Status, r.Reason)
	}
	for _, r := range p.Attachments {
		add(true, attachmentName(&r.Attachment), r.Status, r.Reason)
	}
	for _, part := range []struct {
		what  string
		names []string
	}{{"fragments", sent[false]}, {"attachments", sent[true]}, {"not sent", others}, {"tools", toolNames(p.Tools)}} {
		if text := joinNames(part.names); text != "" {
			parts = append(parts, part.what+": "+text)
		}
	}
	if n := p.Given - len(p.Fragments); n > 0 {
		parts = append(parts, fmt.Sprintf("%d repeated", n))
	}
	if p.Model != "" {
		parts = append(parts, "model: "+p.Model)
	}
	if options := string(p.Options); options != "{}" {
		parts = append(parts, "options: "+options)
	}
	if c := p.CacheBreak; c != nil {
		parts = append(parts, "cache break: "+c.Cause)
	}
	var b strings.Builder
	WriteLine(&b, "prompt", cmp.Or(strings.Join(parts, "; "), "no fragments"))
	return b.String()
}

// joinNames joins at most 12 names.
func joinNames(names []string) string {
	const most = 12
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// tokens estimates how many tokens a prompt's system text and new user message have: a quarter of
// their bytes.
func tokens(p *host.Prompt) int { return p.Bytes() / 4 }

// WriteLine writes a labelled line, further texts below the first, each on one line. Without a
// text it writes nothing.
func WriteLine(w io.Writer, label string, texts ...string) {
	for _, text := range texts {
		if text != "" {
			fmt.Fprintf(w, "%-*s%s\n", labelWidth, label, texttable.EscapeLine(text))
			label = ""
		}
	}
}

// fragmentCounts counts the fragments by status: "4 given, 3 kept, 1 repeated (46 B saved)".
func fragmentCounts(p *host.Prompt) string {
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

// otherCounts counts the rows that are not part of the request, by status.
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
	near := map[nearKey]int{} // the places of the first contents
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
			place, r.ID.Short(), texttable.OneLine(r.Source), texttable.Size(len(r.Content)),
			providers(r.Provenance()), target, strings.Join(remarks(r, near), "; "),
		}
	}
	return texttable.Align(cells, 3)
}

// A nearKey is equal for contents for one target that differ in their line ends, or in blanks at
// their end, only.
type nearKey struct {
	target  fragments.Target
	content string
}

// remarks says why a fragment is not sent, which other one is nearly the same, where else it comes
// from, and what of later offers is not in the prompt.
func remarks(r *fragments.Row, near map[nearKey]int) (list []string) {
	if text := verdict(r.Status, r.Reason); text != "" {
		list = append(list, text)
	}
	if r.Place > 0 {
		key := nearKey{r.Target, strings.TrimRight(strings.ReplaceAll(r.Content, "\r\n", "\n"), " \t\r\n")}
		if first, ok := near[key]; ok {
			list = append(list, fmt.Sprintf("nearly the same as %d: line ends or blanks at the end differ", first))
		} else {
			near[key] = r.Place
		}
	}
	var also, unused []string
	add := func(list *[]string, text string) {
		if !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, o := range r.Again {
		if o.Source != r.Source && o.Source != "" {
			add(&also, texttable.OneLine(o.Source))
		}
	}
	for _, f := range r.Unlike {
		if f.Title != r.Title {
			add(&unused, "title "+strconv.Quote(errtext.Clip(f.Title)))
		}
		if f.Priority != r.Priority {
			add(&unused, fmt.Sprintf("priority %d", f.Priority))
		}
	}
	if also != nil {
		list = append(list, "also from "+joinNames(also))
	}
	if unused != nil {
		list = append(list, "not used: "+joinNames(unused))
	}
	return list
}

func attachmentTable(rows []*fragments.AttachmentRow) string {
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = AttachmentCells(strconv.Itoa(i+1), r.ID, &r.Attachment)
		cells[i] = append(cells[i], providers(r.Provenance()), verdict(r.Status, r.Reason))
	}
	return texttable.Align(cells, 4)
}

// AttachmentCells returns the cells of an attachment's row in a table: its place, hash, name,
// type and size.
func AttachmentCells(place string, id fragments.Hash, a *fragments.Attachment) []string {
	what := a.Type
	if a.Width > 0 {
		what += fmt.Sprintf(" %dx%d", a.Width, a.Height)
	}
	bytes := texttable.Size(a.Bytes())
	if a.URL != "" {
		bytes = "by URL"
	}
	return []string{place, id.Short(), texttable.OneLine(attachmentName(a)), what, bytes}
}

// attachmentName returns the name of an attachment for people.
func attachmentName(a *fragments.Attachment) string { return cmp.Or(a.Name, a.URL, a.Source) }

// providers lists the plugins that gave a content, each once, in order.
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

// verdict says why a fragment or an attachment is not part of the request, "" if it is.
func verdict(s fragments.Status, reason string) string {
	switch {
	case s == fragments.Kept:
		return ""
	case reason == "":
		return string(s)
	}
	return string(s) + ": " + texttable.OneLine(reason)
}

// HookLines lists the handlers of each event with their actions, a line for each event in the
// order of the first calls: "pre_llm_call: oncall (context 46 B), policy".
func HookLines(traces []host.HookTrace) []string {
	var lines []string
	at := map[string]int{}
	for _, t := range traces {
		text := t.Plugin
		if did := strings.TrimSpace(string(t.Action) + " " + texttable.OneLine(t.Detail)); did != "" {
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
	return jsontext.List(tools, func(t *starhost.Tool) string { return t.Name })
}

func cacheBreak(c *host.CacheBreak) string {
	text := fmt.Sprintf("at byte %d: %s", c.Offset, c.Cause)
	if c.Plugin != "" {
		text += fmt.Sprintf(" by %s (%s)", c.Plugin, c.Pos)
	}
	return text
}
