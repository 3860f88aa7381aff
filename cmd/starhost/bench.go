package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/measure"
)

// benchFlags are the flags of bench.
type benchFlags struct {
	loadFlags
	prompt    string
	fragments []string
	time      time.Duration
	count     int
	event     requestFlags // the flags --fire, --args and --arg
}

func (p *program) benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:         "bench [PATH...]",
		Annotations: formats("pretty json gobench"),
		Short:       "Measure what plugins cost",
		Long: `Measure what plugins cost: loading all of them, each hook, the loader of each
reference, merging the loaded fragments, and a whole prompt. Steps and bytes are the
charges of evaluation, equal on all machines; times are this machine's.

--fire measures one event instead: loading, each hook that hears it, and all of them
together, as an agent waits for them.

Handlers run many times, so http, exec and effects that write do not run. benchstat
reads -F gobench.`,
		Example: `  starhost bench plugins -f runbook:checkout --time 20ms
  starhost bench plugins --time 20ms --count 5 -F gobench | benchstat -
  starhost bench plugins --fire pre_tool_call --args '{"agent": "codex", "tool": "Bash", "arguments": {"command": "ls"}}'`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			return runBench(cmd.Context(), p.env, &p.res, &f, paths)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.prompt, "prompt", "p", "Why is checkout slow?", "the user's words, `TEXT`")
	flags.VarP((*stringList)(&f.fragments), "fragment", "f", "fragment `REF`, for its loader, merging and the prompt; repeatable")
	f.event.addFire(cmd, "measure the hooks of one `EVENT`", "--fire")
	flags.DurationVar(&f.time, "time", time.Second, "`TIME` to spend on each sample")
	flags.IntVar(&f.count, "count", 1, "take this `NUMBER` of samples of everything")
	return cmd
}

// A benchResult is the result of bench.
type benchResult struct{ measure.Results }

func (r benchResult) WriteText(res *Result)    { r.Results.WriteText(&res.out) }
func (r benchResult) WriteGoBench(res *Result) { r.Results.WriteGoBench(&res.out) }

func (r benchResult) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.bench/1"), members{"benchmarks": r.JSON()}, res.tail())
}

// runBench runs the command.
func runBench(ctx context.Context, env Env, res *Result, f *benchFlags, paths []string) error {
	switch {
	case f.time <= 0:
		return usagef("--time: got %s, want more than nothing", f.time)
	case f.count < 1:
		return usagef("--count: got %d, want 1 or more", f.count)
	}
	o := measure.Options{
		Text: f.prompt, Refs: f.fragments, Event: f.event.fire, Time: f.time, Count: f.count,
		Warn: func(pos starhost.Pos, text string) {
			res.warnings = append(res.warnings, loader.Warning{Place: loader.Place(pos), Msg: text})
		},
		Load: func(ctx context.Context) error {
			again := Env{
				getenv: env.getenv, lookupEnv: env.lookupEnv, dir: env.dir, config: env.config, noConfig: env.noConfig,
			}.fresh()
			again.stores = env.stores
			set, err := again.loadWith(ctx, new(Result), &f.loadFlags, paths, withoutEffects)
			if err != nil {
				return err
			}
			return set.Close()
		},
	}
	dropLogs := false // true while handlers run again and again
	var err error
	o.Set, err = env.loadWith(ctx, res, &f.loadFlags, paths, func(o *loader.Options) {
		withoutEffects(o)
		log := o.Host.Log
		o.Host.Log = func(l host.LogLine) {
			if !dropLogs {
				log(l)
			}
		}
	})
	if err != nil {
		return err
	}
	defer o.Set.Close()
	var results benchResult
	if len(o.Set.Problems) == 0 { // with problems, the set is not the one that the user meant
		dropLogs = true
		if o.New, err = newEvents(env, o.Set, &f.event); err == nil {
			results.Results, err = measure.Run(ctx, o)
		}
	}
	if err != nil {
		return err
	}
	return env.printResult(res, results)
}

// newEvents returns a function that makes the event of --fire, or nil if the flag is not given.
func newEvents(env Env, set *loader.Set, f *requestFlags) (func() (*starhost.Event, error), error) {
	if f.fire == "" {
		return nil, nil
	}
	types, err := eventTypes(set.Host, f.fire)
	if err != nil {
		return nil, err
	}
	arguments, err := env.parseArguments(f, types)
	if err != nil {
		return nil, err
	}
	make := func() (*starhost.Event, error) { return newEvent(set.Host, f.fire, arguments) }
	_, err = make()
	return make, err
}

// withoutEffects forbids effects that reach outside of this machine.
func withoutEffects(o *loader.Options) {
	o.RequiredInArgs = true
	o.World.DryRun = new(effects.DryRun)
	o.World.HTTP = nil
}
