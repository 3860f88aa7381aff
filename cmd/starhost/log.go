package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/internal/timetext"
	"github.com/starhost/starhost/loader"
)

// logFlags are the flags of log.
type logFlags struct {
	since, session, plugin, tool string
	actions, approvals           []string
	follow                       bool
}

func (a *app) logCommand() *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "log",
		Short: "List recorded decisions, show one, and make golden cases of them",
		Long: `List the decisions that hook and serve recorded, the oldest first. The log is in the
folder that [log] path of the config names, by default starhost/log in XDG_STATE_HOME.

Each line has the local time, the last letters of the record's id, the agent, the event with
its tool, what was asked (a command, a path, an address; cut to the width of the terminal), the
answer that the agent got, and who decided, why and at which place. Lines of approval say who
answered the question about a call: a person, a flag, an MCP client and so on. Lines of tool_run,
command_run, load_run and template_run are runs that had effects, which starhost log show has.
starhost log show ID prints a whole record, and starhost log show ID --golden a golden case that
repeats it. ID is the id, or its first or last letters.`,
		Example: `  starhost log --since 7d --action deny,ask
  starhost log --approval person,always --since 7d
  starhost log --tool 'kind:shell' -F csv -o shell.csv
  starhost log show 32Z34AYK --golden -o plugins/golden/guard_incident.txtar`,
		Args: a.refuseSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.printLog(cmd.Context(), &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.since, "since", "", "only records since `TIME`: a span as 7d, or a time as 2026-01-01T00:00:00Z")
	flags.StringVar(&f.session, "session", "", "only records of the session `ID`")
	flags.StringVar(&f.plugin, "plugin", "", "only records in which the plugin `NAME` took part")
	flags.StringVar(&f.tool, "tool", "", "only calls of tools that match `GLOB`, or of a kind as kind:shell")
	flags.Var((*commaList)(&f.actions), "action", "only records with one of the `ACTIONS` as decision or answer: deny,ask")
	flags.Var((*commaList)(&f.approvals), "approval", "only answers to questions about calls by `WHO`: "+
		strings.Join(host.Answerers(), ", ")+", a word of a program, or any")
	flags.BoolVar(&f.follow, "follow", false, "go on with records as programs write them")
	cmd.AddCommand(a.logShowCommand(), a.logCollectCommand())
	return cmd
}

// A commaList is a flag's list with commas.
type commaList []string

func (l *commaList) Type() string   { return "list" }
func (l *commaList) String() string { return strings.Join(*l, ",") }

func (l *commaList) Set(text string) error {
	*l = append(*l, strings.Split(text, ",")...)
	return nil
}

// logActions are the actions that --action can name.
var logActions = []string{
	"abort", "deny", "ask", "approve", "respond", "modify", "context", "value", "end_session", "none",
}

// openLog returns the folder of the log and its config.
func (a *app) openLog() (dir string, config *loader.Config, err error) {
	config, warnings, err := loader.LoadConfig(loader.ConfigOptions{
		Dir: a.dir, File: a.config, None: a.noConfig, Managed: a.managed, Getenv: a.getenv,
	})
	a.warnings = append(a.warnings, warnings...)
	if err != nil {
		return "", nil, err
	}
	if dir = a.logDir(config); dir == "" {
		return "", nil, usagef("there is no folder of a log: want HOME, XDG_STATE_HOME or [log] path")
	}
	return dir, config, nil
}

// readLog returns a reader of the log. A log without a folder is empty.
func readLog(dir string) (*decision.Reader, error) {
	r, err := decision.NewReader(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return new(decision.Reader), nil
	}
	return r, wrapFileError(dir, err)
}

// printLog lists the records. It prints while it reads, so that its memory does not grow with the
// log.
func (a *app) printLog(ctx context.Context, f *logFlags) (err error) {
	if err := a.chooseFormat("log"); err != nil {
		return err
	}
	since, err := f.check(a.format)
	if err != nil {
		return err
	}
	dir, _, err := a.openLog()
	if err != nil {
		return err
	}
	r, err := readLog(dir)
	if err != nil {
		return err
	}
	r.Since = since
	catchSignals(ctx)
	out, closeOut, err := a.streamOut(f.follow)
	if err != nil {
		return err
	}
	defer func() { err = closeOut(err) }()
	w := bufio.NewWriter(out)
	p := logPrinter{w: w, format: a.format, width: terminalWidth(out)}
	p.begin()
	records := r.All()
	if f.follow {
		records = r.Follow(ctx, dir, func() error { return w.Flush() })
	}
	for record, err := range records {
		if err != nil {
			return wrapFileError(dir, err)
		}
		if ctx.Err() != nil {
			break
		}
		if f.selects(record) {
			p.print(record)
		}
		if p.err != nil {
			return wrapFileError("standard output", p.err)
		}
	}
	p.end(r.Skipped)
	if p.count == 0 && p.format == "text" && ctx.Err() == nil {
		a.printNote("no such record in " + texttable.EscapeLine(dir))
	}
	if r.Skipped > 0 && !f.follow {
		msg := fmt.Sprintf("%d lines are no records of this version", r.Skipped)
		a.warnings = append(a.warnings, loader.Warning{Place: loader.Place{File: dir}, Msg: msg})
	}
	return wrapFileError("standard output", errors.Join(p.err, w.Flush()))
}

