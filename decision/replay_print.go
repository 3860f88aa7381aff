package decision

import (
	"fmt"
	"strings"

	"github.com/starhost/starhost/internal/ci"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
)

// WriteReplay writes the counts and the groups of changes.
func WriteReplay(p *page.Page, r *ReplayReport, skipped int) {
	fmt.Fprintln(p, r.Summary())
	for i := range r.Groups {
		g := &r.Groups[i]
		line := texttable.OneLine(g.Text())
		if g.Pos != "" {
			line += " (" + texttable.EscapeLine(g.Pos) + ")"
		}
		if g.Allowed {
			line += " [allowed]"
		}
		fmt.Fprintf(p, "%6d  %s\n        %s\n", g.Count, line, texttable.EscapeLine(g.ShowExample()))
	}
	p.WriteString(replayNotes(r, skipped))
}

// replayNotes returns lines about events and lines that the groups do not show.
func replayNotes(r *ReplayReport, skipped int) string {
	var b strings.Builder
	for _, n := range []struct {
		count int
		text  string
	}{
		{r.Reworded, "same decisions with another reason, plugin or place"},
		{r.MoreReasons, "events in groups without their reason, because there are too many reasons"},
		{r.Others, "other events (--only)"},
		{skipped, "lines of the log that are no records"},
	} {
		if n.count > 0 {
			fmt.Fprintf(&b, "%6d  %s\n", n.count, n.text)
		}
	}
	return b.String()
}

// WriteReplayGitHub writes a command of GitHub's workflows for each group, at the place of its
// decision: an error for a change, a notice for an allowed one, else a warning.
func WriteReplayGitHub(p *page.Page, r *ReplayReport, skipped int) {
	for i := range r.Groups {
		g := &r.Groups[i]
		c := ci.Command{Level: "error", Title: g.Title()}
		switch {
		case g.Unclear():
			c.Level = "warning"
		case g.Allowed:
			c.Level = "notice"
		}
		if file, line, ok := splitPlace(g.Pos); ok {
			c.File, c.Line = file, line
		}
		c.Text = fmt.Sprintf("%s: %s, as %s", g.Text(), texttable.Count(g.Count, "event"), g.Example)
		c.Write(p)
	}
	fmt.Fprintf(p, "%s\n%s", r.Summary(), replayNotes(r, skipped))
}

// splitPlace splits "file:line:col".
func splitPlace(pos string) (file, line string, ok bool) {
	rest, _, _ := cutLast(pos, ':')
	return cutLast(rest, ':')
}

// cutLast splits a text at the last occurrence of a byte.
func cutLast(text string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

// WriteReplayJUnit writes a test case for each group: a failure for a change, and skipped for
// events that the replay cannot tell. Another one stands for the events with the same decision.
func WriteReplayJUnit(p *page.Page, r *ReplayReport) error {
	suite := &ci.Suite{Name: "starhost replay"}
	add := func(name, plugin string) *ci.Case {
		suite.Tests++
		name, plugin = texttable.EscapeLine(name), texttable.EscapeLine(plugin)
		suite.Cases = append(suite.Cases, ci.Case{Name: name, ClassName: plugin})
		return &suite.Cases[len(suite.Cases)-1]
	}
	add("same", "replay")
	for i := range r.Groups {
		g := &r.Groups[i]
		c := add(g.Text(), g.Plugin)
		text := fmt.Sprintf("%s\n%s\n%s", texttable.Count(g.Count, "event"), texttable.EscapeLine(g.Pos), texttable.EscapeLine(g.ShowExample()))
		switch {
		case g.Unclear():
			suite.Skipped++
			c.Skipped = &struct{}{}
		case !g.Allowed:
			suite.Failures++
			c.Failure = &ci.Failure{Type: g.Outcome, Message: c.Name, Text: text}
		}
	}
	report := ci.Suites{Name: suite.Name, Tests: suite.Tests, Failures: suite.Failures, Suites: []*ci.Suite{suite}}
	return report.Write(p)
}
