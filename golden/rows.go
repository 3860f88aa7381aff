package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/shellwords"
)

// Bounds of a table of rows.
const (
	maxRows     = 1000
	maxRowBytes = 64 << 10
	maxRowDepth = 64
	maxRowName  = 64
)

// nameKey is the key under which a row states its name.
const nameKey = "name"

// rowNameRule describes the names of rows. They are parts of a section's name and of a case's id.
const rowNameRule = "letters, digits, _ and -, at most 64 of them"

// isRowName reports whether a text can be the name of a row.
func isRowName(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-0123456789"
	return name != "" && len(name) <= maxRowName && strings.Trim(name, letters) == ""
}

// A row is a line of a case's table: the inputs of one run of its steps.
type row struct {
	name   string
	text   string   // the whole line, cut to 200 bytes
	line   int      // the line's number in the section, from 1
	keys   []string // the row's keys in the order of the line; the first is "name"
	values map[string]json.RawMessage
}

// rowError returns the error for a mistake in a row. line is the row's line in the section.
func rowError(line int, text string) error {
	return inSection(rowsFile, line, errtext.Errorf("%s: line %d: %s", rowsFile, line, text))
}

// readRows reads the table of a case. It returns nil if the case has no table.
func readRows(files []txtar.File) (rows []*row, err error) {
	at := slices.IndexFunc(files, func(f txtar.File) bool { return f.Name == rowsFile })
	if at < 0 {
		return nil, nil
	}
	number, lines := 0, map[string]int{} // lines has the line of each row by its name
	for line := range bytes.Lines(files[at].Data) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if len(rows) == maxRows {
			return nil, rowError(number, fmt.Sprintf("got more than %d rows", maxRows))
		}
		r, problem := readRow(line)
		if problem == "" && lines[r.name] > 0 {
			problem = fmt.Sprintf("the name %q is that of line %d too, want another", r.name, lines[r.name])
		}
		if problem == "" && len(rows) > 0 {
			problem = r.compareKeys(rows[0])
		}
		if problem != "" {
			return nil, rowError(number, problem)
		}
		r.line, lines[r.name] = number, number
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return nil, rowError(1, `got no row, want a JSON object a line, as {"name": "checkout"}`)
	}
	return rows, nil
}

// readRow reads one line of the table. If the line is no row, problem says why; otherwise it is "".
func readRow(line []byte) (r *row, problem string) {
	if len(line) > maxRowBytes {
		return nil, fmt.Sprintf("got %d bytes, want at most %d", len(line), maxRowBytes)
	}
	doc, err := jsontext.Parse(string(line), maxRowDepth)
	switch {
	case err != nil:
		return nil, err.Error()
	case !doc.HasKind(0, jsontext.Object):
		return nil, fmt.Sprintf("got %s, want a JSON object", errtext.Clip(doc.TextAt(0)))
	}
	r = &row{text: errtext.Clip(doc.TextAt(0)), values: map[string]json.RawMessage{}}
	for key, value := range doc.Members(0) {
		name := doc.StringAt(key)
		if _, twice := r.values[name]; twice {
			return nil, fmt.Sprintf("the key %s is there twice", errtext.Clip(doc.TextAt(key)))
		}
		r.keys, r.values[name] = append(r.keys, name), doc.CopyAt(value)
	}
	value := doc.Member(0, nameKey)
	if len(r.keys) == 0 || r.keys[0] != nameKey || !doc.HasKind(value, jsontext.String) {
		return nil, `want "name" as the first key, with a text`
	}
	if r.name = doc.StringAt(value); !isRowName(r.name) {
		return nil, fmt.Sprintf("name: got %s, want %s", errtext.Clip(doc.TextAt(value)), rowNameRule)
	}
	return r, ""
}

// compareKeys returns what is wrong if a row has other keys than the first row, or "".
func (r *row) compareKeys(first *row) string {
	for _, key := range r.keys {
		if _, ok := first.values[key]; !ok {
			return fmt.Sprintf("got the key %q%s, which line %d does not have", errtext.Clip(key), near.DidYouMean(key, first.keys), first.line)
		}
	}
	for _, key := range first.keys {
		if _, ok := r.values[key]; !ok {
			return fmt.Sprintf("no key %q, which line %d has: want null if it has no value", errtext.Clip(key), first.line)
		}
	}
	return ""
}

