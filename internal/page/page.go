// Package page holds a result for people while a program makes it: text, and the lines of it that
// terminals show in a colour. It writes the text so that nothing in it moves a cursor or forges a
// line.
package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/texttable"
)

// A Page is a result so far. The zero Page is empty.
type Page struct {
	bytes.Buffer
	coloured []colouredLine // in their order
}

// A Colour is the number of a terminal's colour.
type Colour string

// Red marks mistakes and refusals, Green marks successes, and Yellow marks changes and questions.
const (
	Plain  Colour = ""
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
)

// A colouredLine is a line of a page that terminals show in a colour, by its offsets.
type colouredLine struct {
	start, end int
	colour     Colour
}

// Red adds a text, with its first line in red.
func (p *Page) Red(text string) {
	start := p.Len()
	p.WriteString(text)
	p.Colour(start, func(n int, _ string) Colour {
		if n > 0 {
			return Plain
		}
		return Red
	})
}

// Colour chooses colours for the lines from an offset on, by their number and text.
func (p *Page) Colour(start int, choose func(n int, line string) Colour) {
	n := 0
	for line := range strings.Lines(string(p.Bytes()[start:])) {
		text := strings.TrimSuffix(line, "\n")
		if c := choose(n, text); c != Plain && text != "" {
			p.coloured = append(p.coloured, colouredLine{start, start + len(text), c})
		}
		start += len(line)
		n++
	}
}

// Section adds a text, after an empty line if the page has text.
func (p *Page) Section(text string) {
	if p.Len() > 0 {
		p.WriteString("\n")
	}
	p.WriteString(text)
}

// Table adds rows with their cells aligned.
func (p *Page) Table(rows [][]string) {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for _, cell := range row {
			fmt.Fprint(w, texttable.EscapeLine(cell), "\t") // tabwriter aligns only cells that end in a tab
		}
		fmt.Fprintln(w)
	}
	w.Flush() // no error: it writes to memory
	for line := range strings.Lines(b.String()) {
		p.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

// JSON adds a value as indented JSON, or the members of several objects as one object. None of these may be
// empty. json.Encoder's own indentation takes three times the memory.
func (p *Page) JSON(values ...any) error {
	var b bytes.Buffer
	for i, v := range values {
		from := b.Len()
		if err := jsontext.Write(&b, v); err != nil {
			return err
		}
		if i > 0 { // the object before ends with "}\n"
			copy(b.Bytes()[from-2:], ", ")
			b.Bytes()[from] = ' '
		}
	}
	return json.Indent(&p.Buffer, b.Bytes(), "", "  ")
}

// Show writes the page for people, with colours if coloured is set.
func (p *Page) Show(w io.Writer, coloured bool) error {
	text, at := p.String(), 0
	for _, line := range p.coloured {
		if _, err := io.WriteString(w, texttable.Escape(text[at:line.start])); err != nil {
			return err
		}
		if err := WriteColoured(w, line.colour, text[line.start:line.end], coloured); err != nil {
			return err
		}
		at = line.end
	}
	_, err := io.WriteString(w, texttable.Escape(text[at:]))
	return err
}

// A Screen escapes the control characters of everything that a program writes for people, because
// texts of plugins, models and files could move the cursor or forge lines. The escapes are valid
// in JSON, so that logs in JSON mean the same.
type Screen struct{ io.Writer }

func (s Screen) Write(text []byte) (int, error) {
	if _, err := io.WriteString(s.Writer, texttable.Escape(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Behind returns the stream of a [Screen], and any other stream as it is.
func Behind(w io.Writer) io.Writer {
	if s, ok := w.(Screen); ok {
		return s.Writer
	}
	return w
}

// WriteColoured writes a text, and its first line in a colour if coloured is set.
func WriteColoured(w io.Writer, c Colour, text string, coloured bool) error {
	text = texttable.Escape(text)
	if coloured {
		line, rest, _ := strings.Cut(text, "\n")
		text = "\x1b[" + string(c) + "m" + line + "\x1b[0m" + text[len(line):len(text)-len(rest)] + rest
	}
	_, err := io.WriteString(Behind(w), text) // because a screen escapes colours too
	return err
}
