package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/agents/install"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/hook"
)

// managesHooks reports whether args are a command that changes or checks settings. Such a command
// answers a person and no agent.
func managesHooks(args []string) bool {
	i := slices.Index(args, "hook")
	if i < 0 {
		return false
	}
	rest := args[i+1:]
	first := slices.IndexFunc(rest, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	return first >= 0 && slices.Contains([]string{"install", "uninstall", "doctor", "reset"}, rest[first])
}

// addScope adds the flags that say whose settings a command changes.
func addScope(cmd *cobra.Command, s *install.Scope) {
	flags := cmd.Flags()
	flags.BoolVar(&s.User, "user", false, "the user's settings (the default)")
	flags.BoolVar(&s.Project, "project", false, "the settings of the project around the current folder")
	flags.BoolVar(&s.Managed, "managed", false, "the settings of all users of this machine")
	flags.StringVar(&s.File, "settings", "", "this `FILE` instead of the agent's usual one")
}

// scopeFlags are the flags that addScope adds. They do not go into the line that install writes.
var scopeFlags = []string{"user", "project", "managed", "settings", "output", "format"}

func (p *program) hookInstallCommand() *cobra.Command {
	var f hookFlags
	var s install.Scope
	cmd := &cobra.Command{
		Use:   "install AGENT [PATH...]",
		Short: "Write what --print-config prints into the agent's settings",
		Long: `Write what --print-config prints into the agent's settings, with the same plugins and flags.
Everything else in the file stays as it is, and a backup lies beside it. If the settings have these
lines already, nothing changes.

With --managed, install also writes the settings with which the agent runs no other hooks, where the
agent has them. Elsewhere it says in a sentence what can lift the guard.

With --project the line names the project's root from the repository's, so that it works in each
copy of the repository: starhost must be in PATH, and the plugins lie in the project.

The exit code is 1 if a person must add the lines, which are printed then.`,
		Example: `  starhost hook install claude-code plugins/oncall.star
  starhost hook install codex --project plugins/oncall.star`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return installHook(p.env, &p.res, cmd, &f, &s, args)
		},
		ValidArgsFunction: completeAgent,
	}
	f.add(cmd)
	addScope(cmd, &s)
	return cmd
}

func (p *program) hookUninstallCommand() *cobra.Command {
	var s install.Scope
	cmd := &cobra.Command{
		Use:   "uninstall AGENT",
		Short: "Remove starhost from the agent's settings",
		Long: `Remove starhost from the agent's settings. If the file is as install left it, it gets its
original bytes back. Otherwise only the entries of starhost go.`,
		Example: `  starhost hook uninstall claude-code
  starhost hook uninstall codex --project`,
		RunE: func(_ *cobra.Command, args []string) error {
			return uninstallHook(p.env, &p.res, &s, args)
		},
		ValidArgsFunction: completeAgent,
	}
	addScope(cmd, &s)
	return cmd
}

