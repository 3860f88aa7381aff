// Package ci writes reports that services for continuous integration read: JUnit's XML, and the
// commands of GitHub's workflows.
package ci

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// The types below are a JUnit report as Jenkins, GitLab and others read it. It has no times, so
// the same cases give the same bytes.
type (
	// Suites are a whole report.
	Suites struct {
		Name                    string
		Tests, Failures, Errors int
		Suites                  []*Suite
	}
	// A Suite is a plugin, or a folder of cases.
	Suite struct {
		Name                             string
		Tests, Failures, Errors, Skipped int
		Cases                            []Case
	}
	// A Case is one test.
	Case struct {
		Name, ClassName string
		Failure, Error  *Failure // at most one
		Skipped         *struct{}
	}
	// A Failure says why a test failed.
	Failure struct{ Type, Message, Text string }
)

// Write writes the report as XML.
func (s *Suites) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=%s tests=\"%d\" failures=\"%d\" errors=\"%d\">",
		quoteXML(s.Name), s.Tests, s.Failures, s.Errors)
	for _, suite := range s.Suites {
		fmt.Fprintf(&b, "\n  <testsuite name=%s tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\">",
			quoteXML(suite.Name), suite.Tests, suite.Failures, suite.Errors, suite.Skipped)
		for i := range suite.Cases {
			suite.Cases[i].write(&b)
		}
		b.WriteString(endOf(suite.Cases, "\n  </testsuite>"))
	}
	b.WriteString(endOf(s.Suites, "\n</testsuites>\n"))
	_, err := io.WriteString(w, b.String())
	return err
}

// endOf returns the end of an element, on the line of its start if it has no children.
func endOf[T any](children []T, end string) string {
	if len(children) == 0 {
		return strings.TrimLeft(end, "\n ")
	}
	return end
}

func (c *Case) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n    <testcase name=%s classname=%s>", quoteXML(c.Name), quoteXML(c.ClassName))
	name, f := "failure", c.Failure
	if c.Error != nil {
		name, f = "error", c.Error
	}
	if f != nil {
		fmt.Fprintf(b, "\n      <%s type=%s message=%s>%s</%[1]s>\n    ", name, quoteXML(f.Type), quoteXML(f.Message), escapeXML(f.Text))
	}
	if c.Skipped != nil {
		b.WriteString("\n      <skipped></skipped>\n    ")
	}
	b.WriteString("</testcase>")
}

func quoteXML(text string) string { return `"` + escapeXML(text) + `"` }

// escapeXML replaces what a text of XML cannot contain. encoding/xml would cost each start 19 KB of
// tables.
func escapeXML(text string) string {
	return xmlEscapes.Replace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffe' || r == '\uffff' {
			return utf8.RuneError
		}
		return r // of a byte that is no UTF-8, RuneError
	}, text))
}

var xmlEscapes = strings.NewReplacer(`"`, "&#34;", "'", "&#39;", "&", "&amp;", "<", "&lt;", ">", "&gt;", "\t", "&#x9;", "\n", "&#xA;", "\r", "&#xD;")

// A Command is a command of GitHub's workflows, which shows a message beside a line.
type Command struct {
	Level       string // error, warning or notice
	File        string // "" for none
	Line        string // "" or "0" for none
	Col         int    // 0 for none
	Title, Text string
}

// Write writes the command.
func (c Command) Write(w io.Writer) {
	place := ""
	if c.File != "" {
		place = "file=" + propertyEscapes.Replace(c.File) + ","
	}
	if c.Line != "" && c.Line != "0" {
		place += "line=" + c.Line + ","
	}
	if c.Col > 0 {
		place += fmt.Sprintf("col=%d,", c.Col)
	}
	fmt.Fprintf(w, "::%s %stitle=%s::%s\n", c.Level, place, propertyEscapes.Replace(c.Title), textEscapes.Replace(c.Text))
}

// Escapes for the text of a command, and for its properties.
var (
	textEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
