package main

import (
	"fmt"
	"strings"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/internal/ci"
	"github.com/starhost/starhost/internal/texttable"
)

// printReplayPretty prints the counts and the groups of changes.
func (a *app) printReplayPretty(r *replayRun) error {
	fmt.Fprintln(&a.out, r.Summary())
	for i := range r.Groups {
		g := &r.Groups[i]
		line := texttable.OneLine(g.Text())
		if g.Pos != "" {
			line += " (" + texttable.EscapeLine(g.Pos) + ")"
		}
		if g.Allowed {
			line += " [allowed]"
		}
		fmt.Fprintf(&a.out, "%6d  %s\n        starhost log show %s\n", g.Count, line, g.Example)
	}
	a.out.WriteString(r.notes())
	return nil
}

// notes returns lines about events and lines that the groups do not show.
func (r *replayRun) notes() string {
	var b strings.Builder
	for _, n := range []struct {
		count int
		text  string
	}{
		{r.Reworded, "same decisions with another reason, plugin or place"},
		{r.MoreReasons, "events in groups without their reason, because there are too many reasons"},
		{r.Others, "other events (--only)"},
		{r.skipped, "lines of the log that are no records"},
	} {
		if n.count > 0 {
			fmt.Fprintf(&b, "%6d  %s\n", n.count, n.text)
		}
	}
	return b.String()
}

// replayJSON is the JSON result of replay.
type replayJSON struct {
	Schema string `json:"schema"`
	OK     bool   `json:"ok"`
	*decision.ReplayReport
	Skipped  int           `json:"skipped"` // lines of the log that are no records
	Warnings []warningJSON `json:"warnings"`
	Errors   []errorJSON   `json:"errors"`
}

func (a *app) printReplayJSON(r *replayRun) error {
	return a.out.JSON(replayJSON{
		Schema: "starhost.replay/1", OK: len(a.problems) == 0 && a.code == exitOK, ReplayReport: r.ReplayReport,
		Skipped: r.skipped, Warnings: a.warningsJSON(), Errors: a.errorsJSON(),
	})
}

// printReplayGitHub prints a command of GitHub's workflows for each group, at the place of its
// decision: an error for a change, a notice for an allowed one, else a warning.
func (a *app) printReplayGitHub(r *replayRun) error {
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
		c.Write(&a.out)
	}
	fmt.Fprintf(&a.out, "%s\n%s", r.Summary(), r.notes())
	return nil
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

// printReplayJUnit prints a test case for each group: a failure for a change, and skipped for
// events that the replay cannot tell. Another one stands for the events with the same decision.
func (a *app) printReplayJUnit(r *replayRun) error {
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
		text := fmt.Sprintf("%s\n%s\nstarhost log show %s", texttable.Count(g.Count, "event"), texttable.EscapeLine(g.Pos), g.Example)
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
	return report.Write(&a.out)
}
