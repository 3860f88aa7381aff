package docgen

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/markdown"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// introFiles has the title and the introduction of each page.
//
//go:embed intro
var introFiles embed.FS

// A Page is one page of the reference: an introduction and tables.
type Page struct {
	Name string // the file's name without .md
	body func(Reference) string
}

// Pages returns the pages in their order. Each module has its own, so that none is long.
func Pages() []Page {
	pages := []Page{
		{"builtins", builtinsBody},
		{"testing", testingBody},
		{"cases", casesBody},
		{"events", eventsBody},
		{"modules", modulesBody},
	}
	for _, t := range builtins.Topics(nil) {
		if t.Module {
			pages = append(pages, Page{"modules/" + t.Name, func(r Reference) string { return moduleBody(r, t.Name) }})
		}
	}
	return append(pages,
		Page{"permissions", permissionsBody},
		Page{"config", configBody},
		Page{"packs", packsBody},
		Page{"topics", subjectsBody},
		Page{"errors", errorsBody},
	)
}

// Text returns the whole page.
func (p Page) Text(r Reference) string { return strings.TrimLeft(p.Intro()+p.body(r), "\n") }

// Intro returns the beginning of a page. The page of a module begins with the module's description.
func (p Page) Intro() string {
	if strings.HasPrefix(p.Name, "modules/") {
		return ""
	}
	text, err := introFiles.ReadFile("intro/" + p.Name + ".md")
	if err != nil {
		panic(err) // go:embed has checked it
	}
	return string(text)
}

// WriteMarkdown prints all pages, or the part of them that has one name.
func (r Reference) WriteMarkdown(p *page.Page) error {
	for _, d := range Pages() {
		body := strings.TrimLeft(d.body(r), "\n")
		if r.Name == "" {
			body = d.Text(r)
		}
		if body != "" {
			p.Section(body)
		}
	}
	return nil
}

func builtinsBody(r Reference) string {
	var b strings.Builder
	for _, t := range r.Topics {
		// The steps of golden cases have their own page. A single one has its place in docs NAME.
		if !t.Module && (t.Name != stepsTopic || r.Name != "" && r.Name != casesName) {
			b.WriteString(topicBody("##", t))
		}
	}
	return b.String()
}

// modulesBody returns a table of the modules and their members, "" for a part of the reference.
func modulesBody(r Reference) string {
	if r.Name != "" {
		return ""
	}
	rows := [][]string{{"module", "what it is for", "members"}}
	for _, t := range r.Topics {
		if t.Module {
			var members []string
			for _, e := range t.Entries {
				members = append(members, strings.TrimPrefix(e.Name, t.Name+"."))
			}
			rows = append(rows, []string{"[" + t.Name + "](modules/" + t.Name + ".md)", markdown.Cell(texttable.FirstLine(t.Doc)), markdown.Code(members...)})
		}
	}
	return contentsTable(rows)
}

// moduleBody returns a module as a page, or the part of it that has a name.
func moduleBody(r Reference, name string) string {
	level := "##"
	if r.Name == "" {
		level = "#"
	}
	i := slices.IndexFunc(r.Topics, func(t call.Topic) bool { return t.Module && t.Name == name })
	if i < 0 {
		return ""
	}
	return topicBody(level, r.Topics[i])
}

// topicBody returns the chapter of a topic. level is the sign of its heading.
func topicBody(level string, t call.Topic) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s %s\n\n%s\n", level, t.Name, markdown.Wrap(markdown.Escape(t.Doc)))
	rows := [][]string{{"name", "what it does"}}
	for _, e := range t.Entries {
		rows = append(rows, []string{"`" + e.Name + "`", markdown.Cell(texttable.FirstLine(e.Doc))})
	}
	b.WriteString(contentsTable(rows))
	for _, e := range t.Entries {
		b.WriteString("\n" + entryHeading(level+"#", e) + "\n" + EntryBody(e))
	}
	return b.String()
}

// EntryBody returns the description and the example of a builtin.
func EntryBody(e call.Entry) string {
	return markdown.Wrap(markdown.Escape(strings.TrimSpace(e.Doc))) + "\n" + CodeBlock(e.Example)
}

