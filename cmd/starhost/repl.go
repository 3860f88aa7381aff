package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/golden"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/console"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
)

// replFlags are the flags of repl.
type replFlags struct {
	loadFlags
	as, approve  string
	session      sessionID
	seed         uint64
	allowEffects bool
}

func (p *program) replCommand() *cobra.Command {
	var f replFlags
	cmd := &cobra.Command{
		Use:         "repl [PATH...]",
		Annotations: formats("pretty"),
		Short:       "Try plugins at a prompt",
		Long: `Try plugins at a prompt: load those at the paths, and evaluate each line that you
type, under the limits. A line can use everything that a plugin's file can use, all
steps of a golden case (prompt, call_tool, fire and the others), the names at the top
level of one plugin, and its ctx.

help(NAME) explains a name, and dir() lists the plugin's. A block ends at a blank line. Tab completes names, the arrows bring back earlier
lines, also from earlier sessions. Ctrl-C stops the running line; exit or ctrl-D ends.
repl evaluates piped input in the same way.

Plugins read what their permissions allow. Effects that outlive the session need
--allow-effects; without it, repl prints them. --session continues a stored session,
and stores it at the end.`,
		Example: `  starhost repl oncall.star
  starhost repl plugins --as oncall`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			return runREPL(cmd.Context(), p.env, &p.res, &f, paths)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.as, "as", "", "the `PLUGIN` whose names and ctx are at hand (default the first)")
	addSession(cmd, &f.session)
	flags.Uint64Var(&f.seed, "seed", 0, "`NUMBER` that ctx.random and ctx.uuid start from")
	addApprove(cmd, &f.approve)
	flags.BoolVar(&f.allowEffects, "allow-effects", false, "run effects that outlive the session, too: exec, fs.write, http beyond GET, store.set")
	return cmd
}

// A replRun is one run of repl.
type replRun struct {
	Env
	*Result
	out          io.Writer
	set          *loader.Set
	plugin       *loader.Plugin // the plugin whose names and ctx are available; nil for none
	session      *host.Session
	steps        *golden.Steps
	names        []string // the names of steps
	repl         *starlark.REPL
	lines        console.LineReader
	interrupts   console.Interrupts
	dryRun       effects.DryRun // effects that did not run
	effectsShown int            // how many of these effects were printed
}

// runREPL runs the command.
func runREPL(ctx context.Context, env Env, res *Result, f *replFlags, paths []string) error {
	c := &replRun{Env: env, Result: res, out: env.stdout, interrupts: make(console.Interrupts, 1)}
	if env.output != "" {
		c.out = &res.out
	}
	ask, err := env.newApprover(res, f.approve)
	if err != nil {
		return err
	}
	in := env.stdin
	env.stdin = nil // repl reads standard input, so no reference may
	configure := func(o *loader.Options) {
		c.configureHost(f, o)
		f.session.useStore(env, o)
	}
	if c.set, err = env.loadWith(ctx, res, &f.loadFlags, paths, configure); err != nil {
		return err
	}
	defer c.set.Close()
	if err := c.choosePlugin(f.as); err != nil {
		return err
	}
	if err := c.openSession(ctx, f, ask); err != nil {
		return err
	}
	signal.Notify(c.interrupts, os.Interrupt)
	defer signal.Stop(c.interrupts)
	c.lines = console.Lines(in)
	if t := env.terminal(in, "history"); t != nil {
		defer t.Close()
		t.Complete, c.lines = c.repl.Complete, t.ReadLine
		fmt.Fprintln(env.stdout, texttable.EscapeLine(c.greeting()))
	}
	return errors.Join(c.loop(ctx), f.session.store(ctx, c.session))
}

// configureHost sets what plugins can reach, and a clock that steps can move forward.
func (c *replRun) configureHost(f *replFlags, o *loader.Options) {
	o.RequiredInArgs = true
	if !f.allowEffects {
		o.World.DryRun = &c.dryRun
	}
	o.Host.Approver = func(ctx context.Context, r host.ApprovalRequest) (host.Answer, error) {
		return c.steps.Approve(ctx, r)
	}
	clock := o.Host.Clock
	if clock == nil {
		clock = time.Now
	}
	o.Host.Clock = func() time.Time {
		if c.steps == nil { // nil while plugins are loaded
			return clock()
		}
		return c.steps.Now(clock)
	}
}

// choosePlugin chooses the plugin with a name; for "", it chooses the first loaded plugin.
func (c *replRun) choosePlugin(name string) error {
	var names []string
	for i := range c.set.Plugins {
		p := &c.set.Plugins[i]
		if p.Inside == nil {
			continue
		}
		if names = append(names, p.Name); p.Name == name || name == "" && c.plugin == nil {
			c.plugin = p
		}
	}
	if name != "" && c.plugin == nil {
		return usagef("--as %s: no plugin of that name is loaded%s", name, near.DidYouMean(name, names))
	}
	return nil
}

