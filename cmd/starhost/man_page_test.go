package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manName returns the name of a command's page: "starhost-config-show".
func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns the manual page of a command, in the macros of man(7).
func manPage(cmd *cobra.Command) string {
	var m manual
	m.line(".TH " + strings.ToUpper(manName(cmd)) + ` 1 "" starhost`)
	m.section("NAME", manName(cmd)+" - "+cmd.Short)
	use := []string{cmd.UseLine()}
	if cmd.HasAvailableSubCommands() {
		use = append(use, cmd.CommandPath()+" COMMAND")
	}
	m.heading("SYNOPSIS")
	m.verbatim(strings.Join(use, "\n"))
	m.section("DESCRIPTION", strings.TrimSpace(cmd.Long))
	if !cmd.HasParent() {
		m.commands(cmd)
	}
	for _, g := range flagGroups(cmd) {
		m.options(strings.Replace(strings.ToUpper(g.title), "FLAGS", "OPTIONS", 1), g.flags)
	}
	if !cmd.HasParent() {
		m.variables()
	}
	if cmd.HasExample() {
		m.heading("EXAMPLES")
		m.verbatim(strings.ReplaceAll(strings.TrimPrefix(cmd.Example, "  "), "\n  ", "\n"))
	}
	m.related(cmd)
	return m.String()
}

// A manual collects the lines of a page.
type manual struct{ strings.Builder }

func (m *manual) line(text string) { m.WriteString(text + "\n") }

func (m *manual) heading(title string) { m.line(".SH " + title) }

// section adds a chapter, unless its text is empty.
func (m *manual) section(title, text string) {
	if text != "" {
		m.heading(title)
		m.prose(text)
	}
}

// prose adds paragraphs. Indented lines stay as they are.
func (m *manual) prose(text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			m.line(".PP")
		}
		if strings.HasPrefix(paragraph, " ") {
			m.verbatim(paragraph)
			continue
		}
		m.line(escapeRoff(paragraph))
	}
}

// verbatim adds lines that roff must not fill.
func (m *manual) verbatim(text string) {
	m.line(".nf")
	m.line(escapeRoff(text))
	m.line(".fi")
}

// tagged adds an item of a list: its tag in bold, and its text.
func (m *manual) tagged(tag, text string) {
	m.line(".TP")
	m.line(`\fB` + escapeRoff(tag) + `\fR`)
	m.line(escapeRoff(text))
}

// commands adds a list of the subcommands with their purposes.
func (m *manual) commands(cmd *cobra.Command) {
	m.heading("COMMANDS")
	for _, g := range groupsOf(cmd) {
		m.line(".SS " + g.title)
		for _, c := range g.commands {
			m.tagged(c.Name(), c.Short)
		}
	}
}

func (m *manual) options(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	m.heading(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		tag := "--" + f.Name
		if f.Shorthand != "" {
			tag = "-" + f.Shorthand + ", " + tag
		}
		if value != "" {
			tag += " " + value
		}
		m.tagged(tag, usage)
	})
}

// variables adds the chapter about the environment.
func (m *manual) variables() {
	m.heading("ENVIRONMENT")
	m.prose("Flags win over the environment.")
	for _, v := range variables {
		m.tagged(v.name, v.doc)
	}
}

// related adds the names of the pages above and below the command's.
func (m *manual) related(cmd *cobra.Command) {
	var names []string
	if cmd.HasParent() {
		names = append(names, manName(cmd.Parent()))
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, manName(c))
		}
	}
	for i, name := range names {
		names[i] = name + "(1)"
	}
	m.section("SEE ALSO", strings.Join(names, ", "))
}

// roffEscapes protects signs that roff interprets: a backslash, and a minus that a reader copies.
var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`)

// escapeRoff returns the text in a form that roff prints as the text. roff would take a line that begins with
// a dot or an apostrophe for a request.
func escapeRoff(text string) string {
	lines := strings.Split(roffEscapes.Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
