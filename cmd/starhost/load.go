package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/timetext"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// loadFlags are the flags of all commands that load plugins.
type loadFlags struct {
	set, grant []string
	maxSteps   uint64
	maxMemory  int64
	timeout    time.Duration
	now        string
	strict     bool
}

func (f *loadFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var((*stringList)(&f.set), "set", "a plugin's setting, `[PLUGIN.]KEY=VALUE`; repeatable")
	flags.Var((*stringList)(&f.grant), "grant", "give a permission, `[PLUGIN=]PERMISSION`; host=http:HOST lets references reach a private HOST; repeatable")
	flags.Var(quantity[uint64]{&f.maxSteps, "steps", parseSteps}, "max-steps", "most interpreter `STEPS` of a load and of each call (default 1000000)")
	flags.Var(quantity[int64]{&f.maxMemory, "size", loader.ParseSize}, "max-memory", "most memory of a load and of each call, a `SIZE` such as 64MiB (default 64MiB)")
	flags.Var(span(&f.timeout), "timeout", "most `TIME` of a load and of each call (default 2s)")
	flags.StringVar(&f.now, "now", "", "`TIME` of ctx.now, as 2026-01-01T00:00:00Z (default the clock)")
	flags.BoolVar(&f.strict, "strict", false, "warnings are errors")
}

// A stringList is the value of a repeatable flag. pflag's own type prepares a CSV writer for
// each flag.
type stringList []string

func (l *stringList) Type() string   { return "stringArray" } // completion offers the flag again
func (l *stringList) String() string { return strings.Join(*l, ",") }

func (l *stringList) Set(text string) error {
	*l = append(*l, text)
	return nil
}

// A quantity is the value of a flag that has a syntax and a range of its own; 0 means that the flag is not
// given.
type quantity[T int64 | uint64 | time.Duration] struct {
	to    *T
	kind  string // a key of valueKinds
	parse func(string) (T, error)
}

func (q quantity[T]) Type() string { return q.kind }

func (q quantity[T]) String() string {
	if q.to == nil || *q.to == 0 {
		return "" // pflag asks the zero value, too
	}
	return fmt.Sprint(*q.to)
}

func (q quantity[T]) Set(text string) (err error) {
	*q.to, err = q.parse(text)
	return err
}

// span returns a flag of a time over 0.
func span(to *time.Duration) quantity[time.Duration] {
	return quantity[time.Duration]{to, "span", func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err == nil && d <= 0 {
			err = strconv.ErrRange
		}
		return d, err
	}}
}

// parseSteps reads a number of steps, at least 1.
func parseSteps(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 0, 64)
	if err == nil && n == 0 {
		err = strconv.ErrRange
	}
	return n, err
}

// readConfig reads the config. strict is for commands that look for mistakes in a project.
func (env Env) readConfig(strict bool) (*loader.Config, []loader.Warning, error) {
	return loader.LoadConfig(loader.ConfigOptions{
		Dir: env.dir, File: env.config, None: env.noConfig, Managed: env.managed, Strict: strict, Getenv: env.getenv,
	})
}

// loadConfig reads the config, and adds its warnings to the result.
func (env Env) loadConfig(res *Result, strict bool) (*loader.Config, error) {
	config, warnings, err := env.readConfig(strict)
	res.warnings = append(res.warnings, warnings...)
	return config, err
}

// load reads the config and loads the plugins at the paths, for a command that enforces no
// decisions. It reports plugins that failed, and returns the set with the others.
func (env Env) load(ctx context.Context, res *Result, f *loadFlags, paths []string) (*loader.Set, error) {
	return env.loadWith(ctx, res, f, paths, func(o *loader.Options) { o.RequiredInArgs = true })
}