// openSession creates the evaluator and its session.
func (c *replRun) openSession(ctx context.Context, f *replFlags, ask approver) (err error) {
	limits, model := c.set.Config.Limits, c.set.Config.Model.Default
	box := starlark.New(starlark.Options{
		Limits: starlark.Limits{Steps: limits.Steps, Memory: limits.Memory, Timeout: limits.Timeout, Settings: limits.Raised},
		Print:  func(_ context.Context, _ starlark.Pos, text string) { c.write(c.steps.TakeOutput() + text + "\n") },
	})
	config := host.SessionConfig{Platform: "cli", Seed: f.seed, Model: model}
	if c.session, err = f.session.open(ctx, c.set, config); err != nil {
		return err
	}
	c.steps = golden.NewSteps(c.session, caseHooks(c.set.Host), ask)
	steps := builtins.CaseTable(box, c.steps)
	if err := builtins.DefineAll(box, slices.Concat(builtins.Table(box), steps)); err != nil {
		return err
	}
	c.names = jsontext.List(steps, func(e *call.Entry) string { return e.Name })
	c.repl = box.REPL(func(more bool) (string, error) { return c.lines(more) })
	if c.plugin != nil {
		c.repl.Use(c.plugin.Inside.Module())
		c.repl.Load = c.plugin.Inside.Load
	}
	return nil
}

// greeting returns a text about the names that are available.
func (c *replRun) greeting() string {
	text := "plugins " + report.PluginLine(c.set.Plugins)
	if c.plugin != nil {
		text += "; names and ctx of " + c.plugin.Name
	}
	return text + "; exit or ctrl-D ends"
}

// loop reads and evaluates lines until the input ends. If a line fails, it reports the error and goes on.
func (c *replRun) loop(ctx context.Context) error {
	ctx, stop := console.WithoutInterrupt(ctx)
	defer stop()
	defer func() {
		c.steps.SetContext(context.WithoutCancel(ctx))
		c.steps.EndTurn()
		c.report(c.Result)
	}()
	c.report(c.Result)
	lines := c.lines
	c.lines = func(more bool) (string, error) {
		return console.ReadWithin(ctx, func() (string, error) { return lines(more) })
	}
	for {
		in, err := c.repl.Read()
		switch {
		case err == io.EOF:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err == console.ErrInterrupted:
			continue
		case err == nil && slices.Contains(console.ExitWords, strings.TrimSpace(in.Text())):
			return nil
		case err == nil && in.Callee() == "help" || err == nil && strings.TrimSpace(in.Text()) == "help":
			err = c.help(strings.TrimSpace(in.Text()))
		case err == nil:
			err = c.evaluate(ctx, in)
		}
		if broken, ok := err.(*errtext.FileError); ok {
			return broken
		}
		code := c.code
		c.addError(err)
		c.report(c.Result)
		c.code = code // an error in one line does not make the session fail
	}
}

// help answers the inputs help and help(NAME).
func (c *replRun) help(text string) error {
	name := helpName(text)
	if name == "" {
		return c.write(helpText + " Steps: " + strings.Join(c.names, ", ") + "\n")
	}
	var inside *loader.Inside
	if c.plugin != nil {
		inside = c.plugin.Inside
	}
	text, err := explainName(inside, name)
	return cmp.Or(err, c.write(text))
}

// helpText is the answer to the input help().
const helpText = "help(NAME) explains a name, such as help(register_tool) or help(ctx.fs.read); dir() lists the names of the plugin,\n" +
	"dir(x) the members of a value."

// helpName returns the name in the input help(NAME), or "" if it has none.
func helpName(text string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(text), "help"), "("), ")")
	return strings.Trim(strings.TrimSpace(name), `"'`)
}

// explainName returns an explanation of a name of the plugin or of starhost. inside, the plugin, may be nil.
func explainName(inside *loader.Inside, name string) (string, error) {
	if inside != nil {
		if doc := inside.Module().Describe(name); doc != "" {
			return doc + "\n", nil
		}
	}
	part := wholeReference().Part(name)
	if part.IsEmpty() {
		return "", unknownTopic(name)
	}
	text := ""
	for _, e := range part.Entries() {
		text += cmp.Or(e.Signature, e.Name) + "\n  " + strings.ReplaceAll(e.Doc, "\n", "\n  ") + "\n"
	}
	return text + "starhost docs " + name + " has examples.\n", nil
}

// evaluate runs an input, and prints its output and its value. ctrl-C ends the input, not the session.
// evaluate does not print the value of a golden step, because the step has printed it. It returns a FileError
// if the output is closed.
func (c *replRun) evaluate(ctx context.Context, in *starlark.Input) error {
	ctx, done := c.interrupts.Within(ctx)
	defer done()
	value, err := c.run(ctx, in)
	text := c.steps.TakeOutput()
	if value != "" && !(text != "" && slices.Contains(c.names, in.Callee())) {
		text += value + "\n"
	}
	undone := c.dryRun.Effects()
	for _, e := range undone[c.effectsShown:] {
		text += texttable.EscapeLine(fmt.Sprintf("%-13s%s: %s", "would run", e.Plugin, e)) + "\n"
	}
	c.effectsShown, c.undone = len(undone), len(undone) > 0
	return cmp.Or(c.write(text), err)
}

// write writes a part of the result, without the values of secrets.
func (c *replRun) write(text string) error {
	_, err := io.WriteString(c.out, texttable.Escape(c.set.Redact(text)))
	return errtext.File("standard output", err)
}

// run evaluates an input. If the input mentions ctx, it runs as a handler of the plugin.
func (c *replRun) run(ctx context.Context, in *starlark.Input) (value string, err error) {
	c.steps.SetContext(ctx)
	if c.plugin == nil || !in.Mentions("ctx") {
		value, _, err = c.repl.Run(ctx, in)
		return value, err
	}
	t, err := c.steps.CurrentTurn()
	if err != nil {
		return "", err
	}
	err = t.As(ctx, c.plugin.Name, func(ctx context.Context) (err error) {
		ctx, names := c.plugin.Inside.Recorder().Inside(ctx)
		c.repl.Set(names)
		value, _, err = c.repl.Run(ctx, in)
		return err
	})
	return value, err
}