// entryHeading returns the heading of a builtin: its signature, or its name above a long
// signature.
func entryHeading(level string, e call.Entry) string {
	heading := level + " `" + Signature(e) + "`\n"
	if utf8.RuneCountInString(heading) > markdown.Columns {
		heading = level + " `" + e.Name + "`\n\n```text\n" + Signature(e) + "\n```\n"
	}
	return heading
}

func eventsBody(r Reference) string {
	var b strings.Builder
	rows := [][]string{{"event", "fires when", "may return"}}
	for _, e := range r.Events {
		rows = append(rows, []string{"`" + e.Name + "`", markdown.Cell(e.Fires), markdown.Code(allowedReturns(e)...)})
	}
	b.WriteString(contentsTable(rows))
	for _, e := range r.Events {
		b.WriteString(EventSection(e))
	}
	return b.String()
}

// EventSection returns the section of a page about an event: its arguments and its decisions.
func EventSection(e starhost.EventSpec) string {
	rows := [][]string{{"argument", "type", "what it is"}}
	for _, arg := range argsOf(e) {
		rows = append(rows, []string{markdown.Code(arg.Name), markdown.Code(arg.Type), markdown.Cell(arg.Doc)})
	}
	match := matchDoc(e)
	if match != "" {
		match = " `match` takes " + match + "."
	}
	returns := cmp.Or(markdown.Code(allowedReturns(e)...), "nothing")
	text := fmt.Sprintf("Fires when: %s. Handlers may return %s. A failure of a handler %s.%s",
		markdown.Escape(e.Fires), returns, failureDoc(e), match)
	return fmt.Sprintf("\n## %s\n\n%s\n\n%s", e.Name, markdown.Wrap(text), markdown.Table(rows))
}

func permissionsBody(r Reference) string {
	if len(r.Permissions) == 0 {
		return ""
	}
	rows := [][]string{{"permission", "what it allows", "example"}}
	for _, k := range r.Permissions {
		rows = append(rows, []string{markdown.Code(PermissionForm(k)), markdown.Cell(k.Doc), markdown.Code(k.Example)})
	}
	return "\n" + markdown.Table(rows)
}

// configBody returns the keys of the config by the tasks of users, or the keys of a part.
func configBody(r Reference) string {
	if len(r.Keys) == 0 {
		return ""
	}
	if r.Name != "" {
		return keysBody(r.Keys)
	}
	var b strings.Builder
	for i, first := range r.Keys {
		sameTask := func(k loader.Key) bool { return k.Task == first.Task }
		if !slices.ContainsFunc(r.Keys[:i], sameTask) {
			fmt.Fprintf(&b, "\n## %s\n\n%s\n%s", first.Task.Title, markdown.Wrap(first.Task.Doc), keysBody(filter(r.Keys, sameTask)))
		}
	}
	return b.String()
}

// keysBody returns a table of keys, and an example that sets them.
func keysBody(keys []loader.Key) string {
	rows := [][]string{{"key", "value", "default", "a project's file", "what it does"}}
	for _, k := range keys {
		row := []string{markdown.Code(k.Name), markdown.Cell(k.Wants), markdown.Code(k.Default), k.Project, markdown.Cell(k.Doc)}
		rows = append(rows, row)
	}
	return "\n" + markdown.Table(rows) + "\n```toml\n" + ExampleConfig(keys) + "```\n"
}

// ExampleConfig returns a config that sets each key to its example.
func ExampleConfig(keys []loader.Key) string {
	var b strings.Builder
	last := ""
	for _, k := range keys {
		name, value, _ := strings.Cut(k.Example, " = ")
		dot := strings.LastIndexByte(name, '.')
		if table := name[:dot]; table != last {
			if last != "" {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "[%s]\n", table)
			last = table
		}
		fmt.Fprintf(&b, "%s = %s\n", name[dot+1:], value)
	}
	return b.String()
}

func errorsBody(r Reference) string {
	rows := [][]string{{"code", "what happened", "exit code"}}
	for _, c := range r.Codes {
		rows = append(rows, []string{c.Code, markdown.Cell(c.Title), fmt.Sprint(r.Exit(c.Code))})
	}
	var b strings.Builder
	b.WriteString(contentsTable(rows))
	for _, c := range r.Codes {
		b.WriteString(codeSection(c))
	}
	return b.String()
}

