package decision

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/texttable"
)

// Open returns a reader of the log in a folder. If the folder is missing, the log is empty.
func Open(dir string) (*Reader, error) {
	r, err := NewReader(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return new(Reader), nil
	}
	return r, errtext.File(dir, err)
}

// A Printer prints records.
type Printer struct {
	w      *bufio.Writer
	Format string
	width  int // the most columns; 0 for any
	Count  int
	csv    *csv.Writer
	Err    error
}

// NewPrinter returns a printer for a format: text, json, jsonl or csv. In the format text, a line has at most
// width columns, or any number if width is 0.
func NewPrinter(w *bufio.Writer, format string, width int) *Printer {
	return &Printer{w: w, Format: format, width: width}
}

// Begin prints what precedes the first record.
func (p *Printer) Begin() {
	switch p.Format {
	case "json":
		_, p.Err = p.w.WriteString(`{"schema":"starhost.log/1","records":[`)
	case "csv":
		p.csv = csv.NewWriter(p.w)
		p.Err = p.csv.Write([]string{
			"time", "id", "agent", "session", "event", "tool", "kind", "action", "answered", "plugin",
			"reason", "pos", "duration_us", "approval",
		})
	}
}

// Print prints a record.
func (p *Printer) Print(r *Record) {
	p.Count++
	d := &r.Decision
	switch p.Format {
	case "json", "jsonl":
		separator, end := "", "\n"
		if p.Format == "json" {
			end = ""
			if p.Count > 1 {
				separator = ","
			}
			separator += "\n"
		}
		_, p.Err = p.w.WriteString(separator + texttable.Escape(string(jsontext.Must(r))) + end)
	case "csv":
		cells := []string{
			r.Time.Format(time.RFC3339Nano), r.ID, r.Agent, r.Session, r.Event, r.Tool, r.Kind,
			d.Action, r.Answered, d.Plugin, d.Reason, d.Pos, fmt.Sprint(r.DurationUS),
			cmp.Or(r.Approval, &Approval{}).By,
		}
		for i := range cells {
			cells[i] = PlainCell(texttable.EscapeLine(cells[i]))
		}
		p.Err = p.csv.Write(cells)
		p.csv.Flush()
	default:
		_, p.Err = p.w.WriteString(lineText(r, p.width) + "\n")
	}
}

// PlainCell returns a text for a cell that no spreadsheet takes for a formula: a quote in front of the first
// character makes it a plain text.
func PlainCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}

// End prints what follows the last record.
func (p *Printer) End(skipped int) {
	if p.Format == "json" && p.Err == nil {
		_, p.Err = fmt.Fprintf(p.w, "\n],\"skipped\":%d,\"ok\":true}\n", skipped)
	}
}

// lineText returns the line that shows a record to people. If the line is longer than width, it shows less of
// what the event was about, but at least 20 letters.
func lineText(r *Record, width int) string {
	d := &r.Decision
	answer := r.Answered
	if d.Action != r.Answered && d.Action != ActionNone {
		answer += " (" + d.Action + ")"
	}
	text := fmt.Sprintf("%s  %s  %s  %s", r.Time.Local().Format("2006-01-02 15:04:05"), r.ID[max(0, len(r.ID)-shortestID):],
		cmp.Or(r.Agent, "-"), strings.TrimSpace(r.Event+" "+r.Tool))
	if r.Approval != nil {
		answer += " by " + r.Approval.By
	}
	if d.Plugin != "" {
		answer += "  " + d.Plugin
	}
	if d.Reason != "" {
		answer += ": " + d.Reason
	}
	if d.Pos != "" {
		answer += " (" + d.Pos + ")"
	}
	text, answer = texttable.EscapeLine(text), texttable.EscapeLine(answer)
	what := texttable.EscapeLine(r.Asked(errtext.MaxClip))
	if letters := []rune(what); width > 0 && what != "" {
		room := max(20, width-utf8.RuneCountInString(text+answer)-4)
		if len(letters) > room {
			what = string(letters[:room-1]) + "…"
		}
	}
	if what != "" {
		text += "  " + what
	}
	return text + "  " + answer
}

// shortestID is the fewest characters by which an id can be found, at its beginning or end. Lists show that
// many at its end.
const shortestID = 8

// lastRecord is the word for the newest record in place of an id.
const lastRecord = "last"

