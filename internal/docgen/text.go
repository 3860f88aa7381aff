package docgen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
)

// WriteText explains the names of a part, or lists all names.
func (r Reference) WriteText(p *page.Page) {
	if r.Name == "" {
		printContents(p, r)
		return
	}
	if r.Name != casesName {
		for _, t := range r.Topics {
			p.Section("")
			printEntries(p, t.Entries, r.Name)
		}
	}
	printCases(p, r)
	for _, e := range r.Events {
		p.Section("")
		printEvent(p, e)
	}
	for _, k := range r.Permissions {
		p.Section("")
		printPermission(p, k)
	}
	for _, k := range r.Keys {
		p.Section("")
		printKey(p, k)
	}
	for _, c := range r.Codes {
		p.Section("")
		printCode(p, c)
	}
	for _, s := range r.Subjects {
		p.Section("")
		printSubject(p, s)
	}
}

// printContents prints a line for each name.
func printContents(p *page.Page, r Reference) {
	var names, cases, events, permissions, keys, codes, words [][]string
	for _, e := range r.Entries() {
		names = append(names, []string{"  " + e.Name, texttable.FirstLine(e.Doc)})
	}
	for _, t := range r.Cases {
		cases = append(cases, summaryRows(t.Entries)...)
	}
	for _, e := range r.Events {
		events = append(events, []string{"  " + e.Name, e.Fires})
	}
	for _, k := range r.Permissions {
		permissions = append(permissions, []string{"  " + k.Name, firstSentence(k.Doc)})
	}
	for _, k := range r.Keys {
		keys = append(keys, []string{"  " + k.Name, firstSentence(k.Doc)})
	}
	for _, c := range r.Codes {
		codes = append(codes, []string{"  " + c.Code, c.Title})
	}
	for _, s := range r.Subjects {
		words = append(words, []string{"  " + s.Words()[0], firstSentence(s.text)})
	}
	for _, part := range []struct {
		title string
		rows  [][]string
	}{{"Builtins", names}, {"Golden cases", cases}, {"Events", events}, {"Permissions", permissions}, {"Config", keys}, {"Errors", codes}, {"Topics", words}} {
		p.Section(part.title + "\n")
		p.Table(part.rows)
	}
}

// firstSentence returns the text up to the first full stop and space.
func firstSentence(text string) string {
	if i := strings.Index(text, ". "); i >= 0 {
		return text[:i+1]
	}
	return text
}

// printEntries prints the builtin of the name in full, and its members in two lines each.
func printEntries(p *page.Page, entries []call.Entry, name string) {
	for i, e := range entries {
		if e.Name != name {
			fmt.Fprintf(p, "%s\n    %s\n", Signature(e), texttable.FirstLine(e.Doc))
			continue
		}
		fmt.Fprintf(p, "%s\n\n%s\n", Signature(e), strings.TrimSpace(e.Doc))
		printExample(p, "Example", e.Example)
		if i < len(entries)-1 {
			p.WriteString("\n")
		}
	}
}

func printEvent(p *page.Page, e starhost.EventSpec) {
	fmt.Fprintf(p, "%s fires when: %s.\n\n", e.Name, e.Fires)
	report.WriteLine(p, "arguments", strings.Join(e.Args, ", "))
	returns := strings.Join(allowedReturns(e), ", ")
	report.WriteLine(p, "may return", strings.Replace(returns, "context", "context (a string, fragments, attachments)", 1))
	report.WriteLine(p, "match", matchDoc(e))
	report.WriteLine(p, "failure", failureDoc(e))
}

func printPermission(p *page.Page, k effects.PermissionKind) {
	fmt.Fprintf(p, "%s\n\n%s\n", PermissionForm(k), k.Doc)
	printExample(p, "Example", PermissionExample(k))
}

// PermissionExample returns a declaration of a permission.
func PermissionExample(k effects.PermissionKind) string {
	return "plugin(permissions = [" + strconv.Quote(k.Example) + "])"
}

func printKey(p *page.Page, k loader.Key) {
	fmt.Fprintf(p, "%s\n\n%s\n\n", k.Name, k.Doc)
	report.WriteLine(p, "value", k.Wants)
	report.WriteLine(p, "default", k.Default)
	report.WriteLine(p, "project", k.Project)
	printExample(p, "Example", k.Example)
}

func printCode(p *page.Page, c starlark.Code) {
	fmt.Fprintf(p, "%s: %s\n\n%s\n", c.Code, c.Title, c.Text)
	printExample(p, "Fails", c.Bad)
	printExample(p, "Works", c.Good)
}

// printExample prints an example, if there is one.
func printExample(p *page.Page, title, text string) {
	if text = printableExample(text); text == "" {
		return
	}
	fmt.Fprintf(p, "\n%s:\n", title)
	for line := range strings.Lines(text + "\n") {
		p.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}
}
