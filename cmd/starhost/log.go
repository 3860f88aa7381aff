package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/internal/timetext"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// logFlags are the flags of log.
type logFlags struct {
	decision.Filter
	since  string
	follow bool
}

func (p *program) logCommand() *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:         "log",
		Annotations: formats("text json jsonl csv"),
		Short:       "List recorded decisions, show one, and make golden cases of them",
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
		Args: refuseSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return printLog(cmd.Context(), p.env, &p.res, &f) },
	}
	flags := cmd.Flags()
	addSince(flags, &f.since, "only records since `TIME`")
	flags.StringVar(&f.Session, "session", "", "only records of the session `ID`")
	flags.StringVar(&f.Plugin, "plugin", "", "only records in which the plugin `NAME` took part")
	flags.StringVar(&f.Tool, "tool", "", "only calls of tools that match `GLOB`, or of a kind as kind:shell")
	flags.Var((*commaList)(&f.Actions), "action", "only records with one of the `ACTIONS` as decision or answer: deny,ask")
	flags.Var((*commaList)(&f.Approvals), "approval", "only answers to questions about calls by `WHO`: "+
		strings.Join(host.Answerers(), ", ")+", a word of a program, or any")
	flags.BoolVar(&f.follow, "follow", false, "go on with records as programs write them")
	cmd.AddCommand(p.logShowCommand(), p.logCollectCommand())
	return cmd
}

// A commaList is the value of a flag that is a list with commas.
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
func (env Env) openLog(res *Result) (dir string, config *loader.Config, err error) {
	config, err = env.loadConfig(res, false)
	if err != nil {
		return "", nil, err
	}
	if dir = env.logDir(config); dir == "" {
		return "", nil, usagef("there is no folder of a log: want HOME, XDG_STATE_HOME or [log] path")
	}
	return dir, config, nil
}

// printLog prints the records as a list. It prints while it reads, so that its memory does not grow with the
// log.
func printLog(ctx context.Context, env Env, res *Result, f *logFlags) (err error) {
	since, err := f.check(env.format)
	if err != nil {
		return err
	}
	dir, _, err := env.openLog(res)
	if err != nil {
		return err
	}
	r, err := decision.Open(dir)
	if err != nil {
		return err
	}
	r.Since = since
	catchSignals(ctx)
	out, closeOut, err := streamOut(env, res, f.follow)
	if err != nil {
		return err
	}
	defer func() { err = closeOut(err) }()
	w := bufio.NewWriter(out)
	p := decision.NewPrinter(w, env.format, terminalWidth(out))
	p.Begin()
	records := r.All()
	if f.follow {
		records = r.Follow(ctx, dir, func() error { return w.Flush() })
	}
	for record, err := range records {
		if err != nil {
			return errtext.File(dir, err)
		}
		if ctx.Err() != nil {
			break
		}
		if f.Selects(record) {
			p.Print(record)
		}
		if p.Err != nil {
			return errtext.File("standard output", p.Err)
		}
	}
	p.End(r.Skipped)
	if p.Count == 0 && p.Format == "text" && ctx.Err() == nil {
		env.printNote("no such record in " + texttable.EscapeLine(dir))
	}
	if r.Skipped > 0 && !f.follow {
		msg := fmt.Sprintf("%d lines are no records of this version", r.Skipped)
		res.warnings = append(res.warnings, loader.Warning{Place: loader.Place{File: dir}, Msg: msg})
	}
	return errtext.File("standard output", errors.Join(p.Err, w.Flush()))
}

// streamOut returns standard output or the file of -o, and a function that ends it. The caller passes the
// error of writing to that function. The file replaces an older one if there was no error. If atOnce is true,
// for a user who waits for more records, it replaces the older file at once.
func streamOut(env Env, res *Result, atOnce bool) (out io.Writer, end func(error) error, err error) {
	if env.output == "" {
		return env.stdout, func(err error) error { return err }, nil
	}
	name := env.output
	res.written = true
	file, err := disk.StartReplacement(env.path(name))
	if err == nil && atOnce {
		err = file.Commit()
	}
	if err != nil {
		return nil, nil, errtext.File(name, err)
	}
	return file, func(err error) error {
		if err == nil {
			err = errtext.File(name, file.Commit())
		}
		return errors.Join(err, file.Close())
	}, nil
}

