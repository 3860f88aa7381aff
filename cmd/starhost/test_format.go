package main

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/starhost/starhost/golden"
)

// If test finds no cases to run because of an error, only JSON prints a result.

// printTestPretty prints the failures, the counts and the coverage.
func (a *app) printTestPretty(s *golden.Summary) error {
	if !a.couldNotTest() {
		start := a.out.Len()
		a.out.WriteString(s.Text())
		a.colourLines(start, func(_ int, line string) colour { return colourOfCase(s, line) })
		a.out.WriteString(coverageText(s.Coverage))
	}
	return nil
}

// colourOfCase returns the colour of a line about the cases.
func colourOfCase(s *golden.Summary, line string) colour {
	word, _, _ := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(line, "-"), word == "FAILED", strings.HasPrefix(line, "NOT STARTED "):
		return red
	case strings.HasPrefix(line, "+"):
		return green
	case word != "" && word == strings.ToUpper(word) && strings.HasSuffix(word, "D"): // UPDATED, PRUNED, RECORDED
		return yellow
	case line != s.String():
		return plain
	case s.Failed+s.Broken > 0:
		return red
	}
	return green
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
	return a.printJSON(testJSON{
		Schema: "starhost.test/1", OK: len(a.problems) == 0 && a.code == exitOK,
		Cases: list(s.Results, func(r *golden.Result) caseJSON {
			status := strings.ReplaceAll(string(r.Status), " ", "_")
			return caseJSON{r.Name, r.File, r.Line, r.Prose, r.Input, status, r.Reason, r.Text}
		}),
		Counts:   countsJSON{s.Passed, s.Failed, s.Updated, s.Pruned, s.Recorded, s.Broken, s.Skipped},
		Coverage: newCoverageJSON(s.Coverage),
		Warnings: a.warningsJSON(), Errors: a.errorsJSON(),
	})
}

// The types below are a JUnit report as Jenkins, GitLab and others read it. It has no times, so
// the same cases give the same bytes.
type (
	junitSuites struct {
		XMLName  xml.Name      `xml:"testsuites"`
		Name     string        `xml:"name,attr"`
		Tests    int           `xml:"tests,attr"`
		Failures int           `xml:"failures,attr"`
		Errors   int           `xml:"errors,attr"`
		Suites   []*junitSuite `xml:"testsuite"`
	}
	// A junitSuite is a plugin, or a folder of cases.
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		ClassName string        `xml:"classname,attr"`
		Failure   *junitFailure `xml:"failure"`
		Error     *junitFailure `xml:"error"`
		Skipped   *struct{}     `xml:"skipped"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

func (a *app) printTestJUnit(s *golden.Summary) error {
	if a.couldNotTest() {
		return nil
	}
	report := junitSuites{Name: "starhost test", Tests: len(s.Results), Failures: s.Failed, Errors: s.Broken}
	byName := map[string]*junitSuite{}
	for i := range s.Results {
		plugin, name, _ := strings.Cut(s.Results[i].Name, "::")
		suite := byName[plugin]
		if suite == nil {
			suite = &junitSuite{Name: plugin}
			byName[plugin] = suite
			report.Suites = append(report.Suites, suite)
		}
		suite.add(name, &s.Results[i])
	}
	if own := a.shortfallSuite(s); own != nil {
		report.Tests, report.Failures = report.Tests+own.Tests, report.Failures+own.Failures
		report.Suites = append(report.Suites, own)
	}
	data, err := xml.MarshalIndent(report, "", "  ")
	fmt.Fprintf(&a.out, "%s%s\n", xml.Header, data)
	return err
}

// shortfallSuite returns a suite with a failed case for each reason why the cases do not suffice,
// or nil.
func (a *app) shortfallSuite(s *golden.Summary) *junitSuite {
	if len(a.problems) == 0 {
		return nil
	}
	own := &junitSuite{Name: "starhost test"}
	for i := range a.problems {
		p := &a.problems[i]
		own.Tests, own.Failures = own.Tests+1, own.Failures+1
		text := p.text() + coverageText(s.Coverage)
		own.Cases = append(own.Cases, junitCase{
			Name: p.message, ClassName: own.Name,
			Failure: &junitFailure{Type: string(golden.Failed), Message: p.message, Text: text},
		})
	}
	return own
}

func (s *junitSuite) add(name string, r *golden.Result) {
	c := junitCase{Name: name, ClassName: s.Name}
	s.Tests++
	switch r.Status {
	case golden.Failed:
		s.Failures++
		c.Failure = newJUnitFailure(r)
	case golden.Broken:
		s.Errors++
		c.Error = newJUnitFailure(r)
	case golden.Skipped:
		s.Skipped++
		c.Skipped = &struct{}{}
	}
	s.Cases = append(s.Cases, c)
}

func newJUnitFailure(r *golden.Result) *junitFailure {
	return &junitFailure{Type: string(r.Status), Message: r.Reason, Text: fmt.Sprintf("%s:%d\n%s", r.File, r.Line, r.Details())}
}

// printTestGitHub prints a workflow command for each failed case, which GitHub Actions shows at
// its line, and the counts.
func (a *app) printTestGitHub(s *golden.Summary) error {
	if a.couldNotTest() {
		return nil
	}
	for i := range s.Results {
		if r := &s.Results[i]; r.Status == golden.Failed || r.Status == golden.Broken {
			title := workflowProperty.Replace(r.Name + " " + string(r.Status))
			text := workflowText.Replace(strings.TrimSuffix(r.Details(), "\n"))
			fmt.Fprintf(&a.out, "::error file=%s,line=%d,title=%s::%s\n", workflowProperty.Replace(r.File), r.Line, title, text)
		}
	}
	for i := range a.problems {
		fmt.Fprintf(&a.out, "::error title=starhost test::%s\n", workflowText.Replace(strings.TrimSuffix(a.problems[i].text(), "\n")))
	}
	fmt.Fprintf(&a.out, "%s\n%s", s, coverageText(s.Coverage))
	return nil
}
