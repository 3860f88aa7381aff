package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/model/anthropic"
	"github.com/starhost/starhost/model/openai"
)

// evalFlags are the flags of eval.
type evalFlags struct {
	loadFlags
	requestFlags
	seed             uint64
	against          string
	explain, timings bool
}

func (a *app) evalCommand() *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval [PATH...]",
		Short: "Show what the model would be told",
		Long: `Show what the model would be told: load the plugins at the paths, assemble the
prompt, print a report and the prompt. No model is called.

Without a prompt, call or fire it prints what the plugins register. A PATH is a
.star file, a plugin folder, or a folder of plugins; none means what the config
names, else ./plugins or ./*.star.`,
		Example: `  starhost eval oncall.star
  starhost eval plugins -f runbook:checkout -p "Why is p99 up?"
  starhost eval plugins --call restart_pods --arg cluster=prod-1
  starhost eval plugins -p "Why?" -F anthropic | curl -d @- ...`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			f.promptGiven = cmd.Flags().Changed("prompt") || f.promptFile != ""
			f.callGiven, f.fireGiven = cmd.Flags().Changed("call"), cmd.Flags().Changed("fire")
			return a.eval(cmd.Context(), &f, paths)
		},
	}
	f.loadFlags.add(cmd)
	f.requestFlags.add(cmd)
	flags := cmd.Flags()
	flags.Uint64Var(&f.seed, "seed", 0, "`NUMBER` that ctx.random and ctx.uuid start from")
	flags.BoolVar(&f.explain, "explain", false, "show each step: who added, changed and dropped what, and what it cost")
	flags.StringVar(&f.against, "against", "", "compare with an earlier -F json in `FILE`: where would a prompt cache break?")
	flags.BoolVar(&f.timings, "timings", false, "say on standard error how long it took")
	a.completeEval(cmd, &f)
	return cmd
}

func (f *requestFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.prompt, "prompt", "p", "", "the user's words, `TEXT` or - for standard input")
	flags.StringVar(&f.promptFile, "prompt-file", "", "`FILE` with the user's words")
	flags.StringArrayVarP(&f.fragments, "fragment", "f", nil, "fragment `REF`: PREFIX:ARG, a path, or - for standard input; repeatable")
	flags.StringArrayVar(&f.systemFragments, "sf", nil, "fragment `REF` for the system text; repeatable")
	flags.StringArrayVarP(&f.attachments, "attachment", "a", nil, "attachment `REF[;type=TYPE]`, a path or URL; repeatable")
	flags.StringVarP(&f.system, "system", "s", "", "system `TEXT`")
	flags.StringArrayVarP(&f.tools, "tool", "T", nil, "offer only tools whose name matches this `GLOB`; repeatable")
	flags.StringVarP(&f.input, "input", "i", "", "`FILE` with a whole request as JSON, or - for standard input")
	flags.StringVar(&f.call, "call", "", "call one `TOOL`")
	flags.StringVar(&f.fire, "fire", "", "fire one `EVENT`")
	flags.StringVar(&f.args, "args", "", "arguments of --call or --fire: `JSON`, @FILE or - for standard input")
	flags.StringArrayVar(&f.arg, "arg", nil, "one argument of --call or --fire, `NAME=VALUE`; repeatable")
}

// An evaluation is what eval found out, as far as it came.
type evaluation struct {
	set     *loader.Set
	config  starhost.SessionConfig
	request starhost.Request
	turn    *starhost.Turn
	prompt  *starhost.Prompt
	call    *callResult
	fire    *fireResult
	against *comparison
	clock   bool // a handler read the clock itself

	loading, assembling time.Duration
}

