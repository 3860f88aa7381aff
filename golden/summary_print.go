package golden

import (
	"fmt"
	"strings"

	"github.com/starhost/starhost/internal/ci"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/page"
)

// WriteSummary writes the failures, the counts and the coverage for people.
func WriteSummary(p *page.Page, s *Summary) {
	start := p.Len()
	p.WriteString(s.Text())
	p.Colour(start, func(_ int, line string) page.Colour { return colourOfCase(s, line) })
	p.WriteString(s.Coverage.Text())
}

// A Shortfall says why the cases do not suffice although none failed, such as too little coverage.
type Shortfall struct{ Message, Text string }

// colourOfCase returns the colour for a line of the summary.
func colourOfCase(s *Summary, line string) page.Colour {
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

// WriteJUnit writes the results as JUnit's XML.
func WriteJUnit(p *page.Page, s *Summary, problems []Shortfall) error {
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
	if own := shortfallSuite(s, problems); own != nil {
		report.Tests, report.Failures = report.Tests+own.Tests, report.Failures+own.Failures
		report.Suites = append(report.Suites, own)
	}
	return report.Write(p)
}

// shortfallSuite returns a suite of JUnit that has a failed case for each problem, or nil if there is no
// problem.
func shortfallSuite(s *Summary, problems []Shortfall) *ci.Suite {
	if len(problems) == 0 {
		return nil
	}
	own := &ci.Suite{Name: "starhost test"}
	for _, p := range problems {
		own.Tests, own.Failures = own.Tests+1, own.Failures+1
		text := p.Text + s.Coverage.Text()
		own.Cases = append(own.Cases, ci.Case{
			Name: p.Message, ClassName: own.Name,
			Failure: &ci.Failure{Type: string(Failed), Message: p.Message, Text: text},
		})
	}
	return own
}

// addToSuite adds the result of a case to a suite of JUnit.
func addToSuite(s *ci.Suite, name string, r *Result) {
	c := ci.Case{Name: name, ClassName: s.Name}
	s.Tests++
	switch r.Status {
	case Failed:
		s.Failures++
		c.Failure = newFailure(r)
	case Broken:
		s.Errors++
		c.Error = newFailure(r)
	case Skipped:
		s.Skipped++
		c.Skipped = &struct{}{}
	}
	s.Cases = append(s.Cases, c)
}

func newFailure(r *Result) *ci.Failure {
	return &ci.Failure{Type: string(r.Status), Message: r.Reason, Text: fmt.Sprintf("%s:%d\n%s", r.File, r.Line, r.Details())}
}

// WriteGitHub writes a workflow command for each case that failed, and then the counts. GitHub Actions shows
// the command's message at the case's line.
func WriteGitHub(p *page.Page, s *Summary, problems []Shortfall) {
	for i := range s.Results {
		if r := &s.Results[i]; r.Status == Failed || r.Status == Broken {
			ci.Command{
				Level: "error", File: r.File, Line: fmt.Sprint(r.Line),
				Title: r.Name + " " + string(r.Status), Text: strings.TrimSuffix(r.Details(), "\n"),
			}.Write(p)
		}
	}
	for _, problem := range problems {
		ci.Command{Level: "error", Title: "starhost test", Text: strings.TrimSuffix(problem.Text, "\n")}.Write(p)
	}
	fmt.Fprintf(p, "%s\n%s", s, s.Coverage.Text())
}

// A CoverageJSON is the JSON form of the coverage.
type CoverageJSON struct {
	Lines   int                  `json:"lines"`
	Reached int                  `json:"reached"`
	Plugins []pluginCoverageJSON `json:"plugins"`
	Files   Coverage             `json:"files"`
}

// A pluginCoverageJSON sums up the files of one plugin's folder, or describes one file outside of all plugin
// folders.
type pluginCoverageJSON struct {
	Path     string `json:"path"`
	Lines    int    `json:"lines"`
	Reached  int    `json:"reached"`
	Branches int    `json:"branches"`
	Taken    int    `json:"taken"`
}

func newPluginCoverageJSON(p *PluginCoverage) pluginCoverageJSON {
	out := pluginCoverageJSON{Path: p.Path}
	out.Reached, out.Lines = p.Files.CountLines()
	out.Taken, out.Branches = p.Files.CountBranches()
	return out
}

// NewCoverageJSON returns the JSON form of c, or nil if nobody asked for coverage.
func NewCoverageJSON(c Coverage) *CoverageJSON {
	if c == nil {
		return nil
	}
	out := &CoverageJSON{Plugins: jsontext.List(c.Plugins(), newPluginCoverageJSON), Files: append(Coverage{}, c...)}
	out.Reached, out.Lines = c.CountLines()
	return out
}