func completeAgent(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return agentNames(), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// machine returns where the agents of this machine have their settings.
func (env Env) machine() *install.Machine {
	return &install.Machine{Dir: env.dir, Root: managedRoot, Getenv: env.getenv}
}

// misuseOf returns the error of a command for an error of package install, which does not know commands.
func misuseOf(command string, err error) error {
	if m, ok := errors.AsType[install.Misuse](err); ok {
		return usagef("%s: %v", command, m)
	}
	return err
}

// installHook runs hook install.
func installHook(env Env, res *Result, cmd *cobra.Command, f *hookFlags, s *install.Scope, args []string) error {
	agent, err := agentArgument("hook install", args)
	if err != nil {
		return err
	}
	m := env.machine()
	main, err := m.SettingsFile(agent, s)
	if err != nil {
		return misuseOf("hook install", err)
	}
	line, err := installedLine(env, cmd, f, s, agent, main, args[1:])
	if err != nil {
		return misuseOf("hook install", err)
	}
	r, err := m.Install(agent, main, &line)
	if err != nil {
		return err
	}
	m.Note(agent, main, s, true, r)
	if r.IsByHand() {
		res.code = report.ExitNegative
		return env.printResult(res, installed{r, env.getenv("HOME")})
	}
	if len(args) == 1 {
		warnWithoutPlugins(env, res, agent)
	}
	if err := tryInstalled(cmd.Context(), env, res, agent, &line, len(args) > 1); err != nil {
		return err
	}
	return env.printResult(res, installed{r, env.getenv("HOME")})
}

// tryInstalled sends canaries through a new line, and warns of what is wrong.
func tryInstalled(ctx context.Context, env Env, res *Result, agent *hook.Agent, line *hook.Settings, named bool) error {
	d, err := newDoctor(env)
	if err != nil {
		return err
	}
	for _, text := range d.TryNew(ctx, agent, line, named) {
		res.warnings = append(res.warnings, loader.Warning{Msg: text})
	}
	return nil
}

// warnWithoutPlugins warns if the current folder has no plugins. The settings name none, so no guard is
// active in such a folder.
func warnWithoutPlugins(env Env, res *Result, agent *hook.Agent) {
	config, _, err := env.readConfig(false)
	if err != nil { // hook doctor will show the mistake
		return
	}
	_, err = config.Paths(cmp.Or(env.dir, "."), nil)
	if errors.Is(err, loader.ErrNoPlugins) && len(config.ManagedPaths())+len(config.Processes) == 0 {
		res.warnings = append(res.warnings, loader.Warning{Msg: fmt.Sprintf(
			"this folder has no plugins, so no guard is active here: starhost new guard writes one into the folder guard; "+
				"starhost hook install %s guard makes it guard all folders", agent.Name)})
	}
}

// installedLine returns the settings that install writes.
func installedLine(
	env Env, cmd *cobra.Command, f *hookFlags, s *install.Scope, agent *hook.Agent, main *install.File, paths []string,
) (hook.Settings, error) {
	except := scopeFlags
	if s.Project {
		if flag := cmd.Flags().Lookup("config"); flag != nil && flag.Changed {
			return hook.Settings{}, usagef("hook install: --project with --config, which names a file of this machine")
		}
		except = append(slices.Clip(except), "directory")
	}
	flags, err := env.flagArguments(cmd, except...)
	if err != nil {
		return hook.Settings{}, err
	}
	program := "starhost"
	if s.Project {
		flags = append(flags, "--project", "--project-root", install.RootFromRepository(main.Root, env.getenv("HOME")))
	} else if program, err = install.OwnProgram(); err != nil {
		return hook.Settings{}, err
	}
	full, err := env.machine().Plugins(main, s.Project, paths)
	if err != nil {
		return hook.Settings{}, err
	}
	line := f.settings(full).Settings(agent, program, flags)
	line.Project, line.Managed = s.Project, s.Managed
	return line, nil
}

// settings returns the flags that the agent's settings depend on.
func (f *hookFlags) settings(paths []string) *install.Flags {
	return &install.Flags{Deadline: f.deadline, FailOpen: f.failOpen, Project: f.inProject, Paths: paths}
}

// uninstallHook runs hook uninstall.
func uninstallHook(env Env, res *Result, s *install.Scope, args []string) error {
	agent, err := agentArgument("hook uninstall", args)
	if err != nil {
		return err
	}
	if len(args) > 1 {
		return usagef("hook uninstall: got argument %q, want only the agent", args[1])
	}
	m := env.machine()
	main, err := m.SettingsFile(agent, s)
	if err != nil {
		return misuseOf("hook uninstall", err)
	}
	line := new(install.Flags).Settings(agent, "starhost", nil)
	line.Project, line.Managed = s.Project, s.Managed
	r, err := m.Uninstall(agent, main, &line)
	if err != nil {
		return err
	}
	m.Note(agent, main, s, false, r)
	if r.IsByHand() {
		res.code = report.ExitNegative
	}
	return env.printResult(res, installed{r, env.getenv("HOME")})
}

// An installed is the result of hook install and uninstall.
type installed struct {
	*install.Result
	home string
}

func (r installed) WriteText(res *Result) {
	r.Result.WriteText(&res.out, r.home)
}

func (r installed) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.hook-install/1"), r.Result, res.errors())
}