// eval runs the command. What fails is reported beside what was found out.
func (a *app) eval(ctx context.Context, f *evalFlags, paths []string) error {
	if err := a.wantFormat(formats...); err != nil {
		return err
	}
	if !f.asks() && a.format != "pretty" && a.format != "json" {
		return usagef("-F %s: got no prompt to write, want -p or -i", a.format)
	}
	if f.explain && a.format != "pretty" {
		return usagef("--explain: got -F %s, want pretty", a.format)
	}
	var e evaluation
	a.fail(a.evaluate(ctx, f, paths, &e))
	if e.set != nil {
		defer e.set.Close()
	}
	if f.timings {
		fmt.Fprintf(a.stderr, "timings: load %s, prompt %s\n", e.loading, e.assembling)
	}
	if f.against != "" && e.prompt != nil {
		var err error
		if e.against, err = a.compare(f.against, e.prompt); err != nil {
			a.fail(err)
		}
	}
	return a.printEvaluation(f, &e)
}

// evaluate loads the plugins and does what the flags ask.
func (a *app) evaluate(ctx context.Context, f *evalFlags, paths []string, e *evaluation) (err error) {
	if e.request, e.config, err = a.request(&f.requestFlags); err != nil {
		return err
	}
	start := time.Now()
	if e.set, err = a.load(ctx, &f.loadFlags, paths); err != nil || !f.asks() {
		return err
	}
	e.loading = time.Since(start)
	defer func() { e.assembling = time.Since(start) - e.loading }()
	e.config.Seed = f.seed
	e.config.Model = cmp.Or(e.request.Model, e.set.Config.Model.Default)
	if e.turn, err = e.set.Host.NewSession(e.config).Begin(ctx, e.request); err != nil {
		return err
	}
	defer func() {
		a.fail(errors.Join(e.turn.Errors()...))
		e.clock = e.turn.AskedNow() && f.now == ""
		e.turn.End(ctx)
	}()
	if f.promptGiven || f.input != "" {
		if e.prompt, err = e.turn.Prompt(ctx); err != nil {
			return err
		}
	}
	switch {
	case f.callGiven:
		e.call, err = a.callTool(ctx, f, e)
	case f.fireGiven:
		e.fire, err = a.fireEvent(ctx, f, e)
	}
	return err
}

// printEvaluation prints what was found out in the format that was asked for.
func (a *app) printEvaluation(f *evalFlags, e *evaluation) error {
	if a.format == "json" {
		return a.printJSON(a.evalJSON(e))
	}
	if e.set == nil {
		return nil
	}
	if !f.asks() {
		return a.printList(e.set, "")
	}
	if a.format == "pretty" {
		a.printReport(f, e)
		return nil
	}
	if e.call != nil {
		fmt.Fprintln(&a.out, e.call.reply.Result.ForLLM)
		return nil
	}
	if e.prompt == nil {
		return nil
	}
	return writers[a.format](&a.out, e.prompt)
}

// writers write a prompt alone.
var writers = map[string]func(*bytes.Buffer, *starhost.Prompt) error{
	"text":      writeText,
	"openai":    body(openai.Body),
	"anthropic": body(anthropic.Body),
}

func writeText(b *bytes.Buffer, p *starhost.Prompt) error {
	b.WriteString(promptText(p))
	return nil
}

// promptText returns the system text, a blank line, and the new user message.
func promptText(p *starhost.Prompt) string {
	text := p.Text
	if p.System != "" {
		text = p.System + "\n\n" + text
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text += "\n"
	}
	return text
}

// body returns what writes a request body, indented for people.
func body(make func(*starhost.Prompt) ([]byte, error)) func(*bytes.Buffer, *starhost.Prompt) error {
	return func(b *bytes.Buffer, p *starhost.Prompt) error {
		data, err := make(p)
		if err != nil {
			return &usageError{msg: err.Error(), help: "-a REF;type=TYPE says what an attachment is"}
		}
		err = json.Indent(b, data, "", "  ")
		b.WriteByte('\n')
		return err
	}
}

// kept returns how many rows are part of the request.
func kept(rows []*fragments.Row) int {
	n := 0
	for _, r := range rows {
		if r.Status == fragments.Kept || r.Status == fragments.Changed {
			n++
		}
	}
	return n
}
