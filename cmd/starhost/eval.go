package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/watch"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/measure"
	"github.com/starhost/starhost/model"
	"github.com/starhost/starhost/report"
)

// evalFlags has the values of eval's flags.
type evalFlags struct {
	loadFlags
	requestFlags
	session        sessionID
	seed           uint64
	against        string
	record, replay string
	profile        string
	allowEffects   bool
	explain        bool
	reached        bool
	approve        string
	watch          bool
}

// wantsTurn reports whether the flags ask for more than the list of registrations.
func (f *evalFlags) wantsTurn() bool { return f.requestFlags.wantsTurn() || f.replay != "" }

func (p *program) evalCommand() *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:         "eval [PATH...]",
		Annotations: formats(evalFormats),
		Short:       "Show the prompt that the model would get",
		Long: `Show the prompt that the model would get: load the plugins at the paths, assemble
the prompt, print a report and the prompt. No model is called.

Without a prompt, call or fire it prints what the plugins register. A PATH is a
.star file, a plugin folder, or a folder of plugins; none means what the config
names, else ./plugins or ./*.star.

--session continues a stored session, which begins with its first use: the prompt
has its earlier messages, and plugins have its ctx.state. starhost stores the turn and
the fragments of its prompt. Without --session it stores neither.

Plugins read what their permissions allow. Effects that outlive the run (exec,
fs.write, http beyond GET, store.set) need --allow-effects; without it, the report
lists them. --record writes the turn with every effect as a golden case. --replay runs
it again, byte for byte, without any effect, and reports where plugins act differently.
A case that lies beside its plugin is one of starhost test, too.`,
		Example: `  starhost eval oncall.star
  starhost eval plugins -f runbook:checkout -p "Why is p99 up?"
  starhost eval plugins --session mine -p "Why is p99 up?"
  starhost eval plugins --call restart_pods --arg cluster=prod-1
  starhost eval oncall.star -e '[n for n in dir(text) if "pad" in n]'
  starhost eval plugins -p "Why?" -F openai | curl -d @- ...
  starhost eval oncall.star -p "Why?" --record golden/oncall_why.txtar
  starhost eval oncall.star --replay golden/oncall_why.txtar`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			f.promptGiven = cmd.Flags().Changed("prompt") || f.promptFile != ""
			if cmd.Flags().Changed("expr") && f.expr == "" {
				return usagef("-e: got nothing, want an expression")
			}
			f.callGiven, f.fireGiven = cmd.Flags().Changed("call"), cmd.Flags().Changed("fire")
			return runEval(cmd.Context(), p.env, &p.res, &f, paths)
		},
	}
	f.loadFlags.add(cmd)
	f.requestFlags.add(cmd)
	flags := cmd.Flags()
	addSession(cmd, &f.session)
	flags.Uint64Var(&f.seed, "seed", 0, "`NUMBER` that ctx.random and ctx.uuid start from")
	flags.BoolVar(&f.explain, "explain", false, "show each step: who added, changed and dropped what, and what it cost")
	addApprove(cmd, &f.approve)
	flags.BoolVar(&f.reached, "reached", false, "show the lines of plugins that ran after they loaded; steps are then about right")
	flags.StringVar(&f.against, "against", "", "compare with an earlier -F json in `FILE`: where would a prompt cache break?")
	flags.BoolVar(&f.allowEffects, "allow-effects", false, "run effects that outlive the run, too: exec, fs.write, http beyond GET, store.set")
	flags.StringVar(&f.record, "record", "", "write the run as a golden case to `FILE`, NAME.txtar")
	flags.StringVar(&f.replay, "replay", "", "run the case in `FILE` again, without effects")
	flags.BoolVar(&f.watch, "watch", false, "do it again when a file changes, until ctrl-C")
	flags.StringVar(&f.profile, "profile", "", "write where plugins spend steps and bytes to `FILE`, and the host time to FILE.host, for go tool pprof")
	flags.StringVarP(&f.model, "model", "m", "", "the `MODEL` of the request, for handlers and request bodies (default [model] default)")
	p.completeEval(cmd, &f)
	return cmd
}

// addRequest adds the flags of a request.
func (f *requestFlags) addRequest(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.prompt, "prompt", "p", "", "the user's words, `TEXT` or - for standard input")
	flags.StringVar(&f.promptFile, "prompt-file", "", "`FILE` with the user's words")
	flags.StringVarP(&f.input, "input", "i", "", "`FILE` with a whole request as JSON, or - for standard input")
	f.addContent(cmd)
}