// check checks the flags, and returns the time of --since.
func (f *logFlags) check(format string) (since time.Time, err error) {
	for _, action := range f.Actions {
		if !slices.Contains(logActions, strings.TrimPrefix(action, "would ")) {
			return since, usagef("--action: got %q, want %s", action, strings.Join(logActions, ", "))
		}
	}
	for _, who := range f.Approvals {
		if like := near.Name(who, host.Answerers()); like != "" && !slices.Contains(host.Answerers(), who) {
			return since, usagef("--approval: got %q (did you mean %s?)", who, like)
		}
	}
	if _, err := path.Match(f.Tool, ""); err != nil {
		return since, usagef("--tool: got %q, want a glob as restart_*", f.Tool)
	}
	if f.follow && format == "json" {
		return since, usagef("--follow: got -F json, which is one document, want -F jsonl")
	}
	return parseSince(f.since)
}

// addSince adds the flag --since. what says what it selects, with `TIME`.
func addSince(flags *pflag.FlagSet, p *string, what string) {
	flags.StringVar(p, "since", "", what+": a span as 7d, or a time as 2026-01-01T00:00:00Z (default all)")
}

// parseSince returns the time of --since, the zero time without the flag.
func parseSince(text string) (time.Time, error) {
	since, err := timetext.ParseSince(text, time.Now())
	if err != nil {
		return since, usagef("--since: %v", err)
	}
	return since, nil
}

// terminalWidth returns the number of columns of a terminal, or 0 if w is none.
func terminalWidth(w io.Writer) int {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}

// A shownRecord is the result of log show.
type shownRecord struct {
	record *decision.Record
	text   string // the text of a golden case, or ""
}

func (p *program) logShowCommand() *cobra.Command {
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
			r, err := findRecord(p.env, &p.res, args[0])
			if err != nil {
				return err
			}
			shown := shownRecord{record: r}
			switch {
			case asCase && p.env.format == "json":
				return usagef("--golden: got -F json, want no -F: a case is a text")
			case plugin != "" && !asCase:
				return usagef("--plugin: got it without --golden")
			case asCase:
				if shown.text, err = golden.CaseOf(r, plugin); err != nil {
					fmt.Fprintln(p.env.stderr, texttable.Hang(err.Error()))
					p.res.code = report.ExitNegative
					return nil
				}
			}
			return p.env.printResult(&p.res, shown)
		},
	}
	cmd.Flags().BoolVar(&asCase, "golden", false, "print a golden case that repeats the decision")
	cmd.Flags().StringVar(&plugin, "plugin", "", "with --golden: the case of the plugin `NAME` (default the one that decided)")
	return cmd
}

// findRecord returns the record whose id equals, begins with or ends with a text, or the last record.
func findRecord(env Env, res *Result, id string) (*decision.Record, error) {
	dir, _, err := env.openLog(res)
	if err != nil {
		return nil, err
	}
	r, err := decision.Open(dir)
	if err != nil {
		return nil, err
	}
	record, err := decision.Find(r, dir, id)
	if _, isFile := errors.AsType[*errtext.FileError](err); err != nil && !isFile {
		err = usagef("log show: %v", err)
	}
	return record, err
}

func (s shownRecord) WriteText(res *Result) {
	if s.text != "" {
		res.out.WriteString(s.text)
	} else {
		decision.WriteRecord(&res.out, s.record)
	}
}

func (s shownRecord) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.log.show/1"), members{"record": s.record})
}

// A collectedLog is the result of log gc.
type collectedLog struct {
	dir     string
	removed []string
}

func (p *program) logCollectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "gc",
		Short: "Delete files of the log that [log] keep and max do not allow",
		Example: `  starhost log gc
  starhost log gc -F json`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			dir, config, err := p.env.openLog(&p.res)
			if err != nil {
				return err
			}
			l := decision.New(decision.Options{Dir: dir, Keep: config.Log.Keep, Max: config.Log.Max})
			removed, err := l.Collect()
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return errtext.File(dir, err)
			}
			return p.env.printResult(&p.res, collectedLog{dir, removed})
		},
	}
}

func (c collectedLog) WriteText(res *Result) {
	for _, name := range c.removed {
		res.out.WriteString("removed " + texttable.EscapeLine(name) + "\n")
	}
	fmt.Fprintf(&res.out, "removed %d files\n", len(c.removed))
}

func (c collectedLog) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.log.gc/1"), members{"removed": append([]string{}, c.removed...)})
}
