package main

import (
	"fmt"
	"strings"
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
	return a.printJSON(struct {
		Schema   string        `json:"schema"`
		OK       bool          `json:"ok"`
		Findings []findingJSON `json:"findings"`
		Errors   []errorJSON   `json:"errors"`
	}{"starhost.check/1", a.code == exitOK && len(a.problems) == 0, list(c.findings, newFindingJSON), a.errorsJSON()})
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
		fmt.Fprintf(&a.out, "%s: %s, %s\n", plural(plugins, "plugin"), plural(errs, "error"), plural(warnings, "warning"))
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
	a.printRed(text)
}

// printWorkflowCommand prints a finding as a command of GitHub's workflows. GitHub shows it
// beside the line.
func (a *app) printWorkflowCommand(f *finding) {
	place := ""
	if f.path != "" {
		place = "file=" + workflowProperty.Replace(f.path) + ","
	}
	if f.pos.Line > 0 {
		place += fmt.Sprintf("line=%d,", f.pos.Line)
	}
	if f.pos.Col > 0 {
		place += fmt.Sprintf("col=%d,", f.pos.Col)
	}
	fmt.Fprintf(&a.out, "::%s %stitle=%s::%s\n", f.severity, place, f.code, workflowText.Replace(f.message))
}

// Escapes for the text of one of GitHub's workflow commands, and for its properties.
var (
	workflowText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	workflowProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// plural returns a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