// addContent adds the flags of a request besides the user's words.
func (f *requestFlags) addContent(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.VarP((*stringList)(&f.fragments), "fragment", "f", "fragment `REF`: PREFIX:ARG, a path, or - for standard input; repeatable")
	flags.Var((*stringList)(&f.systemFragments), "sf", "fragment `REF` for the system text; repeatable")
	flags.VarP((*stringList)(&f.attachments), "attachment", "a", "attachment `REF[;type=TYPE]`, a path or URL; repeatable")
	flags.StringVarP(&f.system, "system", "s", "", "system `TEXT`")
	flags.StringVarP(&f.template, "template", "t", "", "begin with the template `REF`, PREFIX:ARG")
	flags.Var((*stringList)(&f.params), "param", "a template's parameter, `NAME=VALUE`; repeatable")
	flags.VarP((*stringList)(&f.tools), "tool", "T", "offer only tools whose name matches this `GLOB`; repeatable")
	flags.Var((*stringList)(&f.roles), "role", "a `ROLE` of the user in the session, as tools of some roles want; repeatable")
}

// addModel adds the flag that chooses a model.
func (f *requestFlags) addModel(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.model, "model", "m", "", "the `MODEL` to ask, as NAME/MODEL (default [model] default)")
}

// add adds the flags of a request, and those of a call, an event or an expression.
func (f *requestFlags) add(cmd *cobra.Command) {
	f.addRequest(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.call, "call", "", "call one `TOOL`")
	flags.StringVarP(&f.expr, "expr", "e", "", "evaluate an expression with a plugin's names and ctx: `[PLUGIN:]EXPR`")
	f.addFire(cmd, "fire one `EVENT`", "--call or --fire")
}

// addFire adds the flags of an event. usage is the help text of --fire, and of says what the arguments belong to.
func (f *requestFlags) addFire(cmd *cobra.Command, usage, of string) {
	flags := cmd.Flags()
	flags.StringVar(&f.fire, "fire", "", usage)
	flags.StringVar(&f.args, "args", "", "arguments of "+of+": `JSON`, @FILE or - for standard input")
	flags.Var((*stringList)(&f.argPairs), "arg", "one argument of "+of+", `NAME=VALUE`; repeatable")
}

// An evaluation is the result of eval so far.
type evaluation struct {
	flags *evalFlags
	report.Evaluation
	config    host.SessionConfig
	arguments map[string]json.RawMessage // of the tool or the event

	dryRun   effects.DryRun       // effects that did not run
	record   *effects.Journal     // nil without --record
	clock    func() time.Time     // the clock of --record
	replay   *golden.RecordedTurn // nil without --replay
	profiler *measure.Profiler    // nil without --profile
	reach    *report.Reach        // nil without --reached
}

// runEval runs the command eval. It prints errors beside the results that it has.
func runEval(ctx context.Context, env Env, res *Result, f *evalFlags, paths []string) error {
	e := evaluation{flags: f}
	if err := f.check(env.format); err != nil {
		res.addError(err)
		return env.printResult(res, &e)
	}
	if f.watch {
		return watchEval(ctx, env, res, f, paths)
	}
	if f.profile != "" {
		e.profiler = new(measure.Profiler)
		if err := e.profiler.Start(); err != nil {
			return err
		}
	}
	res.addError(evaluate(ctx, env, res, f, paths, &e))
	if e.Set != nil {
		defer e.Set.Close()
	}
	if e.profiler != nil {
		catchSignals(ctx)
		res.addError(e.profiler.Finish(f.profile, env.path(f.profile)))
	}
	return printEvaluation(env, res, f, &e)
}

// check refuses flags that do not go together.
func (f *evalFlags) check(format string) error {
	if err := cmp.Or(f.checkFormat(format), f.checkRecorded()); err != nil {
		return err
	}
	switch {
	case f.session != "" && (f.record != "" || f.replay != "" || f.watch):
		return usagef("--session: got --record, --replay or --watch, want none: these run the same turn again")
	case f.session != "" && !f.wantsTurn():
		return usagef("--session: got nothing to continue it with, want -p, -t, -i, --call, --fire or -e beside it")
	case f.watch && (f.record != "" || f.replay != "" || f.profile != ""):
		return usagef("--watch: got --record, --replay or --profile, want none: these are about one run")
	case f.reached && !f.wantsTurn():
		return usagef("--reached: got nothing to run, want -p, -t, -i, --call, --fire or -e beside it")
	case f.watch && f.readsStdin():
		return usagef("--watch: got - for standard input, want a file: it is read again")
	}
	return nil
}