// Find returns the record with an id, or with the id's beginning or end. For the id "last", it returns the
// newest record of the log in the folder dir.
func Find(r *Reader, dir, id string) (*Record, error) {
	if id == lastRecord {
		return lastRecordOf(r, dir)
	}
	if len(id) < shortestID || strings.Trim(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != "" {
		return nil, fmt.Errorf("got %q, want an id of starhost log, or %d or more of its first or last characters", id, shortestID)
	}
	var found *Record
	begins, ends := []byte(`"id":"`+id), []byte(id+`"`)
	for line, err := range r.Lines() {
		if err != nil {
			return nil, errtext.File(dir, err)
		}
		if !bytes.Contains(line, begins) && !bytes.Contains(line, ends) {
			continue
		}
		record, err := ParseRecord(line)
		if err != nil || !strings.HasPrefix(record.ID, id) && !strings.HasSuffix(record.ID, id) {
			continue
		}
		if found != nil && found.ID != record.ID {
			return nil, fmt.Errorf("%q begins or ends the ids of several records, as %s and %s", id, found.ID, record.ID)
		}
		r.complete(record)
		found = record
	}
	if found == nil {
		return nil, fmt.Errorf("there is no record %q in %s", id, dir)
	}
	return found, nil
}

// lastRecordOf returns the last whole record of a log.
func lastRecordOf(r *Reader, dir string) (*Record, error) {
	var last *Record
	for record, err := range r.All() {
		if err != nil {
			return nil, errtext.File(dir, err)
		}
		last = record
	}
	if last == nil {
		return nil, fmt.Errorf("there is no record in %s", dir)
	}
	return last, nil
}

// WriteRecord writes all of a record for people.
func WriteRecord(p *page.Page, r *Record) {
	p.WriteString(lineText(r, 0) + "\n")
	rows := [][]string{
		{"id", r.ID},
		{"session", fmt.Sprintf("%s, turn %d", r.Session, r.Turn)}, {"workspace", r.Workspace}, {"kind", r.Kind}, {"call", r.CallID},
		{"platform", r.Platform}, {"roles", strings.Join(r.Roles, ", ")}, {"model", r.Model}, {"mode", r.Mode},
		{"revision", r.Set.Revision}, {"masked", strings.Join(r.Masked, ", ")}, {"cut", strings.Join(r.Cut, ", ")},
		{"omitted", strings.Join(r.Omitted, ", ")}, {"duration", fmt.Sprintf("%d us", r.DurationUS)},
	}
	p.Table(slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" }))
	if r.Approval != nil {
		writeApproval(p, r.Approval)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Input)) {
		p.WriteString("input " + texttable.EscapeLine(name+" "+string(r.Input[name])) + "\n")
	}
	for i := range r.Handlers {
		h := &r.Handlers[i]
		text := fmt.Sprintf("handler %s %s %s", h.Plugin, h.Pos, h.Action)
		if h.Reason != "" {
			text += ": " + h.Reason
		}
		if h.Error != "" && !strings.Contains(h.Reason, h.Error) {
			text += ": failed: " + h.Error
		}
		p.WriteString(texttable.EscapeLine(fmt.Sprintf("%s (%d steps)", text, h.Steps)) + "\n")
		for _, line := range h.Effects {
			p.WriteString("  " + texttable.EscapeLine(string(line)) + "\n")
		}
		for _, line := range h.Logs {
			p.WriteString("  log " + texttable.EscapeLine(line.Level+": "+line.Text) + "\n")
		}
	}
	for i := range r.Context {
		c := &r.Context[i]
		text := fmt.Sprintf("context %s %d B %s %s", c.ID[:min(len(c.ID), 12)], c.Bytes, c.Plugin, c.Source)
		p.WriteString(texttable.EscapeLine(text) + "\n")
	}
}

// writeApproval writes the question of a record, who answered it, and when.
func writeApproval(p *page.Page, approval *Approval) {
	when := "asked " + approval.Asked.Format(time.RFC3339)
	if !approval.Answered.IsZero() {
		when += ", answered " + approval.Answered.Format(time.RFC3339)
	}
	p.WriteString(texttable.EscapeLine("approval by "+approval.By+", "+when) + "\n")
	for i := range approval.Asks {
		ask := &approval.Asks[i]
		text := strings.TrimSpace(fmt.Sprintf("%s %s", ask.Plugin, ask.Pos)) + " asks: " + ask.Reason
		p.WriteString("  " + texttable.EscapeLine(text) + "\n")
	}
}

// A Filter selects records; its zero value selects all.
type Filter struct {
	Session, Plugin, Tool string   // tool is a glob, or kind:KIND
	Actions, Approvals    []string // nil selects all
}

// Selects reports whether the filter selects a record.
func (f *Filter) Selects(r *Record) bool {
	isPlugin := func(h Handler) bool { return h.Plugin == f.Plugin }
	isAsker := func(d Decision) bool { return d.Plugin == f.Plugin }
	approval := cmp.Or(r.Approval, &Approval{})
	switch {
	case f.Session != "" && r.Session != f.Session:
		return false
	case f.Plugin != "" && !slices.ContainsFunc(r.Handlers, isPlugin) &&
		!slices.ContainsFunc(approval.Asks, isAsker):
		return false
	case f.Actions != nil && !slices.Contains(f.Actions, r.Decision.Action) && !slices.Contains(f.Actions, r.Answered):
		return false
	case f.Approvals != nil && !slices.Contains(f.Approvals, approval.By) &&
		(r.Approval == nil || !slices.Contains(f.Approvals, "any")):
		return false
	}
	return FitsTool(f.Tool, r.Kind, r.Tool)
}

// FitsTool reports whether a tool of a kind fits a glob of names, or kind:KIND; "" fits all.
func FitsTool(glob, kind, tool string) bool {
	if want, isKind := strings.CutPrefix(glob, "kind:"); isKind {
		return kind == want
	}
	fits, _ := path.Match(glob, tool)
	return fits || glob == ""
}
