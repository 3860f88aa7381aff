package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/hook"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	loadFlags
	since             string
	logs, only, allow []string
	agents            []string
	asEnforced, read  bool
	transcripts       bool
	merge             bool
	golden            string
}

func (p *program) replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:         "replay [PATH...]",
		Annotations: formats("pretty json github junit"),
		Short:       "Show what plugins would have decided about the events of the decision log",
		Long: `Fire the events of the decision log again, with the plugins at PATH or those of the
config, and compare their decisions with the recorded ones. The record answers the
plugins' effects: no request leaves, no program runs and no file is written. If a record
has no answer, or lacks a value that a handler reads, replay says that it cannot tell.

The exit code is 1 if a decision changed that no --allow accepts, and with --strict also
if replay cannot tell. --allow takes the beginning of a line of the report, up to the end
of a word, such as "now denied by freeze". --only takes a glob of tools' names, or
kind:KIND; the report then leaves out all other events. Each event has the time of its
record, whatever --now says.

--transcripts reads the agents' own transcripts in place of a log: what the plugins would have
decided about the calls of the last weeks, without installing anything. --agent names the agents to
look at. Each session begins with empty ctx.state, and what a transcript lacks, as the user's words,
is "cannot tell". Nothing of the transcripts is stored, unless --golden writes a golden case for each
group of changes, masked as the log is. See docs/traces.md.

A file of --log may be compressed by gzip, or by Zstandard if the program zstd is there. If several
processes replay parts of a log at once, each with -F json, --merge makes one report of theirs: the
paths are then those reports. Each session must be in one part only. See docs/log.md.`,
		Example: `  starhost replay --since 7d
  starhost replay plugins/freeze --only kind:shell --allow "now denied by freeze"
  starhost replay plugins/freeze --transcripts --since 30d
  starhost replay --log decisions-2026-11-23.jsonl --strict -F junit
  starhost replay --merge part-*.json --allow "now denied by freeze"`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			return replayLog(cmd.Context(), p.env, &p.res, &f, paths)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.Lookup("strict").Usage = "warnings are errors, and an event that replay cannot tell counts as changed"
	addSince(flags, &f.since, "only records since `TIME`")
	flags.Var((*stringList)(&f.logs), "log", "a `FILE` or folder of records, - for standard input, in place of the config's log; repeatable")
	flags.Var((*stringList)(&f.only), "only", "report only events about tools whose name matches a `GLOB`, or kind:KIND; repeatable")
	flags.Var((*stringList)(&f.allow), "allow", "accept changes whose line begins with `TEXT`; repeatable")
	flags.BoolVar(&f.transcripts, "transcripts", false, "read the agents' own transcripts in place of a log")
	flags.Var((*stringList)(&f.agents), "agent", "with --transcripts, only this `AGENT`; repeatable")
	flags.StringVar(&f.golden, "golden", "", "with --transcripts, write a golden case for each group of changes into `DIR`")
	flags.BoolVar(&f.merge, "merge", false, "merge the reports of parts of a log, which -F json wrote")
	flags.BoolVar(&f.asEnforced, "as-enforced", false, "enforce plugins that the config only lets warn")
	flags.BoolVar(&f.read, "read", false, "answer reads of files that the record lacks with today's files")
	return cmd
}

// A replayRun is the result of replay.
type replayRun struct {
	*decision.ReplayReport
	skipped int    // lines that are no records
	past    string // what was read of transcripts, "" for a log
}

// replayLog runs the command.
func replayLog(ctx context.Context, env Env, res *Result, f *replayFlags, paths []string) error {
	if f.merge {
		return mergeReplays(env, res, f, paths)
	}
	for _, p := range paths {
		if ext := filepath.Ext(p); ext == ".jsonl" || ext == ".json" {
			return &report.UsageError{Msg: "replay: " + errtext.Brief(p) + " is no plugin: records of decisions are --log FILE", Help: "starhost replay --log " + p}
		}
	}
	for _, p := range paths {
		if _, err := os.Stat(env.path(p)); f.transcripts && err != nil && hook.AgentOf(p) != nil {
			return &report.UsageError{Msg: "replay: " + p + " is an agent, want --agent " + p, Help: "starhost replay --transcripts --agent " + p + " PATH"}
		}
	}
	past, err := newPast(env, f)
	if err != nil {
		return err
	}
	options := decision.ReplayOptions{Only: f.only, ReadFiles: f.read}
	if past != nil {
		options.Lacks, options.Example = "transcripts do not have it", past.example
	}
	r, err := decision.NewReplay(options)
	if err != nil {
		return usagef("--only: %v", err)
	}
	set, err := loadReplay(ctx, env, res, f, r, past, paths)
	if err != nil {
		return err
	}
	defer set.Close()
	if len(res.problems) > 0 {
		return nil // without this plugin, the decisions would be different
	}
	skipped := func() int { return 0 }
	var records iter.Seq2[*decision.Record, error]
	if past != nil {
		records = past.records(set)
	} else {
		reader, err := openLogs(env, f, set.Config)
		if err != nil {
			return err
		}
		records, skipped = reader.All(), func() int { return reader.Skipped }
	}
	if !env.inside {
		// A long log makes much garbage, and so do transcripts. Beside the heap, the program itself takes 20 MiB.
		const garbage, maxHeap = 200, 40 << 20
		defer debug.SetGCPercent(debug.SetGCPercent(garbage))
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(maxHeap))
	}
	load := func() (*host.Host, error) { return set.Host, nil }
	found, err := r.Run(ctx, load, records)
	if err != nil {
		return errtext.OfPath(err)
	}
	run := &replayRun{found, skipped(), ""}
	if past != nil {
		run.past = past.String()
		res.warnings = append(res.warnings, past.warnings...)
	}
	return run.end(env, res, f)
}