// checkRecorded refuses flags that do not go with --record or --replay.
func (f *evalFlags) checkRecorded() error {
	switch {
	case f.record != "" && f.replay != "":
		return usagef("got --record and --replay, want one of them")
	case f.record != "" && !f.wantsPrompt() && (f.expr != "" || !f.callGiven && !f.fireGiven || f.addsToPrompt()):
		return usagef("--record: got nothing that a case can ask, want -p, -t, -i, --call or --fire beside it, and parts of a prompt only with a prompt")
	case f.record != "" && f.expr != "":
		return usagef("--record: got -e beside it, want none: a golden case has no expression")
	case f.record != "" && !strings.HasSuffix(f.record, ".txtar"):
		return usagef("--record: got %s, want a name that ends with .txtar, as of each golden case", f.record)
	case f.replay != "" && f.requestFlags.wantsTurn():
		return usagef("--replay: got a question beside it, want none: FILE has the question")
	}
	return nil
}

// checkFormat refuses flags whose result the format cannot show.
func (f *evalFlags) checkFormat(format string) error {
	plain := format != "pretty" && format != "json"
	switch {
	case plain && f.replay == "" && !f.wantsPrompt() && (f.fireGiven || format != "text" || !f.wantsTurn()):
		return usagef("-F %s: got no prompt to write, want -p, -t or -i", format)
	case plain && f.wantsPrompt() && (f.callGiven || f.fireGiven || f.expr != ""):
		return usagef("-F %s: got a prompt beside --call, --fire or -e, want one of them, or -F pretty or json, which have both", format)
	case f.explain && format != "pretty":
		return usagef("--explain: got -F %s, want pretty", format)
	}
	return nil
}

// printEvaluation adds the comparison that --against asks for, and prints the result.
func printEvaluation(env Env, res *Result, f *evalFlags, e *evaluation) error {
	e.WouldRun, e.Explain, e.Describe = e.dryRun.Effects(), f.explain, describe
	if f.against != "" && e.Prompt != nil {
		res.addError(comparePrompt(env, res, f.against, e))
	}
	keepPictures(env, e)
	if e.reach != nil && e.Turn != nil {
		e.Reached = e.reach.Files(env.path("."))
	}
	return env.printResult(res, e)
}

// evaluate loads the plugins and runs the turn that the flags ask for.
func evaluate(ctx context.Context, env Env, res *Result, f *evalFlags, paths []string, e *evaluation) (err error) {
	if e.Set, err = loadFor(ctx, env, res, f, paths, e); err != nil {
		return err
	}
	end, err := mountForCall(ctx, env, res, f, e)
	defer end()
	if err != nil {
		return err
	}
	if e.reach != nil {
		e.reach.Begin()
	}
	return runQuestion(ctx, env, res, f, e)
}

// loadFor reads the question and loads the plugins for it.
func loadFor(ctx context.Context, env Env, res *Result, f *evalFlags, paths []string, e *evaluation) (*loader.Set, error) {
	if err := readQuestion(env, f, e); err != nil {
		return nil, err
	}
	approver, err := env.newApprover(res, f.approve)
	if err != nil {
		return nil, err
	}
	return env.loadOrLastGood(ctx, res, &f.loadFlags, paths, func(o *loader.Options) {
		e.configureHost(f, o)
		o.Host.Approver = approver
		f.session.useStore(env, o)
	})
}

// readQuestion reads the question from the flags or the case of --replay.
func readQuestion(env Env, f *evalFlags, e *evaluation) (err error) {
	if err := f.requestFlags.check(); err != nil {
		return err
	}
	if f.replay != "" {
		return openRecorded(env, f, e)
	}
	e.Request, e.config, err = env.readRequest(&f.requestFlags)
	if f.session != "" && err == nil {
		if len(e.Request.History) > 0 {
			return usagef("%s: got earlier messages beside --session, which has its own, want only the new one", f.input)
		}
		e.Request.History = nil
	}
	return err
}