// Row returns the value that the current row has under a key.
func (p *play) Row(key string) (json.RawMessage, error) {
	if p.row == nil {
		return nil, errtext.Errorf("there is no row: want a case with the section %s", rowsFile)
	}
	raw, ok := p.row.values[key]
	if !ok {
		return nil, errtext.Errorf("no key %q%s in line %d of %s", errtext.Clip(key), near.DidYouMean(key, p.row.keys), p.row.line, rowsFile)
	}
	addName(&p.usedKeys, key)
	return raw, nil
}

// wantName returns the name of the section with the output that the case or row expects.
func (c *testCase) wantName() string {
	if c.row != nil {
		return wantSection + "/" + c.row.name
	}
	return wantSection
}

// want returns the output that the case or row expects.
func (c *testCase) want() (text string, ok bool) {
	if c.row == nil {
		return string(c.text(wantSection)), c.has(wantSection)
	}
	data, ok := c.filesIn(wantSection)[c.row.name]
	return string(data), ok
}

// rowLine returns the line that the row has in the case's file. For a case without rows it returns the given
// line.
func (c *testCase) rowLine(line int) int {
	if c.row != nil {
		return lineOf(c.src, rowsFile, c.row.line)
	}
	return line
}

// unusedWants returns the sections with expected output that belong to no row.
func (c *testCase) unusedWants() (list []part) {
	if c.row != nil && c.has(wantSection) {
		list = append(list, part{section: wantSection})
	}
	for _, name := range slices.Sorted(maps.Keys(c.filesIn(wantSection))) {
		if !slices.ContainsFunc(c.rows, func(r *row) bool { return r.name == name }) {
			list = append(list, part{section: wantSection + "/" + name})
		}
	}
	return list
}

// selectRows returns the cases that run and the paths select, and stores in each case which of its rows run.
func selectRows(cases []*testCase, run *regexp.Regexp) (list []*testCase, err error) {
	for _, c := range cases {
		if c.problem == nil {
			if err := c.checkRowNames(); err != nil {
				return nil, err
			}
		}
		for _, r := range c.rows {
			named := c.rowNames == nil || slices.Contains(c.rowNames, r.name)
			if named && (run == nil || run.MatchString(c.id+"/"+r.name)) {
				c.selected = append(c.selected, r)
			}
		}
		if len(c.selected) > 0 || len(c.rows) == 0 && (run == nil || run.MatchString(c.id)) {
			list = append(list, c)
		}
	}
	return list, nil
}

// checkRowNames returns an error if a path names a row that the case does not have.
func (c *testCase) checkRowNames() error {
	for _, name := range c.rowNames {
		var names []string
		for _, r := range c.rows {
			if names = append(names, r.name); r.name == name {
				names = nil
				break
			}
		}
		switch {
		case len(c.rows) == 0:
			return &UsageError{errtext.Errorf("%s has no row %q: it has no section %s", c.id, errtext.Clip(name), rowsFile)}
		case names != nil:
			return &UsageError{errtext.Errorf("%s has no row %q%s", c.id, errtext.Clip(name), near.DidYouMean(name, names))}
		}
	}
	return nil
}

// expandRows replaces each case that has rows by one case for each selected row, and numbers all cases.
func expandRows(cases []*testCase) []*testCase {
	list := make([]*testCase, 0, len(cases))
	for _, c := range cases {
		if c.problem != nil || len(c.rows) == 0 {
			list = append(list, c)
			continue
		}
		for _, r := range c.selected {
			list = append(list, &testCase{caseFile: c.caseFile, caseText: c.caseText, id: c.id + "/" + r.name, row: r})
		}
	}
	for i, c := range list {
		c.index = int64(i)
	}
	return list
}

// splitFiles splits cases into lists. A list has all rows of one file.
func splitFiles(cases []*testCase) (list [][]*testCase) {
	for from := 0; from < len(cases); {
		to := from + 1
		for to < len(cases) && cases[to].caseText == cases[from].caseText {
			to++
		}
		list = append(list, cases[from:to])
		from = to
	}
	return list
}

