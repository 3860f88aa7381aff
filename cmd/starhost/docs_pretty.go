package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// printDocsPretty explains the names of a part, or lists all names.
func (a *app) printDocsPretty(r reference) error {
	if r.name == "" {
		a.printContents(r)
		return nil
	}
	if r.name != casesName {
		for _, t := range r.topics {
			a.out.Section("")
			a.printEntries(t.Entries, r.name)
		}
	}
	a.printCases(r)
	for _, e := range r.events {
		a.out.Section("")
		a.printEvent(e)
	}
	for _, k := range r.permissions {
		a.out.Section("")
		a.printPermission(k)
	}
	for _, k := range r.keys {
		a.out.Section("")
		a.printKey(k)
	}
	for _, c := range r.codes {
		a.out.Section("")
		a.printCode(c)
	}
	for _, s := range r.subjects {
		a.out.Section("")
		a.printSubject(s)
	}
	return nil
}

// printContents prints a line for each name.
func (a *app) printContents(r reference) {
	var names, cases, events, permissions, keys, codes, words [][]string
	for _, e := range r.entries() {
		names = append(names, []string{"  " + e.Name, texttable.FirstLine(e.Doc)})
	}
	for _, t := range r.cases {
		cases = append(cases, summaryRows(t.Entries)...)
	}
	for _, e := range r.events {
		events = append(events, []string{"  " + e.Name, e.Fires})
	}
	for _, k := range r.permissions {
		permissions = append(permissions, []string{"  " + k.Name, firstSentence(k.Doc)})
	}
	for _, k := range r.keys {
		keys = append(keys, []string{"  " + k.Name, firstSentence(k.Doc)})
	}
	for _, c := range r.codes {
		codes = append(codes, []string{"  " + c.Code, c.Title})
	}
	for _, s := range r.subjects {
		words = append(words, []string{"  " + s.Words()[0], firstSentence(s.text)})
	}
	for _, part := range []struct {
		title string
		rows  [][]string
	}{{"Builtins", names}, {"Golden cases", cases}, {"Events", events}, {"Permissions", permissions}, {"Config", keys}, {"Errors", codes}, {"Topics", words}} {
		a.out.Section(part.title + "\n")
		a.out.Table(part.rows)
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
func (a *app) printEntries(entries []call.Entry, name string) {
	for i, e := range entries {
		if e.Name != name {
			fmt.Fprintf(&a.out, "%s\n    %s\n", signature(e), texttable.FirstLine(e.Doc))
			continue
		}
		fmt.Fprintf(&a.out, "%s\n\n%s\n", signature(e), strings.TrimSpace(e.Doc))
		a.printExample("Example", e.Example)
		if i < len(entries)-1 {
			a.out.WriteString("\n")
		}
	}
}

func (a *app) printEvent(e starhost.EventSpec) {
	fmt.Fprintf(&a.out, "%s fires when: %s.\n\n", e.Name, e.Fires)
	a.printLine("arguments", strings.Join(e.Args, ", "))
	returns := strings.Join(allowedReturns(e), ", ")
	a.printLine("may return", strings.Replace(returns, "context", "context (a string, fragments, attachments)", 1))
	a.printLine("match", matchDoc(e))
	a.printLine("failure", failureDoc(e))
}

func (a *app) printPermission(k effects.PermissionKind) {
	fmt.Fprintf(&a.out, "%s\n\n%s\n", permissionForm(k), k.Doc)
	a.printExample("Example", permissionExample(k))
}

// permissionExample returns a declaration of a permission.
func permissionExample(k effects.PermissionKind) string {
	return "plugin(permissions = [" + strconv.Quote(k.Example) + "])"
}

func (a *app) printKey(k loader.Key) {
	fmt.Fprintf(&a.out, "%s\n\n%s\n\n", k.Name, k.Doc)
	a.printLine("value", k.Wants)
	a.printLine("default", k.Default)
	a.printLine("project", k.Project)
	a.printExample("Example", k.Example)
}

func (a *app) printCode(c starlark.Code) {
	fmt.Fprintf(&a.out, "%s: %s\n\n%s\n", c.Code, c.Title, c.Text)
	a.printExample("Fails", c.Bad)
	a.printExample("Works", c.Good)
}

// printExample prints an example, if there is one.
func (a *app) printExample(title, text string) {
	if text = printableExample(text); text == "" {
		return
	}
	fmt.Fprintf(&a.out, "\n%s:\n", title)
	for line := range strings.Lines(text + "\n") {
		a.out.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}
}
