// Package ci writes reports that services for continuous integration read: JUnit's XML, and the
// commands of GitHub's workflows.
package ci

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The types below are a JUnit report as Jenkins, GitLab and others read it. It has no times, so
// the same cases give the same bytes.
type (
	// Suites are a whole report.
	Suites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Suites   []*Suite `xml:"testsuite"`
	}
	// A Suite is a plugin, or a folder of cases.
	Suite struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Cases    []Case `xml:"testcase"`
	}
	// A Case is one test.
	Case struct {
		Name      string    `xml:"name,attr"`
		ClassName string    `xml:"classname,attr"`
		Failure   *Failure  `xml:"failure"`
		Error     *Failure  `xml:"error"`
		Skipped   *struct{} `xml:"skipped"`
	}
	// A Failure says why a test failed.
	Failure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// Write writes the report as XML.
func (s *Suites) Write(w io.Writer) error {
	data, err := xml.MarshalIndent(s, "", "  ")
	fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	return err
}

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
