package docgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/markdown"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
)

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
runs must print the same bytes. A case of one plugin is PATH::CASE, and a row of it PATH::CASE/ROW.`,
		[]string{"update", "run", "once", "fail-fast", "watch", "jobs", "prune", "record"},
		[]call.Entry{
			{Name: "PATH::CASE", Doc: "Runs one case.\nThe name of a case is its file's name without .txtar.", Example: "starhost test demo.star::demo_echo"},
			{Name: "--once", Doc: "Runs each case once, which is quicker while you write.", Example: "starhost test --once demo.star"},
		}},
	{"Coverage", `A third run of each case counts the lines and branches of the plugins beside cases.
It includes files that nothing loads, and libraries, and does not include plugins inside of cases.`,
		[]string{"coverage", "coverage-out", "fail-under"},
		[]call.Entry{{
			Name: "--coverage", Doc: "Prints a table.\nIt names the lines that no case runs, and the conditions that are never true or never false.",
			Example: "starhost test --coverage --coverage-out lcov.info --fail-under 80 demo.star",
		}}},
	{"CI", `starhost refuses to rewrite cases if the variable CI is set.
The exit code is 1 if a case failed or there is no case, 3 if no case could start, and 2 if the
command was wrong.`,
		[]string{"allow-empty"},
		[]call.Entry{
			{Name: "--format", Doc: "Prints reports for other programs: json, junit, or github for annotations.", Example: "starhost test -F junit -o report.xml demo.star"},
			{Name: "action.yml", Doc: "The repository is a GitHub Action.\nIt checks and tests the plugins that starhost.toml names, else ./plugins, or those of paths, and puts annotations into pull requests.", Example: `steps:
  - uses: actions/checkout@v5
  - uses: starhost/starhost@` + Release + `
    with:
      paths: plugins`},
			{Name: ".pre-commit-config.yaml", Doc: "The repository has hooks for pre-commit, which builds starhost with Go.\nstarhost-fmt formats the changed files. The other two read all plugins that starhost.toml names, else ./plugins, because a changed file may be a library of several plugins.", Example: `repos:
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
	rows := make([][]string, len(entries))
	for i, e := range entries {
		rows[i] = []string{"  " + e.Name, texttable.FirstLine(e.Doc)}
	}
	return rows
}
