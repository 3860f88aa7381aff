package modules

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/errtext"
)

// csvMembers are the members of the module csv (RFC 4180).
var csvMembers = []call.Member{
	{
		Name: "decode", Params: `text, header=True, delimiter=",", name=""`, Type: "str, bool, str, str -> list[Any]",
		Doc: `Reads comma-separated values and returns a list of rows.
The first row names the columns, and each other row is a dict of strings; it has as many
cells as there are columns. With header=False each row is a list of strings, of any length.
A cell in double quotes may contain delimiters, line breaks and doubled quotes. Empty lines
and a byte order mark are skipped; a line break within a cell is "\n". delimiter is one
character: ";" and "\t" are common. name is the file of the text, for messages about it.`,
		Example: `assert_eq(csv.decode("name,tier\ncheckout,1\n"), [{"name": "checkout", "tier": "1"}])
assert_eq(csv.decode("a;\"b;c\"\nd;e", header = False, delimiter = ";"), [["a", "b;c"], ["d", "e"]])`,
		Func: csvDecode,
	},
	{
		Name: "encode", Params: `rows, delimiter=","`, Type: "Iterable[Any], str -> str",
		Doc: `Writes rows as comma-separated values, each on a line that ends with "\n".
All rows are lists or tuples of cells, or all are dicts; then the first line names the
columns, in the order in which their keys first appear, and cells that a row lacks are
empty. Cells are strings, numbers, bools or None (empty), quoted if necessary. Reading the
text returns all cells as strings.`,
		Example: `assert_eq(csv.encode([["a", 1], ["b,c", None]]), "a,1\n\"b,c\",\n")
assert_eq(csv.encode([{"id": 1}, {"id": 2, "up": True}]), "id,up\n1,\n2,True\n")`,
		Func: csvEncode,
	},
}

// A csvDelimiter is an argument: the character between two cells.
type csvDelimiter rune

// Unpack implements starlark.Unpacker.
func (d *csvDelimiter) Unpack(v starlark.Value) error {
	s, ok := starlark.AsString(v)
	if !ok {
		return fmt.Errorf("got %s, want string", v.Type())
	}
	r, n := utf8.DecodeRuneInString(s)
	if n != len(s) || r == utf8.RuneError || strings.ContainsRune("\"\r\n\x00", r) {
		return fmt.Errorf("got %s, want one character, which is no quote and no line break", errtext.Quote(s))
	}
	*d = csvDelimiter(r)
	return nil
}

// csvDecode implements csv.decode.
func csvDecode(c call.Call) (starlark.Value, error) {
	var (
		text      string
		header    = true
		delimiter = csvDelimiter(',')
		source    sourceName
	)
	if err := c.Bind("text", &text, "header?", &header, "delimiter?", &delimiter, "name?", (*string)(&source)); err != nil {
		return nil, err
	}
	rows := 1 + strings.Count(text, "\n")
	cells := rows + strings.Count(text, string(delimiter))
	if err := c.Pay(1+len(text)/8+12*rows+4*cells, 8*len(text)+640*rows+160*cells); err != nil {
		return nil, err
	}
	r := csvReader{Call: c, source: source, csv: csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))}
	r.csv.Comma = rune(delimiter)
	r.csv.FieldsPerRecord = -1 // this package reports rows of another length itself
	if header {
		if err := r.readHeader(rows); err != nil {
			return nil, err
		}
	}
	return r.rows()
}

// A csvReader converts rows to values.
type csvReader struct {
	call.Call
	source sourceName
	csv    *csv.Reader
	header []starlark.Value // the names of the columns, or nil
}

// next returns the next row, or nil after the last one.
func (r *csvReader) next() ([]string, error) {
	row, err := r.csv.Read()
	if err == nil || err == io.EOF {
		return row, nil
	}
	var e *csv.ParseError
	errors.As(err, &e)
	return nil, r.Fail("E0202", "%s: line %d, column %d: %v", r.source, e.Line, e.Column, e.Err)
}

// readHeader reads the names of the columns. If several names share a hash, which makes dicts slow, it pays
// for that in advance, for as many dicts as there are rows.
func (r *csvReader) readHeader(rows int) error {
	names, err := r.next()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return r.Fail("E0202", "%s: line %d: column %s stands twice", r.source, r.line(), errtext.Quote(name))
		}
		seen[name] = true
		r.header = append(r.header, starlark.String(name))
	}
	return r.Pay(rows*call.Collisions(names)/8, 0)
}