// streamOut returns standard output or the file of -o, and what ends it with the error of the
// writer. The file takes the place of an older one without an error, or at once for a reader that
// waits for more records.
func (a *app) streamOut(atOnce bool) (out io.Writer, end func(error) error, err error) {
	if a.output == "" {
		return a.stdout, func(err error) error { return err }, nil
	}
	name := a.output
	a.output = "" // end must not write it again
	file, err := disk.StartReplacement(a.path(name))
	if err == nil && atOnce {
		err = file.Commit()
	}
	if err != nil {
		return nil, nil, wrapFileError(name, err)
	}
	return file, func(err error) error {
		if err == nil {
			err = wrapFileError(name, file.Commit())
		}
		return errors.Join(err, file.Close())
	}, nil
}

// check checks the flags, and returns the time of --since.
func (f *logFlags) check(format string) (since time.Time, err error) {
	for _, action := range f.actions {
		if !slices.Contains(logActions, strings.TrimPrefix(action, "would ")) {
			return since, usagef("--action: got %q, want %s", action, strings.Join(logActions, ", "))
		}
	}
	for _, who := range f.approvals {
		if like := near.Name(who, host.Answerers()); like != "" && !slices.Contains(host.Answerers(), who) {
			return since, usagef("--approval: got %q (did you mean %s?)", who, like)
		}
	}
	if _, err := path.Match(f.tool, ""); err != nil {
		return since, usagef("--tool: got %q, want a glob as restart_*", f.tool)
	}
	if f.follow && format == "json" {
		return since, usagef("--follow: got -F json, which is one document, want -F jsonl")
	}
	if f.since == "" {
		return since, nil
	}
	if span, err := timetext.ParseSpan(f.since); err == nil {
		return time.Now().Add(-span), nil
	}
	if since, err = timetext.Parse(f.since); err != nil {
		return since, usagef("--since: got %q, want a span as 7d or a time as 2026-01-01T00:00:00Z", f.since)
	}
	return since, nil
}

// selects reports whether the flags select a record.
func (f *logFlags) selects(r *decision.Record) bool {
	isPlugin := func(h decision.Handler) bool { return h.Plugin == f.plugin }
	isAsker := func(d decision.Decision) bool { return d.Plugin == f.plugin }
	approval := cmp.Or(r.Approval, &decision.Approval{})
	switch {
	case f.session != "" && r.Session != f.session:
		return false
	case f.plugin != "" && !slices.ContainsFunc(r.Handlers, isPlugin) &&
		!slices.ContainsFunc(approval.Asks, isAsker):
		return false
	case f.actions != nil && !slices.Contains(f.actions, r.Decision.Action) && !slices.Contains(f.actions, r.Answered):
		return false
	case f.approvals != nil && !slices.Contains(f.approvals, approval.By) &&
		(r.Approval == nil || !slices.Contains(f.approvals, "any")):
		return false
	}
	kind, isKind := strings.CutPrefix(f.tool, "kind:")
	if isKind {
		return r.Kind == kind
	}
	fits, _ := path.Match(f.tool, r.Tool)
	return f.tool == "" || fits
}

// A logPrinter prints records.
type logPrinter struct {
	w      *bufio.Writer
	format string
	width  int // the most columns; 0 for any
	count  int
	csv    *csv.Writer
	err    error
}

// begin prints the text before the first record.
func (p *logPrinter) begin() {
	switch p.format {
	case "json":
		_, p.err = p.w.WriteString(`{"schema":"starhost.log/1","records":[`)
	case "csv":
		p.csv = csv.NewWriter(p.w)
		p.err = p.csv.Write([]string{
			"time", "id", "agent", "session", "event", "tool", "kind", "action", "answered", "plugin",
			"reason", "pos", "duration_us", "approval",
		})
	}
}

