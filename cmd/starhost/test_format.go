package main

import (
	"fmt"
	"strings"

	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/internal/ci"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/page"
)

// If test finds no cases to run because of an error, only JSON prints a result.

// printTestPretty prints the failures, the counts and the coverage.
func (a *app) printTestPretty(s *golden.Summary) error {
	if !a.couldNotTest() {
		start := a.out.Len()
		a.out.WriteString(s.Text())
		a.out.Colour(start, func(_ int, line string) page.Colour { return colourOfCase(s, line) })
		a.out.WriteString(coverageText(s.Coverage))
	}
	return nil
}

// colourOfCase returns the colour of a line about the cases.
func colourOfCase(s *golden.Summary, line string) page.Colour {
	word, _, _ := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(line, "-"), word == "FAILED", strings.HasPrefix(line, "NOT STARTED "):
		return page.Red
	case strings.HasPrefix(line, "+"):
		return page.Green
	case word != "" && word == strings.ToUpper(word) && strings.HasSuffix(word, "D"): // UPDATED, PRUNED, RECORDED
		return page.Yellow
	case line != s.String():
		return page.Plain
	case s.Failed+s.Broken > 0:
		return page.Red
	}
	return page.Green
}

// coverageText is the table of coverage, or "".
func coverageText(c golden.Coverage) string {
	if c == nil {
		return ""
	}
	return c.Text()
}

// testJSON is the JSON result of test.
type testJSON struct {
	Schema   string        `json:"schema"`
	OK       bool          `json:"ok"`
	Cases    []caseJSON    `json:"cases"`
	Counts   countsJSON    `json:"counts"`
	Coverage *coverageJSON `json:"coverage"` // null without --coverage, unless --fail-under fails
	Warnings []warningJSON `json:"warnings"`
	Errors   []errorJSON   `json:"errors"`
}

// A caseJSON is one case. Without a failure its line is 0 and its reason is "".
type caseJSON struct {
	Name   string `json:"name"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Prose  string `json:"prose"`
	Input  string `json:"input"` // the line of a row
	Status string `json:"status"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
}

type countsJSON struct {
	Passed     int `json:"passed"`
	Failed     int `json:"failed"`
	Updated    int `json:"updated"`
	Pruned     int `json:"pruned"`
	Recorded   int `json:"recorded"`
	NotStarted int `json:"not_started"`
	NotRun     int `json:"not_run"`
}

func (a *app) printTestJSON(s *golden.Summary) error {
	return a.out.JSON(testJSON{
		Schema: "starhost.test/1", OK: len(a.problems) == 0 && a.code == exitOK,
		Cases: jsontext.List(s.Results, func(r *golden.Result) caseJSON {
			status := strings.ReplaceAll(string(r.Status), " ", "_")
			return caseJSON{r.Name, r.File, r.Line, r.Prose, r.Input, status, r.Reason, r.Text}
		}),
		Counts:   countsJSON{s.Passed, s.Failed, s.Updated, s.Pruned, s.Recorded, s.Broken, s.Skipped},
		Coverage: newCoverageJSON(s.Coverage),
		Warnings: a.warningsJSON(), Errors: a.errorsJSON(),
	})
}

func (a *app) printTestJUnit(s *golden.Summary) error {
	if a.couldNotTest() {
		return nil
	}
	report := ci.Suites{Name: "starhost test", Tests: len(s.Results), Failures: s.Failed, Errors: s.Broken}
	byName := map[string]*ci.Suite{}
	for i := range s.Results {
		plugin, name, _ := strings.Cut(s.Results[i].Name, "::")
		suite := byName[plugin]
		if suite == nil {
			suite = &ci.Suite{Name: plugin}
			byName[plugin] = suite
			report.Suites = append(report.Suites, suite)
		}
		addToSuite(suite, name, &s.Results[i])
	}
	if own := a.shortfallSuite(s); own != nil {
		report.Tests, report.Failures = report.Tests+own.Tests, report.Failures+own.Failures
		report.Suites = append(report.Suites, own)
	}
	return report.Write(&a.out)
}

// shortfallSuite returns a suite with a failed case for each reason why the cases do not suffice,
// or nil.
func (a *app) shortfallSuite(s *golden.Summary) *ci.Suite {
	if len(a.problems) == 0 {
		return nil
	}
	own := &ci.Suite{Name: "starhost test"}
	for i := range a.problems {
		p := &a.problems[i]
		own.Tests, own.Failures = own.Tests+1, own.Failures+1
		text := p.text() + coverageText(s.Coverage)
		own.Cases = append(own.Cases, ci.Case{
			Name: p.message, ClassName: own.Name,
			Failure: &ci.Failure{Type: string(golden.Failed), Message: p.message, Text: text},
		})
	}
	return own
}

// addToSuite adds the result of a case to a suite.
func addToSuite(s *ci.Suite, name string, r *golden.Result) {
	c := ci.Case{Name: name, ClassName: s.Name}
	s.Tests++
	switch r.Status {
	case golden.Failed:
		s.Failures++
		c.Failure = newFailure(r)
	case golden.Broken:
		s.Errors++
		c.Error = newFailure(r)
	case golden.Skipped:
		s.Skipped++
		c.Skipped = &struct{}{}
	}
	s.Cases = append(s.Cases, c)
}

func newFailure(r *golden.Result) *ci.Failure {
	return &ci.Failure{Type: string(r.Status), Message: r.Reason, Text: fmt.Sprintf("%s:%d\n%s", r.File, r.Line, r.Details())}
}

// printTestGitHub prints a workflow command for each failed case, which GitHub Actions shows at
// its line, and the counts.
func (a *app) printTestGitHub(s *golden.Summary) error {
	if a.couldNotTest() {
		return nil
	}
	for i := range s.Results {
		if r := &s.Results[i]; r.Status == golden.Failed || r.Status == golden.Broken {
			ci.Command{
				Level: "error", File: r.File, Line: fmt.Sprint(r.Line),
				Title: r.Name + " " + string(r.Status), Text: strings.TrimSuffix(r.Details(), "\n"),
			}.Write(&a.out)
		}
	}
	for i := range a.problems {
		ci.Command{Level: "error", Title: "starhost test", Text: strings.TrimSuffix(a.problems[i].text(), "\n")}.Write(&a.out)
	}
	fmt.Fprintf(&a.out, "%s\n%s", s, coverageText(s.Coverage))
	return nil
}
