package main

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/texttable"
)

// A screen escapes the control characters of everything that a program writes for people, because
// texts of plugins, models and files could move the cursor or forge lines. The escapes are valid
// in JSON, so that logs in JSON mean the same.
type screen struct{ io.Writer }

func (s screen) Write(text []byte) (int, error) {
	if _, err := io.WriteString(s.Writer, texttable.Escape(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// exactFormats are the formats that programs read: a file or a pipe gets their bytes unescaped.
var exactFormats = []string{"json", "text", "openai", "responses", "anthropic", "junit", "pyi"}

// isExact reports whether the result is for a program.
func (a *app) isExact() bool { return a.exact || slices.Contains(exactFormats, a.format) }

// resultBytes returns the result for a file or a pipe.
func (a *app) resultBytes() []byte {
	if a.isExact() {
		return a.out.Bytes()
	}
	return []byte(texttable.Escape(a.out.String()))
}

// showResult writes the result to standard output.
func (a *app) showResult() error {
	if !isTerminal(a.stdout) && (a.colour != "always" || a.isExact()) {
		_, err := a.stdout.Write(a.resultBytes())
		return err
	}
	text, coloured := a.out.String(), a.wantsColour(a.stdout)
	at := 0
	for _, line := range a.colouredLines {
		if _, err := io.WriteString(a.stdout, texttable.Escape(text[at:line.start])); err != nil {
			return err
		}
		if err := writeColoured(a.stdout, line.colour, text[line.start:line.end], coloured); err != nil {
			return err
		}
		at = line.end
	}
	_, err := io.WriteString(a.stdout, texttable.Escape(text[at:]))
	return err
}

// A colour is the number of a terminal's colour.
type colour string

// Red marks mistakes and refusals, green marks successes, and yellow marks changes and questions.
const (
	plain  colour = ""
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
)

// A colouredLine is a line of the result that terminals show in a colour, by its offsets.
type colouredLine struct {
	start, end int
	colour     colour
}

// printRed adds a text to the result, with its first line in red.
func (a *app) printRed(text string) {
	start := a.out.Len()
	a.out.WriteString(text)
	a.colourLines(start, func(n int, _ string) colour {
		if n > 0 {
			return plain
		}
		return red
	})
}

// colourLines chooses colours for the lines of the result from an offset on, by their number and
// text.
func (a *app) colourLines(start int, choose func(n int, line string) colour) {
	n := 0
	for line := range strings.Lines(string(a.out.Bytes()[start:])) {
		text := strings.TrimSuffix(line, "\n")
		if c := choose(n, text); c != plain && text != "" {
			a.colouredLines = append(a.colouredLines, colouredLine{start, start + len(text), c})
		}
		start += len(line)
		n++
	}
}

// colourOf returns the colour of a decision.
func colourOf(action starhost.Action) colour {
	switch action {
	case starhost.ActionDeny, starhost.ActionAbort, starhost.ActionError:
		return red
	case starhost.ActionAsk, starhost.ActionModify:
		return yellow
	case starhost.ActionApprove, starhost.ActionRespond:
		return green
	}
	return plain
}

// writeColoured writes a text, and its first line in a colour if coloured is set.
func writeColoured(w io.Writer, c colour, text string, coloured bool) error {
	text = texttable.Escape(text)
	if coloured {
		line, rest, _ := strings.Cut(text, "\n")
		text = "\x1b[" + string(c) + "m" + line + "\x1b[0m" + text[len(line):len(text)-len(rest)] + rest
	}
	if s, ok := w.(screen); ok {
		w = s.Writer // because a screen escapes colours too
	}
	_, err := io.WriteString(w, text)
	return err
}

// wantsColour reports whether w is a terminal and the environment allows colours.
func (a *app) wantsColour(w io.Writer) bool {
	if s, ok := w.(screen); ok {
		w = s.Writer
	}
	switch a.colour {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal(w) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
