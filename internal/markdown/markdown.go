// Package markdown writes Markdown: tables, code, and prose of a bounded width. It reads none.
package markdown

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Table returns rows as a table. The first row is the header.
func Table(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	return b.String()
}

// Columns is the most columns of prose in a page.
const Columns = 96

// Wrap breaks the paragraphs and list items of a Markdown text that have lines longer
// than Columns.
func Wrap(text string) string {
	var out []string
	var block []string
	flush := func() {
		if slices.ContainsFunc(block, func(line string) bool { return utf8.RuneCountInString(line) > Columns }) {
			block = wrapBlock(block)
		}
		out, block = append(out, block...), nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "- ") {
			flush()
		}
		block = append(block, line)
	}
	flush()
	return strings.Join(out, "\n")
}

// wrapBlock breaks the lines of a paragraph or item anew. It indents the lines of an item
// after the first.
func wrapBlock(block []string) []string {
	indent := block[0][:len(block[0])-len(strings.TrimLeft(block[0], " "))]
	next := indent
	if strings.HasPrefix(block[0], indent+"- ") {
		next += "  "
	}
	lines := []string{indent}
	width := len(indent)
	for i, word := range strings.Fields(strings.Join(block, " ")) {
		columns := utf8.RuneCountInString(word)
		last := &lines[len(lines)-1]
		switch {
		case i == 0:
			*last += word
			width += columns
		case width+1+columns > Columns && !startsList().MatchString(word):
			lines = append(lines, next+word)
			width = len(next) + columns
		default:
			*last += " " + word
			width += 1 + columns
		}
	}
	return lines
}

// startsList matches a word that begins a list, a heading or a quote if a line begins with
// it.
var startsList = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([-+*#>]|\d+[.)])`) })

// Code returns texts as code, separated by commas, without empty texts.
func Code(texts ...string) string {
	var spans []string
	for _, text := range texts {
		if text != "" {
			spans = append(spans, "`"+strings.ReplaceAll(text, "|", `\|`)+"`")
		}
	}
	return strings.Join(spans, ", ")
}

// Cell returns a text as one cell of a table.
func Cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(Escape(text), "|", `\|`), "\n", " ")
}

// markupPattern matches characters that Markdown interprets.
var markupPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("[*`<\\\\]" + `|\b_|_\b|(?m:^[#+>-])`)
})

// Escape returns a text that Markdown shows as it is.
func Escape(text string) string { return markupPattern().ReplaceAllString(text, `\$0`) }