// end prints a report as the flags want it.
func (r *replayRun) end(env Env, res *Result, f *replayFlags) error {
	for _, text := range f.allow {
		if r.Allow(text) == 0 {
			res.warnings = append(res.warnings, loader.Warning{Msg: fmt.Sprintf("--allow %q fits no change", text)})
		}
	}
	if r.Changed() > 0 || f.strict && r.CannotTell > 0 {
		res.code = report.ExitNegative
	}
	return env.printResult(res, r)
}

// mergeReplays prints one report of the parts of a log. A warning of all parts is one of the whole; any other
// was about its part.
func mergeReplays(env Env, res *Result, f *replayFlags, names []string) error {
	if len(names) == 0 || len(f.logs)+len(f.only)+len(f.agents)+len(f.since)+len(f.golden) > 0 || f.transcripts || f.read || f.asEnforced {
		return &report.UsageError{Msg: "replay --merge: want reports of replay -F json, and of the flags only --allow, --strict and those of the output", Help: "starhost replay --merge part-*.json"}
	}
	run := new(replayRun)
	var parts []*decision.ReplayReport
	for i, name := range names {
		part := replayJSON{ReplayReport: new(decision.ReplayReport)}
		text, err := disk.Read(env.path(name))
		if err == nil {
			if err = json.Unmarshal(text, &part); err == nil && part.Schema != replaySchema {
				err = errtext.Errorf("schema: got %q, want %q", part.Schema, replaySchema)
			}
			if err != nil {
				err = fmt.Errorf("want a report of replay -F json: %w", err)
			}
		}
		if err != nil {
			return errtext.File(name, err)
		}
		parts = append(parts, part.ReplayReport)
		run.skipped += part.Skipped
		isHere := func(w loader.Warning) bool {
			return slices.ContainsFunc(part.Warnings, func(p report.WarningJSON) bool { return p.Message == w.Msg })
		}
		for _, w := range part.Warnings {
			if i == 0 {
				res.warnings = append(res.warnings, partWarning(w))
			}
		}
		res.warnings = slices.DeleteFunc(res.warnings, func(w loader.Warning) bool { return !isHere(w) })
	}
	run.ReplayReport = decision.MergeReplays(parts)
	return run.end(env, res, f)
}

// partWarning returns the warning of a report.
func partWarning(w report.WarningJSON) loader.Warning {
	out := loader.Warning{Msg: w.Message}
	if w.Pos != nil {
		out.Place = loader.Place{File: w.Pos.File, Line: w.Pos.Line, Col: w.Pos.Col}
	}
	return out
}

// loadReplay loads plugins whose effects the records answer.
func loadReplay(
	ctx context.Context, env Env, res *Result, f *replayFlags, r *decision.Replay, past *transcriptReplay, paths []string,
) (*loader.Set, error) {
	return env.loadWith(ctx, res, &f.loadFlags, paths, func(o *loader.Options) {
		o.RequiredInArgs, o.Enforce = true, f.asEnforced
		o.World.Answers = effects.Resolver(r.Resolve)
		o.World.HTTP, o.World.Exec, o.World.Store = nil, nil, nil
		o.World.Secrets = effects.NewSecrets(effects.SecretOptions{Patterns: redactPatterns(o.Config)})
		o.Host.Clock, o.Host.Answer = r.Now, r.Answer
		if past != nil {
			o.Host.Observe = past.observe
		}
		o.Host.Log = func(host.LogLine) {} // plugins logged it when the event happened
	})
}

// openLogs returns a reader of the records that the flags name.
func openLogs(env Env, f *replayFlags, config *loader.Config) (*decision.Reader, error) {
	names := slices.Clone(f.logs)
	for i, name := range names {
		if name != "-" {
			names[i] = env.path(name)
		}
	}
	if names == nil {
		dir := env.logDir(config)
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil, &errtext.FileError{Name: filepath.ToSlash(dir), Err: errors.New("there is no decision log yet: hook, run, chat and serve write one, and --log FILE names another")}
		}
		names = []string{dir}
	}
	reader, err := decision.NewReader(names...)
	if err != nil {
		return nil, errtext.OfPath(err)
	}
	reader.Stdin = env.stdin
	reader.Since, err = parseSince(f.since)
	return reader, err
}

func (r *replayRun) WriteText(res *Result) {
	if r.past != "" {
		res.out.WriteString(texttable.EscapeLine(r.past) + "\n")
	}
	decision.WriteReplay(&res.out, r.ReplayReport, r.skipped)
}

// replaySchema is the schema of the JSON result of replay.
const replaySchema = "starhost.replay/1"

// replayJSON is the JSON result of replay.
type replayJSON struct {
	head
	*decision.ReplayReport
	Skipped int `json:"skipped"` // lines of the log that are no records
	tail
}

func (r *replayRun) WriteJSON(res *Result) error {
	return res.out.JSON(replayJSON{
		head: head{replaySchema, len(res.problems) == 0 && res.code == report.ExitOK}, ReplayReport: r.ReplayReport,
		Skipped: r.skipped, tail: res.tail(),
	})
}

func (r *replayRun) WriteGitHub(res *Result) {
	decision.WriteReplayGitHub(&res.out, r.ReplayReport, r.skipped)
}

func (r *replayRun) WriteJUnit(res *Result) error {
	return decision.WriteReplayJUnit(&res.out, r.ReplayReport)
}