func codeSection(c starlark.Code) string {
	prose := markdown.Wrap(markdown.Escape(strings.TrimSpace(c.Text)))
	text := fmt.Sprintf("\n## %s: %s\n\n%s\n", c.Code, markdown.Escape(c.Title), prose)
	if c.Bad != "" {
		text += "\nFails:\n" + CodeBlock(c.Bad) + "\nWorks:\n" + CodeBlock(c.Good)
	}
	return text
}

// contentsTable returns a table of contents, "" for fewer than two sections.
func contentsTable(rows [][]string) string {
	if len(rows) <= 2 {
		return ""
	}
	return "\n" + markdown.Table(rows)
}

// A language is the language of the examples that begin with a prefix.
type language struct{ prefix, name string }

// languages gives the language of an example by its first characters.
var languages = []language{
	{"starhost ", "sh"}, {"-- ", "text"}, {"[", "toml"}, {"# a config", "toml"},
	{"repos:", "yaml"}, {"steps:", "yaml"}, {"func Test", "go"}, {"", "python"},
}

// CodeBlock returns an example as a code block, "" for no example.
func CodeBlock(example string) string {
	if example = printableExample(example); example == "" {
		return ""
	}
	name := "text"
	if !strings.Contains(example, " --\n") { // a whole case begins with prose, and has sections
		i := slices.IndexFunc(languages, func(l language) bool { return strings.HasPrefix(example, l.prefix) })
		name = languages[i].name
	}
	fence := strings.Repeat("`", 3+strings.Count(example, "```"))
	return "\n" + fence + name + "\n" + example + "\n" + fence + "\n"
}

// Release is the version that examples pin: the next release. A test compares it with the pages.
const Release = "v0.1.0"

// A testChapter describes some flags of test, and other ways to run golden cases.
type testChapter struct {
	title, doc string
	Flags      []string     // names of flags of test
	entries    []call.Entry // with examples
}

// TestChapters has every flag of test once.
var TestChapters = []testChapter{
	{"Running", `starhost runs every case twice.
The second run has another order of cases and of loaders and another number of workers, and both
runs must print the same bytes. PATH::CASE names a case of one plugin, and PATH::CASE/ROW a row of the case.`,
		[]string{"update", "run", "once", "fail-fast", "watch", "jobs", "prune", "record"},
		[]call.Entry{
			{Name: "PATH::CASE", Doc: "Runs one case.\nThe name of a case is its file's name without .txtar.", Example: "starhost test demo.star::demo_echo"},
			{Name: "--once", Doc: "Runs each case once, which is quicker while you write.", Example: "starhost test --once demo.star"},
		}},
	{"Coverage", `A third run of each case counts the lines and branches of the plugins beside cases.
The counts include files that nothing loads, and libraries, but not plugins inside of cases.`,
		[]string{"coverage", "coverage-out", "fail-under"},
		[]call.Entry{{
			Name: "--coverage", Doc: "Prints a table.\nThe table names the lines that no case runs, and the conditions that are never true or never false.",
			Example: "starhost test --coverage --coverage-out lcov.info --fail-under 80 demo.star",
		}}},
	{"CI", `starhost refuses to rewrite cases if the variable CI is set.
The exit code is 1 if a case failed or there is no case, 3 if no case could start, and 2 if the
command was wrong.`,
		[]string{"allow-empty"},
		[]call.Entry{
			{Name: "--format", Doc: "Prints reports for other programs: json, junit, or github for annotations.", Example: "starhost test -F junit -o report.xml demo.star"},
			{Name: "action.yml", Doc: "The repository is a GitHub Action.\nThe action checks and tests the plugins at its input paths, else those that starhost.toml names, else ./plugins, and puts annotations into pull requests.", Example: `steps:
  - uses: actions/checkout@v5
  - uses: starhost/starhost@` + Release + `
    with:
      paths: plugins`},
			{Name: ".pre-commit-config.yaml", Doc: "The repository has hooks for pre-commit, which builds starhost with Go.\nstarhost-fmt formats the changed files. starhost-check and starhost-test read all plugins that starhost.toml names, else ./plugins, because a changed file may be a library of several plugins.", Example: `repos:
  - repo: https://github.com/starhost/starhost
    rev: ` + Release + `
    hooks:
      - id: starhost-fmt
      - id: starhost-check
      - id: starhost-test`},
			{Name: "golden.Run", Doc: "Go programs run the same cases in their tests, also with plugins written in Go.", Example: `func TestCombining(t *testing.T) {
	golden.Run(t, "plugins/combining")
}`},
		}},
}

