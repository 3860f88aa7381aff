package main

import (
	"fmt"

	"github.com/starhost/starhost/internal/ci"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/report"
)

// findingJSON is the JSON form of a finding.
type findingJSON struct {
	Severity severity        `json:"severity"`
	Code     string          `json:"code"`
	Message  string          `json:"message"`
	Plugin   string          `json:"plugin"`
	Path     string          `json:"path"` // from the current folder
	Pos      *report.PosJSON `json:"pos"`
	Help     string          `json:"help"`
}

func newFindingJSON(f *finding) findingJSON {
	return findingJSON{f.severity, f.Code, f.Message, f.Plugin, f.path, report.NewPosJSON(f.Pos), f.Help}
}

func (c *checkRun) WriteJSON(res *Result) error {
	return res.out.JSON(struct {
		head
		Findings []findingJSON      `json:"findings"`
		Errors   []report.ErrorJSON `json:"errors"`
	}{head{"starhost.check/1", res.code == report.ExitOK && len(res.problems) == 0}, jsontext.List(c.findings, newFindingJSON), res.errorsJSON()})
}

// WriteGitHub writes each finding as a command of GitHub's workflows.
func (c *checkRun) WriteGitHub(res *Result) {
	for i := range c.findings {
		res.printWorkflowCommand(&c.findings[i])
	}
}

// WriteText writes the findings and their counts.
func (c *checkRun) WriteText(res *Result) {
	for i := range c.findings {
		res.printFinding(&c.findings[i], c.quiet)
	}
	if c.set != nil {
		plugins := len(c.sources)
		if c.editedPlugin != nil {
			plugins = 1
		}
		errs, warnings := c.countFindings()
		fmt.Fprintf(&res.out, "%s: %s, %s\n", texttable.Count(plugins, "plugin"), texttable.Count(errs, "error"), texttable.Count(warnings, "warning"))
	}
}

// printFinding prints a finding with its source line.
func (res *Result) printFinding(f *finding, quiet bool) {
	shown := f.Problem
	shown.Pos.File = f.path
	text := shown.Text()
	if f.severity != severityError {
		if quiet {
			return
		}
		text = string(f.severity) + ": " + text
	}
	res.out.Red(text)
}

// printWorkflowCommand prints a finding as a command of GitHub's workflows. GitHub shows it
// beside the line.
func (res *Result) printWorkflowCommand(f *finding) {
	ci.Command{
		Level: string(f.severity), File: f.path, Line: fmt.Sprint(f.Pos.Line), Col: f.Pos.Col, Title: f.Code, Text: f.Message,
	}.Write(&res.out)
}
