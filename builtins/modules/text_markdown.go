package modules

import (
	"fmt"
	"iter"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/errtext"
)

// textMarkdownTable implements text.markdown_table.
func textMarkdownTable(c call.Call) (starlark.Value, error) {
	var (
		rows   starlark.Iterable
		header starlark.Sequence
	)
	if err := c.Bind("rows", &rows, "header??", &header); err != nil {
		return nil, err
	}
	t := mdTable{pay: c.Pay}
	if header != nil {
		if err := payRow(c, header, 0); err != nil {
			return nil, err
		}
		cells, err := t.cells(header)
		if err != nil {
			return nil, c.Fail("E0202", "header: %v", err)
		}
		t.header, t.fixed = cells, true
	}
	n := 0
	for row := range starlark.Elements(rows) {
		n++
		if err := payRow(c, row, len(t.header)); err != nil {
			return nil, err
		}
		if err := t.add(row); err != nil {
			return nil, c.Fail("E0202", "rows: row %d: %v", n, err)
		}
	}
	cells := len(t.header) * (2 + len(t.rows)) // rows get empty cells up to the length of the header
	if err := c.Pay(1+t.size/8+cells/4, 6*t.size+8*cells); err != nil {
		return nil, err
	}
	return starlark.String(t.render()), nil
}

// payRow pays for the cells of a row, but for at least atLeast cells. It does not pay for their text.
func payRow(c call.Call, row starlark.Value, atLeast int) error {
	n := max(1, starlark.Len(row), atLeast)
	return c.Pay(n, 64*n)
}

// An mdTable collects the cells of a table.
type mdTable struct {
	header []string
	fixed  bool           // the header is given or comes from a row, so that dicts add no columns
	column map[string]int // the number of each column, by its name
	rows   [][]string
	size   int // the bytes of all cells
	pay    func(steps, bytes int) error
}

// add appends a row. If no header is given, the first row that is a list becomes the header.
func (t *mdTable) add(row starlark.Value) error {
	switch row := row.(type) {
	case starlark.IterableMapping:
		return t.addDict(row)
	case starlark.Sequence:
		cells, err := t.cells(row)
		if err != nil {
			return err
		}
		if t.header == nil && !t.fixed {
			t.header, t.fixed = cells, true
			return nil
		}
		if len(cells) > len(t.header) {
			return fmt.Errorf("got %d cells, want at most %d", len(cells), len(t.header))
		}
		t.rows = append(t.rows, cells)
		return nil
	}
	return fmt.Errorf("got %s, want list, tuple or dict", row.Type())
}

// addDict appends a row whose cells have names. A new name adds a column, unless the header is fixed.
func (t *mdTable) addDict(row starlark.IterableMapping) error {
	cells := make([]string, len(t.header))
	for k, v := range starlark.Entries(row) {
		name, err := t.cell(k)
		if err != nil {
			return fmt.Errorf("key: %w", err)
		}
		at, ok := t.columnOf(name)
		if !ok {
			continue
		}
		cell, err := t.cell(v)
		if err != nil {
			return fmt.Errorf("%s: %w", errtext.Quote(name), err)
		}
		if at == len(cells) {
			cells = append(cells, "")
		}
		cells[at] = cell
	}
	t.rows = append(t.rows, cells)
	return nil
}

// columnOf returns the number of the column with a name. A new name gets the next column. If the header is
// fixed, ok is false for a new name.
func (t *mdTable) columnOf(name string) (at int, ok bool) {
	if t.column == nil {
		t.column = map[string]int{}
		for i, name := range t.header {
			t.column[name] = i
		}
	}
	at, ok = t.column[name]
	if ok || t.fixed {
		return at, ok
	}
	at = len(t.header)
	t.column[name] = at
	t.header = append(t.header, name)
	return at, true
}