// line returns the line at which the last row began.
func (r *csvReader) line() int {
	line, _ := r.csv.FieldPos(0)
	return line
}

// rows returns the remaining rows.
func (r *csvReader) rows() (starlark.Value, error) {
	var values []starlark.Value
	for {
		row, err := r.next()
		if err != nil {
			return nil, err
		}
		if row == nil {
			return starlark.NewList(values), nil
		}
		v, err := r.value(row)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
}

// value converts a row to a list. If the text has a header, the row becomes a dict.
func (r *csvReader) value(row []string) (starlark.Value, error) {
	if r.header == nil {
		cells := make([]starlark.Value, len(row))
		for i, cell := range row {
			cells[i] = starlark.String(cell)
		}
		return starlark.NewList(cells), nil
	}
	if len(row) != len(r.header) {
		return nil, r.Fail("E0202", "%s: line %d: got %d cells, want %d, as many as in the header", r.source, r.line(), len(row), len(r.header))
	}
	dict := starlark.NewDict(len(row))
	for i, cell := range row {
		if err := dict.SetKey(r.header[i], starlark.String(cell)); err != nil {
			return nil, err
		}
	}
	return dict, nil
}

// csvEncode implements csv.encode.
func csvEncode(c call.Call) (starlark.Value, error) {
	var (
		rows      starlark.Iterable
		delimiter = csvDelimiter(',')
	)
	if err := c.Bind("rows", &rows, "delimiter?", &delimiter); err != nil {
		return nil, err
	}
	var t csvTable
	for row := range starlark.Elements(rows) {
		if err := payRow(c, row, len(t.header)); err != nil {
			return nil, err
		}
		if err := t.add(row); err != nil {
			return nil, c.Fail("E0202", "rows: row %d: %v", len(t.rows)+1, err)
		}
	}
	if t.dicts && len(t.header) == 0 {
		return nil, c.Fail("E0202", "rows: got dicts without keys, want a column")
	}
	cells := len(t.header)
	for _, row := range t.rows {
		cells += max(len(row), len(t.header))
	}
	if err := c.Pay(1+t.size/8+cells/4, 6*t.size+8*cells); err != nil {
		return nil, err
	}
	return starlark.String(t.text(string(delimiter))), nil
}

// A csvTable collects the cells of rows. Either all rows are dicts or none is.
type csvTable struct {
	mdTable
	dicts bool
}

// add appends a row.
func (t *csvTable) add(row starlark.Value) error {
	dict, isDict := row.(starlark.IterableMapping)
	if len(t.rows) == 0 {
		t.dicts = isDict
	}
	if isDict != t.dicts {
		return fmt.Errorf("got %s after other rows, want all dicts or none", row.Type())
	}
	if isDict {
		return t.addDict(dict)
	}
	list, ok := row.(starlark.Sequence)
	if !ok {
		return fmt.Errorf("got %s, want list, tuple or dict", row.Type())
	}
	cells, err := t.cells(list)
	if err != nil {
		return err
	}
	if len(cells) == 0 {
		return errors.New("got no cells, want one or more")
	}
	t.rows = append(t.rows, cells)
	return nil
}

// text writes the header, if any, and the rows.
func (t *csvTable) text(delimiter string) string {
	var out strings.Builder
	if t.dicts {
		t.writeRow(&out, t.header, delimiter)
	}
	for _, row := range t.rows {
		t.writeRow(&out, row, delimiter)
	}
	return out.String()
}

// writeRow writes one row. If the row is shorter than the header, it gets empty cells.
func (t *csvTable) writeRow(out *strings.Builder, cells []string, delimiter string) {
	n := max(len(cells), len(t.header))
	for i := range n {
		if i > 0 {
			out.WriteString(delimiter)
		}
		if i < len(cells) {
			out.WriteString(csvCell(cells[i], delimiter))
		}
	}
	if n == 1 && (len(cells) == 0 || cells[0] == "") {
		out.WriteString(`""`) // readers skip an empty line
	}
	out.WriteByte('\n')
}

// csvCell returns the text of a cell. It quotes a text that readers would otherwise split, or whose white
// space they would remove.
func csvCell(text, delimiter string) string {
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	ends := unicode.IsSpace(first) || unicode.IsSpace(last) || first == '\ufeff'
	if ends || strings.ContainsAny(text, "\"\r\n") || strings.Contains(text, delimiter) {
		return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	return text
}