// configureHost sets what plugins can reach in this run.
func (e *evaluation) configureHost(f *evalFlags, o *loader.Options) {
	o.RequiredInArgs = true
	if !f.allowEffects {
		o.World.DryRun = &e.dryRun
	}
	if e.profiler != nil {
		o.Profile = &e.profiler.Plugins
	}
	if f.reached {
		e.reach = new(report.Reach)
		e.reach.Measure(o)
	}
	if e.replay != nil {
		e.configureReplay(o)
	}
	if f.record != "" {
		e.configureRecord(o)
	}
}

// runQuestion runs a turn with the question, if there is one.
func runQuestion(ctx context.Context, env Env, res *Result, f *evalFlags, e *evaluation) error {
	if !f.wantsTurn() {
		return nil
	}
	e.config.Seed = f.seed
	e.config.Model = cmp.Or(e.config.Model, e.Request.Model, e.Set.Config.Model.Default)
	if err := readArguments(env, f, e); err != nil {
		return err
	}
	if err := res.checkTools(f, e); err != nil {
		return err
	}
	if f.session != "" {
		return res.runStored(ctx, f, e)
	}
	session := e.Set.Host.NewSession(e.config)
	err := res.runTurn(ctx, f, e, session)
	var failures []error
	if e.Turn != nil {
		failures = slices.Clone(e.Turn.Errors())
	}
	failures = append(failures, err)
	if e.record != nil {
		catchSignals(ctx)
		failures = append(failures, writeRecord(ctx, env, f, e, session.ID()))
	}
	if e.replay != nil {
		if err := e.divergence(failures); err != nil {
			res.reportDivergence(f, e, err)
			return nil
		}
	}
	return errors.Join(failures...)
}

// comparePrompt compares the prompt with the report in a file.
func comparePrompt(env Env, res *Result, file string, e *evaluation) error {
	text, err := env.readText(file)
	if err != nil {
		return err
	}
	if strings.HasPrefix(text, "{") {
		if err := report.CheckJSON(file, text); err != nil {
			return err
		}
	}
	err = e.CompareWith(file, text)
	if err == nil && e.Against.Break != nil {
		res.code = report.ExitNegative
	}
	return err
}

// runStored runs a turn of a stored session and stores it. If another process was first, it runs
// the turn again, unless the turn had effects. It does not store a turn that failed.
func (res *Result) runStored(ctx context.Context, f *evalFlags, e *evaluation) error {
	for start, logs := time.Now(), len(res.logs); ; {
		session, err := f.session.open(ctx, e.Set, e.config)
		if err != nil {
			return err
		}
		err = res.runTurn(ctx, f, e, session)
		var aborted *host.AbortError
		if err == nil || errors.As(err, &aborted) {
			err = errors.Join(err, f.session.store(ctx, session))
		}
		if !errors.Is(err, host.ErrBusy) || f.allowEffects || !waitForTurn(ctx, start) {
			var failures []error
			if e.Turn != nil {
				failures = slices.Clone(e.Turn.Errors())
			}
			return errors.Join(append(failures, err)...)
		}
		res.logs, e.dryRun = res.logs[:logs], effects.DryRun{}
		e.Turn, e.Prompt, e.Call, e.Fire, e.Expr = nil, nil, nil, nil, nil
	}
}

// runTurn begins a turn, runs the prompt, call, event or expression in it, and ends it.
func (res *Result) runTurn(ctx context.Context, f *evalFlags, e *evaluation, session *host.Session) (err error) {
	if e.Turn, err = session.Begin(ctx, e.Request); err != nil {
		return err
	}
	defer func() {
		e.Turn.End(ctx)
		if first, read := e.Turn.FirstNow(); read && f.now == "" && (e.replay == nil || !e.replay.TimeGiven) {
			e.Now = first
		}
	}()
	if f.wantsPrompt() {
		if e.Prompt, err = e.Turn.Prompt(ctx); err != nil {
			return err
		}
	}
	if e.reach != nil && !f.wantsPrompt() {
		e.reach.Begin() // the lines of events that begin the turn do not count
	}
	switch {
	case f.callGiven:
		e.Call, err = res.callTool(ctx, f, e)
	case f.fireGiven:
		e.Fire, err = fireEvent(ctx, f, e)
	case f.expr != "":
		e.Expr, err = evaluateExpr(ctx, f, e)
	}
	return err
}

