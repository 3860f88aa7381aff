package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/agents/install"
	"github.com/starhost/starhost/editor/check"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/store"
)

// checkFlags are the flags of check.
type checkFlags struct {
	loadFlags
	lint      bool
	stdinPath string
	agents    []string // the values of --agent
}

func (p *program) checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:         "check [PATH...]",
		Annotations: formats("pretty json github"),
		Short:       "Find mistakes in plugins and in what the config makes of them",
		Long: `Find mistakes: load the plugins, and look at what they register and at what the
config gives them. Errors keep a plugin from working. Warnings are about hooks that
match no tool, guards that the config does not require, permissions that only one
side names, builtins that a file hides; --lint adds matters of style.

PATH - is a file that an editor has not saved: --stdin-path says which one. It is
checked together with the plugins of the config, and findings elsewhere are left out.

The exit code is that of the first error (3 of a plugin, 2 of the config), and with
--strict 1 if there are warnings alone.`,
		Example: `  starhost check plugins
  starhost check --lint --strict -F github plugins
  starhost check - --stdin-path plugins/oncall.star -F json < plugins/oncall.star`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			for _, name := range f.agents {
				if hook.AgentOf(name) == nil {
					return unknownAgent("check: --agent", name)
				}
			}
			return runCheck(cmd.Context(), p.env, &p.res, &f, paths)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.lint, "lint", false, "warn of unused names and other matters of style, too")
	cmd.Flags().StringArrayVar(&f.agents, "agent", nil, "also say what the agent `NAME` does not take (repeatable)")
	cmd.Flags().StringVar(&f.stdinPath, "stdin-path", "", "the `FILE` that - stands for")
	return cmd
}

// runCheck runs the command.
func runCheck(ctx context.Context, env Env, res *Result, f *checkFlags, paths []string) error {
	found, err := findMistakes(ctx, env, res, f, paths)
	res.addError(err)
	if found.Set != nil {
		defer found.Set.Close()
	}
	res.code = found.Exit(f.strict)
	return env.printResult(res, checkReport{found, env.quiet})
}

// findMistakes reads what the flags name, and checks it.
func findMistakes(ctx context.Context, env Env, res *Result, f *checkFlags, paths []string) (*check.Report, error) {
	none := &check.Report{Findings: []*check.Finding{}}
	prepareRun(ctx)
	clock, err := f.clock()
	if err != nil {
		return none, err
	}
	config, warnings, err := env.readConfig(true)
	if err != nil {
		return none, err
	}
	f.limits(&config.Limits)
	db, err := env.database(config)
	if err != nil {
		return none, err
	}
	o := check.Options{
		Load: loader.Options{
			Config: config, Dir: env.dir, Args: paths, Grants: f.grant, Set: f.set,
			LookupEnv: env.lookupEnv, Cache: env.cache, Host: host.Options{Clock: clock, Log: res.addLog},
		},
		Warnings: warnings, Lint: f.lint, Store: db, Words: func(set *loader.Set) ([]map[int]string, error) { return keptWords(env, f, set) },
	}
	if err := readEdited(env, f, &o); err != nil {
		return none, err
	}
	fragments, wrong := env.fragmentDatabase(config)
	o.LLM, _ = fragments.(*store.LLM)
	found, err := check.Run(ctx, o)
	return found, cmp.Or(err, wrong)
}

// readEdited reads the text of the file that --stdin-path names from standard input.
func readEdited(env Env, f *checkFlags, o *check.Options) error {
	args := o.Load.Args
	o.Load.Args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-" })
	switch stdin := len(o.Load.Args) < len(args); {
	case stdin && f.stdinPath == "":
		return usagef("check -: got no --stdin-path, want the name of the file that standard input stands for")
	case !stdin && f.stdinPath != "":
		return usagef("--stdin-path: got no - among the paths, want it")
	case !stdin:
		return env.checkPaths(args)
	}
	text, err := env.readText("-")
	o.Edited, o.Unsaved = f.stdinPath, map[string]string{f.stdinPath: text}
	return err
}

// keptWords returns which changes of plugins agents ignore. The agents are those that --agent names. Without
// the flag, they are those whose settings, of the user or of the project, run starhost.
func keptWords(env Env, f *checkFlags, set *loader.Set) (notes []map[int]string, err error) {
	if _, err := loader.Workspace(env.dir); err != nil {
		return nil, err
	}
	m := env.machine()
	for _, agent := range hook.Agents {
		if slices.Contains(f.agents, agent.Name) || m.IsInstalled(agent) {
			notes = append(notes, install.KeptWords(agent, set))
		}
	}
	return notes, nil
}

// A checkReport is the result of check.
type checkReport struct {
	*check.Report
	quiet bool
}

func (r checkReport) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.check/1"), members{"findings": r.Findings}, res.errors())
}

func (r checkReport) WriteGitHub(res *Result) { r.Report.WriteGitHub(&res.out) }

func (r checkReport) WriteText(res *Result) { r.Report.WriteText(&res.out, r.quiet) }