// print prints a record.
func (p *logPrinter) print(r *decision.Record) {
	p.count++
	d := &r.Decision
	switch p.format {
	case "json", "jsonl":
		separator, end := "", "\n"
		if p.format == "json" {
			end = ""
			if p.count > 1 {
				separator = ","
			}
			separator += "\n"
		}
		_, p.err = p.w.WriteString(separator + texttable.Escape(string(jsontext.Must(r))) + end)
	case "csv":
		cells := []string{
			r.Time.Format(time.RFC3339Nano), r.ID, r.Agent, r.Session, r.Event, r.Tool, r.Kind,
			d.Action, r.Answered, d.Plugin, d.Reason, d.Pos, fmt.Sprint(r.DurationUS),
			cmp.Or(r.Approval, &decision.Approval{}).By,
		}
		for i := range cells {
			cells[i] = plainCell(texttable.EscapeLine(cells[i]))
		}
		p.err = p.csv.Write(cells)
		p.csv.Flush()
	default:
		_, p.err = p.w.WriteString(logLine(r, p.width) + "\n")
	}
}

// plainCell returns a cell that no spreadsheet takes for a formula: a quote in front of its first
// character makes it a text.
func plainCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
		return "'" + text
	}
	return text
}

// end prints the text after the last record.
func (p *logPrinter) end(skipped int) {
	if p.format == "json" && p.err == nil {
		_, p.err = fmt.Fprintf(p.w, "\n],\"skipped\":%d,\"ok\":true}\n", skipped)
	}
}