func (e *evaluation) WriteJSON(res *Result) error {
	return res.out.JSON(head{report.EvaluationSchema, len(res.problems) == 0}, e.JSON(), res.tail())
}

// WriteText writes the list of registrations, or the report of a turn.
func (e *evaluation) WriteText(res *Result) {
	switch {
	case e.Set == nil:
	case !e.flags.wantsTurn():
		listing{set: e.Set}.WriteText(res)
	default:
		res.undone = e.replay == nil && len(e.WouldRun) > 0
		e.Evaluation.WriteText(&res.out)
	}
}

// WritePrompt writes only the prompt, as text or as a request body, or only the output of the call
// or expression.
func (e *evaluation) WritePrompt(res *Result, format string) error {
	switch {
	case e.Set == nil:
	case !e.flags.wantsTurn():
		listing{set: e.Set}.WriteText(res)
	case e.Call != nil:
		fmt.Fprintln(&res.out, e.Call.Reply.Result.ForLLM)
	case e.Expr != nil:
		fmt.Fprintln(&res.out, e.Expr.Value)
	case e.Prompt != nil && format == "text":
		res.out.WriteString(report.PromptText(e.Prompt))
	case e.Prompt != nil:
		i := slices.IndexFunc(dialects, func(d model.Dialect) bool { return d.API == format })
		return writeBody(&res.out.Buffer, e.Prompt, &dialects[i])
	}
	return nil
}

// writeBody writes a request body, indented.
func writeBody(b *bytes.Buffer, p *host.Prompt, d *model.Dialect) error {
	data, err := d.Body(p, "", false)
	if err != nil {
		return &report.UsageError{Msg: err.Error(), Help: bodyHelp(p)}
	}
	err = json.Indent(b, data, "", "  ")
	b.WriteByte('\n')
	return err
}

// bodyHelp returns advice for a prompt that a request body cannot express.
func bodyHelp(p *host.Prompt) string {
	if p.Model == "" {
		return "--model names one, or [model] default in the config, or options.model of -i"
	}
	return "-a REF;type=TYPE says what an attachment is"
}

// watchEval runs eval, and again whenever a file changes that the result depends on, until ctx
// ends. If plugins cannot be loaded, it prints only the errors.
func watchEval(ctx context.Context, env Env, res *Result, f *evalFlags, paths []string) error {
	w, err := watch.New()
	if err != nil {
		return err
	}
	defer w.Close()
	var round *Result
	var e *evaluation
	load := func(ctx context.Context) (*loader.Set, error) {
		e = &evaluation{flags: f}
		set, err := loadFor(ctx, env, round, f, paths, e)
		if err != nil {
			return nil, err
		}
		in := evalInputs(env, f, set)
		return set, w.Inputs(in.Files, in.Folders)
	}
	var live *loader.Live
	return env.rounds(ctx, res, w, func(next *Result) (err error) {
		round = next
		if live == nil {
			live, err = loader.NewLive(ctx, load)
		} else {
			err = live.Reload(ctx)
		}
		switch {
		case live.Set() == nil && w.IsIdle():
			return err // there is nothing to watch
		case err == nil:
			e.Set = live.Set()
			round.addError(runQuestion(ctx, env, round, f, e))
			round.addError(printEvaluation(env, round, f, e))
		case len(round.problems) == 0:
			round.addError(err)
		}
		env.end(round)
		return nil
	})
}

// evalInputs returns the files that a result depends on: the inputs of loading, and the files
// that flags name.
func evalInputs(env Env, f *evalFlags, set *loader.Set) loader.Inputs {
	in := set.Inputs()
	names := []string{f.promptFile, f.input, strings.TrimPrefix(f.args, "@")}
	names = slices.Concat(names, f.fragments, f.systemFragments)
	for _, ref := range f.attachments {
		name, _, _ := strings.Cut(ref, ";type=")
		names = append(names, name)
	}
	for _, name := range names {
		info, err := os.Stat(env.path(name))
		switch {
		case name == "" || err != nil: // the name is no path
		case info.IsDir():
			in.Folders = append(in.Folders, env.path(name))
		default:
			in.Files = append(in.Files, env.path(name))
		}
	}
	return in
}