// testTopics returns the chapters, with the texts of the flags that usage returns.
func testTopics(usage func(flag string) string) []call.Topic {
	topics := make([]call.Topic, len(TestChapters))
	for i, c := range TestChapters {
		topics[i] = call.Topic{Name: c.title, Doc: c.doc}
		for _, name := range c.Flags {
			if slices.ContainsFunc(c.entries, func(e call.Entry) bool { return e.Name == "--"+name }) {
				continue // the entry says more
			}
			topics[i].Entries = append(topics[i].Entries, call.Entry{Name: "--" + name, Doc: strings.ReplaceAll(usage(name), "`", "")})
		}
		topics[i].Entries = append(topics[i].Entries, c.entries...)
	}
	return topics
}

// caseName returns the name under which docs finds an entry of golden cases.
func caseName(e call.Entry) string { return strings.TrimPrefix(e.Name, "--") }

// testingBody returns the body of the page about testing: the steps, and how to run cases.
func testingBody(r Reference) string {
	var b strings.Builder
	if r.Name == "" || r.Name == casesName {
		b.WriteString(topicBody("##", r.Topics[len(r.Topics)-1]))
	}
	b.WriteString(chapters(r, true))
	return b.String()
}

// casesBody returns the body of the page about the file of a golden case.
func casesBody(r Reference) string { return chapters(r, false) }

// chapters returns the chapters that say how to run cases, or the others.
func chapters(r Reference, running bool) string {
	var b strings.Builder
	for _, t := range r.Cases {
		runs := slices.ContainsFunc(TestChapters, func(c testChapter) bool { return c.title == t.Name })
		if runs == running {
			b.WriteString(caseTopicBody(t))
		}
	}
	return b.String()
}

// caseTopicBody returns a chapter about golden cases. Entries without an example share a table.
func caseTopicBody(t call.Topic) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n%s\n", t.Name, markdown.Wrap(markdown.Escape(t.Doc)))
	var rows [][]string
	flush := func() {
		if len(rows) > 0 {
			b.WriteString("\n" + markdown.Table(append([][]string{{"name", "what it is"}}, rows...)))
		}
		rows = nil
	}
	for _, e := range t.Entries {
		if e.Example == "" {
			rows = append(rows, []string{markdown.Code(e.Name), markdown.Cell(e.Doc)})
			continue
		}
		flush()
		b.WriteString("\n" + entryHeading("###", e) + "\n" + EntryBody(e))
	}
	flush()
	return b.String()
}

// printCases prints chapters about golden cases: in full those that have the name, else a line for
// each entry.
func printCases(p *page.Page, r Reference) {
	for _, t := range r.Cases {
		if r.Name != casesName && !strings.EqualFold(t.Name, r.Name) {
			p.Section("")
			printCaseEntries(p, t.Entries, r.Name)
			continue
		}
		p.Section(t.Name + "\n\n" + t.Doc + "\n\n")
		p.Table(summaryRows(t.Entries))
	}
	if r.Name == casesName {
		p.Section("Steps\n\n")
		p.Table(summaryRows(r.Topics[0].Entries))
	}
}

// printCaseEntries prints entries in full, and members of a section in a line each.
func printCaseEntries(p *page.Page, entries []call.Entry, name string) {
	var members []call.Entry
	for _, e := range entries {
		if caseName(e) != name && e.Name != name {
			members = append(members, e)
			continue
		}
		fmt.Fprintf(p, "%s\n\n%s\n", e.Name, strings.TrimSpace(e.Doc))
		printExample(p, "Example", e.Example)
	}
	if len(members) > 0 && len(members) < len(entries) {
		p.WriteString("\n")
	}
	p.Table(summaryRows(members))
}

// summaryRows returns a row of a table for each entry: its name and its first line.
func summaryRows(entries []call.Entry) [][]string {
	return nameRows(entries, func(e call.Entry) (string, string) { return e.Name, texttable.FirstLine(e.Doc) })
}

// nameRows returns a row of a table for each item: its name and a short text.
func nameRows[T any](items []T, cells func(T) (name, text string)) [][]string {
	rows := make([][]string, len(items))
	for i, item := range items {
		name, text := cells(item)
		rows[i] = []string{"  " + name, text}
	}
	return rows
}
