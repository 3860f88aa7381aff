package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
)

// hookFlags are the flags of hook.
type hookFlags struct {
	loadFlags
	failClosed, printConfig bool
}

func (a *app) hookCommand() *cobra.Command {
	var f hookFlags
	cmd := &cobra.Command{
		Use:   "hook AGENT [PATH...]",
		Short: "Let plugins take part in an agent: " + strings.Join(agentNames(), ", "),
		Long: `Speak an agent's own hook protocol on standard input and output, so that plugins add
context to its prompts and guard its tools. The agent runs this command: --print-config
prints what to paste into its settings.

claude-code, copilot and hermes run it for each event: what ctx.state keeps, and what a
session was told already, is in the XDG state folder between two events. picoclaw keeps
it running.

The exit code is 0, or 2 to block what the event is about. If there is no answer, as the
config has a mistake, it is 1, which blocks nothing; with --fail-closed, or if a plugin
that the config requires is not loaded, it is 2. See docs/agents.md.`,
		Example: `  starhost hook claude-code --print-config
  starhost hook picoclaw --fail-closed plugins/policy --print-config`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("hook: got no agent, want one of %s", strings.Join(agentNames(), ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a.hook = &f
			return a.runHook(cmd, &f, args[0], args[1:])
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return agentNames(), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.failClosed, "fail-closed", false, "block what there is no answer to")
	cmd.Flags().BoolVar(&f.printConfig, "print-config", false, "print what to paste into the agent's settings")
	return cmd
}

func agentNames() []string {
	return list(hook.Agents, func(a **hook.Agent) string { return (*a).Name })
}

// runHook answers an agent.
func (a *app) runHook(cmd *cobra.Command, f *hookFlags, name string, paths []string) error {
	ctx := cmd.Context()
	agent := hook.AgentOf(name)
	switch {
	case agent == nil:
		return usagef("hook: unknown agent %q%s, want one of %s", name, didYouMean(name, agentNames()), strings.Join(agentNames(), ", "))
	case f.printConfig:
		return a.printHookConfig(cmd, agent, paths)
	case agent.Lines:
		return a.serveHook(ctx, f, paths)
	}
	return a.answerHook(ctx, f, agent, paths)
}

// printHookConfig prints the settings that make the agent run this command with the same flags and
// plugins.
func (a *app) printHookConfig(cmd *cobra.Command, agent *hook.Agent, paths []string) error {
	argv, err := a.givenFlags(cmd, "print-config", "output")
	if err != nil {
		return err
	}
	argv = append([]string{"starhost", "hook", agent.Name}, argv...)
	for _, p := range paths {
		full, err := filepath.Abs(a.path(p))
		if err != nil {
			return err
		}
		argv = append(argv, full)
	}
	text, where := agent.Config(argv)
	a.out.WriteString(text)
	if !a.quiet {
		fmt.Fprintf(a.stderr, "this belongs into %s\n", where)
	}
	return nil
}

// answerHook answers the one event on standard input.
func (a *app) answerHook(ctx context.Context, f *hookFlags, agent *hook.Agent, paths []string) error {
	payload, err := a.read("-")
	if err != nil {
		return err
	}
	e, err := agent.Read([]byte(payload))
	if err != nil {
		return err
	}
	if !e.Heard() {
		return nil
	}
	set, err := a.loadHook(ctx, f, paths, func(o *loader.Options) {
		o.Host.Clock = readOnce(o.Host.Clock)
	})
	if set != nil {
		defer set.Close()
	}
	var answer hook.Answer
	if err == nil {
		answer, err = e.Answer(ctx, set.Host, hook.Options{States: &hook.States{Dir: hook.StateDir(a.getenv)}})
		a.fail(err)
	}
	if _, refused := errors.AsType[*hook.Refusal](err); refused || err != nil && f.failClosed {
		if answer, err = e.Block("starhost: " + err.Error()); err != nil {
			return err
		}
	}
	a.giveAnswer(e, answer)
	return nil
}

// readOnce returns a clock with one time: one event of an agent is several events of plugins, which
// all get the same.
func readOnce(clock func() time.Time) func() time.Time {
	if clock == nil {
		clock = time.Now
	}
	return sync.OnceValue(clock)
}

// giveAnswer says what the agent is told. The reason of a block is all that is said
// beside it: agents show the model what stands on standard error. Where there is
// nothing to tell the agent it learns that something failed.
func (a *app) giveAnswer(e *hook.Event, answer hook.Answer) {
	if answer.Code != 0 && !a.verbose {
		a.warnings, a.logs, a.problems = nil, nil, nil
	}
	failed := len(a.problems) > 0
	a.report()
	a.out.WriteString(answer.Out)
	if answer.Err != "" {
		io.WriteString(a.stderr, answer.Err)
	}
	a.code = answer.Code
	if failed && answer.Out == "" && answer.Code == 0 {
		a.code = e.FailureCode()
	}
}

// loadHook loads the plugins and reports what failed. The error says that they must
// not be asked: some are missing that the config requires or, with --fail-closed,
// that failed to load.
func (a *app) loadHook(ctx context.Context, f *hookFlags, paths []string, change func(*loader.Options)) (*loader.Set, error) {
	set, err := a.loadWith(ctx, &f.loadFlags, paths, func(o *loader.Options) {
		o.Stdin = nil // the agent has it
		change(o)
	})
	a.fail(err)
	switch {
	case err != nil && f.failClosed:
		return nil, &hook.Refusal{Err: err}
	case err != nil:
		return nil, err
	case set.Missing() != nil:
		return set, &hook.Refusal{Err: set.Missing()}
	case f.failClosed && set.Err() != nil:
		return set, &hook.Refusal{Err: set.Err()}
	}
	return set, nil
}

// serveHook answers the agent that keeps the command running.
func (a *app) serveHook(ctx context.Context, f *hookFlags, paths []string) error {
	var mu sync.Mutex // of standard error
	var set *loader.Set
	var broken error // is reported
	o := hook.ServeOptions{FailClosed: f.failClosed}
	o.Log = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(a.stderr, "hook: %s\n", text)
	}
	o.Load = func(ctx context.Context) (*starhost.Host, error) {
		set, broken = a.loadHook(ctx, f, paths, func(o *loader.Options) {
			o.Host.Log = func(line starhost.LogLine) {
				mu.Lock()
				defer mu.Unlock()
				if a.verbose || !a.quiet && slices.Contains([]string{"warn", "error"}, line.Level) {
					a.writeLog(line)
				}
			}
		})
		mu.Lock()
		defer mu.Unlock()
		a.report()
		a.code = 0 // plugins that failed are told, and the others work
		if broken != nil {
			return nil, broken
		}
		return set.Host, nil
	}
	err := hook.Serve(ctx, a.stdin, a.stdout, o)
	if set != nil {
		err = errors.Join(err, set.Close())
	}
	if err != nil && err == broken {
		a.code, err = exitNegative, nil
	}
	return err
}

// hookCode is the exit code of a hook that has no answer at all.
func (f *hookFlags) hookCode(args []string) int {
	if f != nil && f.failClosed || slices.Contains(args, "--fail-closed") {
		return 2
	}
	return exitNegative
}
