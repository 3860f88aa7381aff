package main

import (
	"fmt"

	"github.com/starhost/starhost/internal/ci"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/texttable"
)

// findingJSON is the JSON form of a finding.
type findingJSON struct {
	Severity severity `json:"severity"`
	Code     string   `json:"code"`
	Message  string   `json:"message"`
	Plugin   string   `json:"plugin"`
	Path     string   `json:"path"` // from the current folder
	Pos      *posJSON `json:"pos"`
	Help     string   `json:"help"`
}

func newFindingJSON(f *finding) findingJSON {
	return findingJSON{f.severity, f.code, f.message, f.plugin, f.path, newPosJSON(f.pos), f.help}
}

func (a *app) printCheckJSON(c *checkRun) error {
	return a.out.JSON(struct {
		Schema   string        `json:"schema"`
		OK       bool          `json:"ok"`
		Findings []findingJSON `json:"findings"`
		Errors   []errorJSON   `json:"errors"`
	}{"starhost.check/1", a.code == exitOK && len(a.problems) == 0, jsontext.List(c.findings, newFindingJSON), a.errorsJSON()})
}

// printCheckGitHub prints each finding as a command of GitHub's workflows.
func (a *app) printCheckGitHub(c *checkRun) error {
	for i := range c.findings {
		a.printWorkflowCommand(&c.findings[i])
	}
	return nil
}

// printCheckPretty prints the findings and their counts.
func (a *app) printCheckPretty(c *checkRun) error {
	for i := range c.findings {
		a.printFinding(&c.findings[i])
	}
	if c.set != nil {
		plugins := len(c.sources)
		if c.editedPlugin != nil {
			plugins = 1
		}
		errs, warnings := c.countFindings()
		fmt.Fprintf(&a.out, "%s: %s, %s\n", texttable.Count(plugins, "plugin"), texttable.Count(errs, "error"), texttable.Count(warnings, "warning"))
	}
	return nil
}

// printFinding prints a finding with its source line.
func (a *app) printFinding(f *finding) {
	shown := f.problem
	shown.pos.File = f.path
	text := shown.text()
	if f.severity != severityError {
		if a.quiet {
			return
		}
		text = string(f.severity) + ": " + text
	}
	a.out.Red(text)
}

// printWorkflowCommand prints a finding as a command of GitHub's workflows. GitHub shows it
// beside the line.
func (a *app) printWorkflowCommand(f *finding) {
	ci.Command{
		Level: string(f.severity), File: f.path, Line: fmt.Sprint(f.pos.Line), Col: f.pos.Col, Title: f.code, Text: f.message,
	}.Write(&a.out)
}