// judgeFile judges a case, or all rows of one case, and edits its file. n is the number of rows that it
// judged: with FailFast, those up to the first failure.
func judgeFile(cases []*testCase, o *Options) (results []Result, n int) {
	c := cases[0]
	if c.row == nil {
		r, m := c.judge(o)
		m.apply(c, &r)
		return []Result{r}, 1
	}
	sections, edits := splitSections(c.src), 0
	failed := false
	for _, c := range cases {
		if failed && o.FailFast {
			break
		}
		r, m := c.judge(o)
		results = append(results, r)
		failed = failed || r.Status == Failed
		if m.want != nil {
			sections = setRowWant(sections, c.rows, c.row, *m.want)
			edits++
		}
	}
	text := c.src
	if edits > 0 {
		text = joinSections(sections)
	}
	n = len(results)
	whole := Result{Name: c.caseFile.id, File: c.file.Shown, Prose: c.prose, Status: Passed}
	if c.recordedNew {
		whole.Status, whole.Text = Recorded, c.recorded
	}
	if unused := unusedByAll(cases); len(unused) > 0 && !failed {
		if o.Prune {
			whole.Status, whole.Text = Pruned, whole.Text+describeParts(unused)
			text = pruneSections(text, unused)
		} else {
			whole.fail(lineOf(c.src, unused[0].section, unused[0].line), "",
				describeParts(unused)+"  help: starhost test --prune "+shellwords.Quote(whole.Name)+"\n")
		}
	}
	if !bytes.Equal(text, c.src) {
		if err := c.rewrite(text); err != nil {
			whole.fail(1, writeError(whole.File, err).Error(), "")
			results = slices.DeleteFunc(results, func(r Result) bool { return r.Status == Updated })
		}
	}
	if whole.Status != Passed {
		results = append(results, whole)
	}
	return results, n
}

// unusedByAll returns the parts of a case that none of its rows used. If not all rows ran, it returns none.
func unusedByAll(cases []*testCase) []part {
	if len(cases) < len(cases[0].rows) {
		return nil
	}
	users := map[part]int{} // counts for each part the rows that do not use it
	for _, c := range cases {
		for _, p := range c.first.unused {
			users[p]++
		}
	}
	maps.DeleteFunc(users, func(_ part, n int) bool { return n < len(cases) })
	return slices.DeleteFunc(slices.Clone(cases[0].first.unused), func(p part) bool { return users[p] == 0 })
}

// setRowWant returns the sections of a case in which the row of has the want text. If the row had no want,
// the section goes after the want of the nearest row before it, else before the wants of all other rows, else
// to the end.
func setRowWant(list []section, rows []*row, of *row, text string) []section {
	find := func(r *row) int {
		return slices.IndexFunc(list, func(s section) bool { return s.name == wantSection+"/"+r.name })
	}
	if i := find(of); i >= 0 {
		list[i].head, list[i].body = endLine(list[i].head), []byte(text)
		return list
	}
	at, before := -1, slices.Index(rows, of)
	for _, r := range slices.Backward(rows[:before]) {
		if i := find(r); i >= 0 {
			at = i + 1
			break
		}
	}
	if at < 0 {
		at = slices.IndexFunc(list, func(s section) bool { return strings.HasPrefix(s.name, wantSection+"/") })
	}
	if at < 0 {
		at = len(list)
	}
	list[at-1].head, list[at-1].body = endLine(list[at-1].head), endLine(list[at-1].body)
	name := wantSection + "/" + of.name
	return slices.Insert(list, at, section{name, []byte("-- " + name + " --\n"), []byte(text)})
}

// pruneKeys returns the lines of rows.jsonl without the unused keys.
func pruneKeys(table []byte, dropped map[part]bool) []byte {
	var out []byte
	for line := range bytes.Lines(table) {
		doc, err := jsontext.Parse(string(line), maxRowDepth)
		if err != nil || !doc.HasKind(0, jsontext.Object) {
			out = append(out, line...)
			continue
		}
		edits := jsontext.NewEdits(&doc)
		for key, value := range doc.Members(0) {
			if dropped[part{section: rowsFile, variable: doc.StringAt(key)}] {
				edits.Remove(value)
			}
		}
		out = append(out, edits.String()...)
	}
	return out
}