// terminalWidth returns the number of columns of a terminal, 0 for another stream.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// logLine returns the line of a record for people. If it is longer than width, what was asked gives
// way, down to 20 letters.
func logLine(r *decision.Record, width int) string {
	d := &r.Decision
	answer := r.Answered
	if d.Action != r.Answered && d.Action != decision.ActionNone {
		answer += " (" + d.Action + ")"
	}
	text := fmt.Sprintf("%s  %s  %s  %s", r.Time.Local().Format("2006-01-02 15:04:05"), r.ID[max(0, len(r.ID)-shortestID):],
		orDash(r.Agent), strings.TrimSpace(r.Event+" "+r.Tool))
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

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// A shownRecord is the result of log show.
type shownRecord struct {
	record *decision.Record
	text   string // the golden case, or ""
}

func (a *app) logShowCommand() *cobra.Command {
	var asCase bool
	var plugin string
	cmd := &cobra.Command{
		Use:   "show ID|last",
		Short: "Print a record, or a golden case that repeats it",
		Long: `Print the record with an id, with an id that begins or ends so, or the last one. With --golden, print a golden case
that passes as long as the plugin decides as it did: put it beside the plugin. A record that
is masked or cut, or lacks what the case must show, makes no case.`,
		Example: `  starhost log show last
  starhost log show 32Z34AYK
  starhost log show 32Z34AYK --golden > plugins/golden/guard_incident.txtar`,
		Args: wantArguments("ID"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.chooseFormat("log show"); err != nil {
				return err
			}
			r, err := a.findRecord(args[0])
			if err != nil {
				return err
			}
			shown := shownRecord{record: r}
			switch {
			case asCase && a.format == "json":
				return usagef("--golden: got -F json, want no -F: a case is a text")
			case plugin != "" && !asCase:
				return usagef("--plugin: got it without --golden")
			case asCase:
				if shown.text, err = goldenCase(r, plugin); err != nil {
					fmt.Fprintln(a.stderr, texttable.Hang(err.Error()))
					a.code = exitNegative
					return nil
				}
			}
			return a.printResult(shown)
		},
	}
	cmd.Flags().BoolVar(&asCase, "golden", false, "print a golden case that repeats the decision")
	cmd.Flags().StringVar(&plugin, "plugin", "", "with --golden: the case of the plugin `NAME` (default the one that decided)")
	return cmd
}

// shortestID is the fewest characters of an id's beginning or end. Lists show so many of its end.
const shortestID = 8

// lastRecord stands for the id of the newest record.
const lastRecord = "last"

// findRecord returns the record whose id is, begins with or ends with a text, or the last one.
func (a *app) findRecord(id string) (*decision.Record, error) {
	dir, _, err := a.openLog()
	if err != nil {
		return nil, err
	}
	r, err := readLog(dir)
	if err != nil {
		return nil, err
	}
	if id == lastRecord {
		return lastRecordOf(r, dir)
	}
	if len(id) < shortestID || strings.Trim(id, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != "" {
		return nil, usagef("log show: got %q, want an id of starhost log, or %d or more of its first or last characters", id, shortestID)
	}
	var found *decision.Record
	begins, ends := []byte(`"id":"`+id), []byte(id+`"`)
	for line, err := range r.Lines() {
		if err != nil {
			return nil, wrapFileError(dir, err)
		}
		if !bytes.Contains(line, begins) && !bytes.Contains(line, ends) {
			continue
		}
		record, err := decision.ParseRecord(line)
		if err != nil || !strings.HasPrefix(record.ID, id) && !strings.HasSuffix(record.ID, id) {
			continue
		}
		if found != nil && found.ID != record.ID {
			return nil, usagef("log show: %q begins or ends the ids of several records, as %s and %s", id, found.ID, record.ID)
		}
		found = record
	}
	if found == nil {
		return nil, usagef("log show: there is no record %q in %s", id, dir)
	}
	return found, nil
}

// lastRecordOf returns the last whole record of a log.
func lastRecordOf(r *decision.Reader, dir string) (*decision.Record, error) {
	var last *decision.Record
	for line, err := range r.Lines() {
		if err != nil {
			return nil, wrapFileError(dir, err)
		}
		if record, err := decision.ParseRecord(line); err == nil {
			last = record
		}
	}
	if last == nil {
		return nil, usagef("log show: there is no record in %s", dir)
	}
	return last, nil
}

func (a *app) printRecordPretty(s shownRecord) error {
	if s.text != "" {
		a.out.WriteString(s.text)
		return nil
	}
	r := s.record
	a.out.WriteString(logLine(r, 0) + "\n")
	rows := [][]string{
		{"id", r.ID},
		{"session", fmt.Sprintf("%s, turn %d", r.Session, r.Turn)}, {"workspace", r.Workspace}, {"kind", r.Kind}, {"call", r.CallID},
		{"platform", r.Platform}, {"roles", strings.Join(r.Roles, ", ")}, {"model", r.Model}, {"mode", r.Mode},
		{"revision", r.Set.Revision}, {"masked", strings.Join(r.Masked, ", ")}, {"cut", strings.Join(r.Cut, ", ")},
		{"omitted", strings.Join(r.Omitted, ", ")}, {"duration", fmt.Sprintf("%d us", r.DurationUS)},
	}
	a.out.Table(slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" }))
	if r.Approval != nil {
		a.printApproval(r.Approval)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Input)) {
		a.out.WriteString("input " + texttable.EscapeLine(name+" "+string(r.Input[name])) + "\n")
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
		a.out.WriteString(texttable.EscapeLine(fmt.Sprintf("%s (%d steps)", text, h.Steps)) + "\n")
		for _, line := range h.Effects {
			a.out.WriteString("  " + texttable.EscapeLine(string(line)) + "\n")
		}
		for _, line := range h.Logs {
			a.out.WriteString("  log " + texttable.EscapeLine(line.Level+": "+line.Text) + "\n")
		}
	}
	for i := range r.Context {
		c := &r.Context[i]
		text := fmt.Sprintf("context %s %d B %s %s", c.ID[:min(len(c.ID), 12)], c.Bytes, c.Plugin, c.Source)
		a.out.WriteString(texttable.EscapeLine(text) + "\n")
	}
	return nil
}

// printApproval prints who answered a question, when, and why it was asked.
func (a *app) printApproval(approval *decision.Approval) {
	when := "asked " + approval.Asked.Format(time.RFC3339)
	if !approval.Answered.IsZero() {
		when += ", answered " + approval.Answered.Format(time.RFC3339)
	}
	a.out.WriteString(texttable.EscapeLine("approval by "+approval.By+", "+when) + "\n")
	for i := range approval.Asks {
		ask := &approval.Asks[i]
		text := strings.TrimSpace(fmt.Sprintf("%s %s", ask.Plugin, ask.Pos)) + " asks: " + ask.Reason
		a.out.WriteString("  " + texttable.EscapeLine(text) + "\n")
	}
}

func (a *app) printRecordJSON(s shownRecord) error {
	return a.out.JSON(struct {
		Schema string           `json:"schema"`
		OK     bool             `json:"ok"`
		Record *decision.Record `json:"record"`
	}{"starhost.log.show/1", true, s.record})
}

// A collectedLog is the result of log gc.
type collectedLog struct {
	dir     string
	removed []string
}

func (a *app) logCollectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "gc",
		Short: "Delete files of the log that [log] keep and max do not allow",
		Example: `  starhost log gc
  starhost log gc -F json`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if err := a.chooseFormat("log gc"); err != nil {
				return err
			}
			dir, config, err := a.openLog()
			if err != nil {
				return err
			}
			l := decision.New(decision.Options{Dir: dir, Keep: config.Log.Keep, Max: config.Log.Max})
			removed, err := l.Collect()
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return wrapFileError(dir, err)
			}
			return a.printResult(collectedLog{dir, removed})
		},
	}
}

func (a *app) printCollectedPretty(c collectedLog) error {
	for _, name := range c.removed {
		a.out.WriteString("removed " + texttable.EscapeLine(name) + "\n")
	}
	fmt.Fprintf(&a.out, "removed %d files\n", len(c.removed))
	return nil
}

func (a *app) printCollectedJSON(c collectedLog) error {
	return a.out.JSON(struct {
		Schema  string   `json:"schema"`
		OK      bool     `json:"ok"`
		Removed []string `json:"removed"`
	}{"starhost.log.gc/1", true, append([]string{}, c.removed...)})
}