// loadWith is load with changed options. Unless change sets RequiredInArgs, a required plugin that
// the paths leave out is an error.
func (env Env) loadWith(
	ctx context.Context, res *Result, f *loadFlags, paths []string, change func(*loader.Options),
) (*loader.Set, error) {
	prepareRun(ctx)
	clock, err := f.clock()
	if err != nil {
		return nil, err
	}
	if err := env.checkPaths(paths); err != nil {
		return nil, err
	}
	config, err := env.loadConfig(res, false)
	if err != nil {
		return nil, err
	}
	f.limits(&config.Limits)
	world, err := env.newWorld(config)
	if err != nil {
		return nil, err
	}
	options := loader.Options{
		Config: config, Dir: env.dir, Args: paths, Grants: f.grant, Set: f.set, Stdin: env.stdin, LookupEnv: env.lookupEnv,
		World: world, Cache: env.cache, AllowMissing: true, Host: host.Options{Clock: clock, Log: res.addLog, Halt: func() error { return loader.Halted(env.managed) }},
	}
	if options.Host.Fragments, err = env.readContents(config); err != nil {
		return nil, err
	}
	change(&options)
	set, err := loader.Load(ctx, options)
	if err != nil {
		return nil, err
	}
	if err := env.addProcesses(set, options.Enforce); err != nil {
		return nil, errors.Join(err, set.Close())
	}
	res.loaded = set
	res.warn(f.strict, set.Warnings)
	for _, e := range set.Problems {
		res.addError(e)
	}
	for i := range set.Plugins {
		res.failPlugin(&set.Plugins[i])
	}
	if err := set.Missing(); !options.RequiredInArgs || !set.HasReported(err) {
		res.addError(err)
	}
	return set, nil
}

// loadAny is loadWith for a command that needs no plugins.
func (env Env) loadAny(
	ctx context.Context, res *Result, f *loadFlags, paths []string, change func(*loader.Options),
) (*loader.Set, error) {
	set, err := env.loadWith(ctx, res, f, paths, change)
	if !errors.Is(err, loader.ErrNoPlugins) {
		return set, err
	}
	res.warnings = nil // the second load repeats them
	return env.loadWith(ctx, res, f, paths, func(o *loader.Options) {
		change(o)
		o.Sources = []*loader.Source{}
	})
}

// newWorld returns the providers of this machine for plugins with permissions.
func (env Env) newWorld(c *loader.Config) (w effects.World, err error) {
	dir, err := loader.Workspace(cmp.Or(env.dir, "."))
	if err != nil {
		return w, err
	}
	w.HTTP, w.Exec = new(effects.HTTP), &effects.Exec{Dir: dir}
	db, err := env.database(c)
	if db != nil {
		w.Store = db
	}
	return w, err
}

// limits sets the limits that flags give.
func (f *loadFlags) limits(c *loader.LimitsConfig) {
	if f.maxSteps > 0 {
		c.Steps = f.maxSteps
		c.Raise("steps", "--max-steps")
	}
	if f.maxMemory > 0 {
		c.Memory = uint64(f.maxMemory)
		c.Raise("memory", "--max-memory")
	}
	if f.timeout > 0 {
		c.Timeout = f.timeout
		c.Raise("time", "--timeout")
	}
}

// clock returns the clock of --now, nil for the real clock.
func (f *loadFlags) clock() (func() time.Time, error) {
	if f.now == "" {
		return nil, nil
	}
	t, err := timetext.Parse(f.now)
	if err != nil {
		return nil, usagef("--now: %v", err)
	}
	return func() time.Time { return t }, nil
}

// warn adds the warnings of loading. With --strict it makes all warnings errors.
func (res *Result) warn(strict bool, warnings []loader.Warning) {
	res.warnings = append(res.warnings, warnings...)
	if !strict {
		return
	}
	for _, w := range res.relevantWarnings() {
		res.problems = append(res.problems, report.Problem{Exit: report.ExitUsage, Code: "E0710", Message: w.Msg, Pos: starhost.Pos(w.PlaceFromHere())})
	}
	res.warnings = nil
}

// failPlugin adds the errors of a plugin that could not be loaded.
func (res *Result) failPlugin(p *loader.Plugin) {
	first := len(res.problems)
	res.addError(p.Err)
	for i := range res.problems[first:] {
		res.problems[first+i].Plugin = p.Name
	}
}

// checkPaths catches a prompt that was typed instead of a path.
func (env Env) checkPaths(paths []string) error {
	for _, p := range paths {
		if !strings.ContainsAny(p, " \n?") {
			continue
		}
		if _, err := os.Stat(env.path(p)); err != nil {
			return usagef("%q is no plugin (did you mean -p %q?)", p, p)
		}
	}
	return nil
}
