package main

import (
	"fmt"
	"strings"
)

// findingJSON is a finding as JSON shows it.
type findingJSON struct {
	Severity string   `json:"severity"` // "error" or "warning"
	Code     string   `json:"code"`
	Message  string   `json:"message"`
	Plugin   string   `json:"plugin"`
	Path     string   `json:"path"` // of the file, from the current folder
	Pos      *posJSON `json:"pos"`
	Help     string   `json:"help"`
}

func (f *finding) severity() string {
	if f.warning {
		return "warning"
	}
	return "error"
}

func newFindingJSON(f *finding) findingJSON {
	return findingJSON{f.severity(), f.code, f.message, f.plugin, f.path, newPosJSON(f.pos), f.help}
}

// print prints the findings.
func (c *checking) print() error {
	switch c.format {
	case "json":
		return c.printJSON(struct {
			Schema   string        `json:"schema"`
			OK       bool          `json:"ok"`
			Findings []findingJSON `json:"findings"`
			Errors   []errorJSON   `json:"errors"`
		}{"starhost.check/1", c.code == exitOK && len(c.problems) == 0, list(c.findings, newFindingJSON), c.errorsJSON()})
	case "github":
		for i := range c.findings {
			c.printCommand(&c.findings[i])
		}
		return nil
	}
	for i := range c.findings {
		c.printPretty(&c.findings[i])
	}
	if c.set != nil {
		plugins := len(c.sources)
		if c.only != nil {
			plugins = 1
		}
		errs, warnings := c.count()
		fmt.Fprintf(&c.out, "%s: %s, %s\n", plural(plugins, "plugin"), plural(errs, "error"), plural(warnings, "warning"))
	}
	return nil
}

// printPretty prints a finding for a person.
func (c *checking) printPretty(f *finding) {
	text := f.text()
	if f.warning && c.quiet {
		return
	}
	if f.warning {
		text = "warning: " + text
	}
	c.out.WriteString(c.colour(c.stdout, red, text))
}

// printCommand prints a finding as a command of GitHub's workflows, which shows it
// beside the line.
func (c *checking) printCommand(f *finding) {
	place := ""
	if f.path != "" {
		place = "file=" + property.Replace(f.path) + ","
	}
	if f.pos.Line > 0 {
		place += fmt.Sprintf("line=%d,", f.pos.Line)
	}
	if f.pos.Col > 0 {
		place += fmt.Sprintf("col=%d,", f.pos.Col)
	}
	fmt.Fprintf(&c.out, "::%s %stitle=%s::%s\n", f.severity(), place, f.code, workflow.Replace(f.message))
}

// Escapes of GitHub's workflow commands.
var (
	workflow = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// plural returns a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