// cells returns the texts of the cells of a row.
func (t *mdTable) cells(row starlark.Sequence) ([]string, error) {
	cells := make([]string, 0, row.Len())
	for v := range starlark.Elements(row) {
		cell, err := t.cell(v)
		if err != nil {
			return nil, fmt.Errorf("cell %d: %w", len(cells)+1, err)
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

// cell returns the text of a cell, before escapes.
func (t *mdTable) cell(v starlark.Value) (string, error) {
	text := ""
	switch v := v.(type) {
	case starlark.NoneType:
	case starlark.String:
		text = string(v)
	case starlark.Int:
		if n := v.BigInt().BitLen(); n > 64 { // because writing decimal digits takes quadratic work
			if err := t.pay(1+n/64+(n/64)*(n/64)/128, n); err != nil {
				return "", err
			}
		}
		text = v.String()
	case starlark.Bool, starlark.Float:
		text = v.String()
	default:
		return "", fmt.Errorf("got %s, want string, number, bool or None", v.Type())
	}
	t.size += len(text)
	return text, nil
}

// cellBreaks replaces line breaks, because they would end the row.
var cellBreaks = strings.NewReplacer("\r\n", "<br>", "\n", "<br>", "\r", "<br>")

// escapeCell returns the text of a cell with escapes. It doubles the backslashes before a "|", because a
// single one would cancel the escape of the "|".
func escapeCell(text string) string {
	text = cellBreaks.Replace(strings.TrimSpace(text))
	var out strings.Builder
	slashes := 0
	for i := range len(text) {
		switch text[i] {
		case '\\':
			slashes++
		case '|':
			out.WriteString(strings.Repeat(`\`, slashes+1))
			slashes = 0
		default:
			slashes = 0
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// render returns the table, without a line break at its end.
func (t *mdTable) render() string {
	if len(t.header) == 0 {
		return ""
	}
	var out strings.Builder
	t.line(&out, t.header)
	out.WriteString("\n|" + strings.Repeat(" --- |", len(t.header)))
	for _, row := range t.rows {
		out.WriteByte('\n')
		t.line(&out, row)
	}
	return out.String()
}

// line writes one row. If the row is shorter than the header, it gets empty cells.
func (t *mdTable) line(out *strings.Builder, cells []string) {
	out.WriteByte('|')
	for i := range t.header {
		cell := ""
		if i < len(cells) {
			cell = escapeCell(cells[i])
		}
		out.WriteString(" " + cell + " |")
	}
}

// An mdSection is a heading and the text below it.
type mdSection struct {
	level int
	title string
	body  string
}

// textSplitSections implements text.split_sections.
func textSplitSections(c call.Call) (starlark.Value, error) {
	var text string
	if err := c.Bind("text", &text); err != nil {
		return nil, err
	}
	if err := c.Pay(1+len(text)/4, 64); err != nil {
		return nil, err
	}
	var values []starlark.Value
	for s := range sections(text) {
		if s.level == 0 && s.body == "" {
			continue
		}
		if err := c.Pay(16, 512); err != nil {
			return nil, err
		}
		values = append(values, starlarkstruct.FromStringDict(starlarkstruct.Default, starlark.StringDict{
			"level": starlark.MakeInt(s.level),
			"title": starlark.String(s.title),
			"body":  starlark.String(s.body),
		}))
	}
	return starlark.NewList(values), nil
}

// sections yields the sections of Markdown text. The first one has level 0 and contains the
// text in front of the first heading.
func sections(text string) iter.Seq[mdSection] {
	return func(yield func(mdSection) bool) {
		var (
			section    mdSection
			fence      string // the fence of the open code block, or ""
			start, end int    // where the section's body begins, and where it ends so far
		)
		for line := range strings.Lines(text) {
			level, title := heading(line)
			if fence = nextFence(fence, line); fence == "" && level > 0 {
				section.body = trimBlankLines(text[start:end])
				if !yield(section) {
					return
				}
				section = mdSection{level: level, title: title}
				start = end + len(line)
			}
			end += len(line)
		}
		section.body = trimBlankLines(text[start:])
		yield(section)
	}
}

// heading returns the level and title of an ATX heading. For other lines the level is 0.
func heading(line string) (level int, title string) {
	rest := unindentLine(line)
	title = strings.TrimLeft(rest, "#")
	level = len(rest) - len(title)
	if level < 1 || level > 6 || title != "" && title[0] != ' ' && title[0] != '\t' {
		return 0, ""
	}
	title = strings.TrimSpace(title)
	if open := strings.TrimRight(title, "#"); open == "" || strings.HasSuffix(open, " ") || strings.HasSuffix(open, "\t") {
		title = strings.TrimSpace(open) // a heading may end with hashes, which are no part of the title
	}
	return level, title
}

// nextFence returns the fence of the code block that is open after a line, or "" for none. open is the fence
// that is open before the line.
func nextFence(open, line string) string {
	rest := unindentLine(line)
	if rest == "" || rest[0] != '`' && rest[0] != '~' {
		return open
	}
	info := strings.TrimLeft(rest, rest[:1])
	fence := rest[:len(rest)-len(info)]
	switch {
	case open == "" && len(fence) >= 3 && !(fence[0] == '`' && strings.Contains(info, "`")):
		return fence
	case open != "" && fence[0] == open[0] && len(fence) >= len(open) && isBlank(info):
		return ""
	}
	return open
}

// unindentLine returns the line without its line break and without up to three spaces at its start. It
// returns "" for a line with more spaces, which is code or continues another line.
func unindentLine(line string) string {
	line = strings.TrimRight(line, "\r\n")
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 {
		return ""
	}
	return rest
}

// trimBlankLines removes blank lines before and after a text, and the line break at its end.
func trimBlankLines(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	for {
		line, rest, found := strings.Cut(text, "\n")
		if !found || !isBlank(line) {
			return text
		}
		text = rest
	}
}
