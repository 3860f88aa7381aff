package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents/install"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/disk"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/markdown"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/hook"
)

// hookFlags are the flags of hook.
type hookFlags struct {
	loadFlags
	deadline                          time.Duration
	failClosed, failOpen, printConfig bool
	isOpen                            bool   // --fail-closed=false
	inProject                         bool   // --project
	projectRoot                       string // --project-root

	argsRoot  string // plugins outside of this folder are not the operator's; "" for none
	answering bool   // the answer to the agent has begun
	lineError error  // the mistake in the command line, nil for none
}

// add adds the flags that hook and hook install have.
func (f *hookFlags) add(cmd *cobra.Command) {
	f.loadFlags.add(cmd)
	cmd.Flags().Var(span(&f.deadline), "deadline", "answer within this `TIME` (default 4.5s)")
	cmd.Flags().BoolVar(&f.failClosed, "fail-closed", false, "refuse events of another form than the agent documents, too")
	cmd.Flags().BoolVar(&f.failOpen, "fail-open", false, "let calls pass if a guard does not load, with a message at each event")
}

// isEventLine reports whether args are a line that an agent runs at each event, for which help and the
// commands of a person take too long to make.
func isEventLine(args []string) bool {
	i := slices.Index(args, "hook") + 1
	return i > 0 && i < len(args) && hook.AgentOf(args[i]) != nil && !slices.Contains(args, "--help") && !slices.Contains(args, "-h")
}

func (p *program) hookCommand() *cobra.Command {
	var f hookFlags
	cmd := &cobra.Command{
		Use:         "hook AGENT [PATH...]",
		Annotations: formats(""),
		Short:       "Let plugins take part in an agent such as claude-code, codex or cursor",
		Long: `Speak an agent's own hook protocol on standard input and output, so that plugins add
context to its prompts and guard its tools. The agent runs this command: --print-config
prints what to paste into its settings.

All agents but picoclaw run it for each event. Between two events, the XDG state folder
has ctx.state and the texts that the session has already received. picoclaw runs it once
for all events.

If plugins give no answer within 4.5 s or --deadline, or starhost cannot read the event, it
refuses the event.
If a guard does not load, or the config or this command line has a mistake, starhost refuses all
calls of tools and all approvals. It refuses prompts too if the plugin that does not load has a
hook on turn_start, pre_llm_call or pre_send. --fail-open lets them pass, with a message at each event.

The exit code is 0 for an answer, 2 to block what the event is about. It is 1 if hook failed and
nothing is blocked: for an event that no guard can refuse, or with --fail-open. An agent that reads
JSON at code 0 alone, as Copilot does, gets 0 and a refusal in JSON. 2 also means, for every agent,
that starhost cannot write an answer, or that this line has a mistake and no event came. See
docs/agents.md.`,
		Example: `  starhost hook claude-code --print-config
  starhost hook picoclaw --fail-closed plugins/policy --print-config`,
		RunE: func(cmd *cobra.Command, args []string) error {
			p.res.hook = &f
			f.isOpen = cmd.Flags().Changed("fail-closed") && !f.failClosed
			agent, err := agentArgument("hook", args)
			if err != nil {
				return err
			}
			paths := args[1:]
			if f.printConfig {
				return printHookConfig(p.env, &p.res, cmd, &f, agent, paths)
			}
			f.answering = true
			if f.deadline > 0 {
				p.env.deadline = f.deadline
			}
			switch {
			case agent.Lines && f.inProject:
				return usagef("hook: --project: %s does not name its project", agent.Title)
			case agent.Lines:
				return serveHook(cmd.Context(), p.env, &p.res, &f, agent.Name, paths)
			}
			return answerHook(cmd.Context(), p.env, &p.res, &f, agent, paths)
		},
		ValidArgsFunction: completeAgent,
	}
	f.add(cmd)
	if !isEventLine(p.args) {
		cmd.Long = markdown.Wrap("AGENT is one of "+strings.Join(agentNames(), ", ")+".") + "\n\n" + cmd.Long
		cmd.AddCommand(p.hookInstallCommand(), p.hookUninstallCommand(), p.hookDoctorCommand(), p.hookResetCommand())
	}
	cmd.Flags().BoolVar(&f.inProject, "project", false, "look PATHs up from the root of the event's project, not from the current folder")
	cmd.Flags().StringVar(&f.projectRoot, "project-root", "", "with --project, the project's `FOLDER`: absolute, or from the repository's root")
	cmd.Flags().BoolVar(&f.printConfig, "print-config", false, "print what to paste into the agent's settings")
	return cmd
}

func agentNames() []string {
	return jsontext.List(hook.Agents, func(a **hook.Agent) string { return (*a).Name })
}

// agentArgument returns the agent that the first argument names.
func agentArgument(command string, args []string) (*hook.Agent, error) {
	if len(args) == 0 {
		return nil, usagef("%s: got no agent, want one of %s", command, strings.Join(agentNames(), ", "))
	}
	agent := hook.AgentOf(args[0])
	if agent == nil {
		return nil, unknownAgent(command, args[0])
	}
	return agent, nil
}

// unknownAgent returns the error for an agent that starhost does not support.
func unknownAgent(command, name string) error {
	return usagef("%s: unknown agent %q%s, want one of %s", command, name, near.DidYouMean(name, agentNames()), strings.Join(agentNames(), ", "))
}

// printHookConfig prints the settings that make the agent run this command with the same flags
// and plugins.
func printHookConfig(env Env, res *Result, cmd *cobra.Command, f *hookFlags, agent *hook.Agent, paths []string) error {
	argv, err := env.flagArguments(cmd, "print-config", "output")
	if err != nil {
		return err
	}
	var full []string
	for _, p := range paths {
		p, err := filepath.Abs(env.path(p))
		if err != nil {
			return err
		}
		full = append(full, p)
	}
	text, where := agent.Config(f.settings(full).Settings(agent, "starhost", argv))
	res.out.WriteString(text)
	if !env.quiet {
		fmt.Fprintf(env.stderr, "this belongs into %s\n", where)
	}
	return nil
}

// answerHook answers the event on standard input before the deadline. Plugins run in another
// goroutine; if it does not end in time, the process ends without it.
func answerHook(ctx context.Context, env Env, res *Result, f *hookFlags, agent *hook.Agent, paths []string) error {
	deadline := env.startTime.Add(env.deadline)
	own := *res // which the goroutine that asks the plugins may change after the deadline
	r := &hookRun{Env: env, Result: &own, agent: agent, flags: f, paths: paths}
	r.stderr = &r.diagnostics
	desk := hook.Desk{
		Deadline: env.deadline, FailClosed: f.failClosed || f.lineError != nil && !f.failOpen, IsOpen: f.isOpen,
		Mistake: f.lineError, Load: r.load, Warn: func(text string) { fmt.Fprintf(&r.failures, "hook: %s\n", text) },
	}
	r.recordAnswers(&desk, &r.log, agent.Name, r.log.Fail)
	reply := desk.Answer(ctx, agent, env.startTime, func() ([]byte, error) {
		text, err := r.readText("-")
		return []byte(text), err
	})
	answer := reply.Answer
	res.code = answer.Code
	wrote := make(chan error, 1)
	go func(file string) { wrote <- env.writeAnswer(file, answer.Out) }(env.output)
	res.written = true // end must not write it again
	rest := time.NewTimer(max(time.Until(deadline), 0) + hookGrace)
	defer rest.Stop()
	select {
	case err := <-wrote:
		if err != nil && answer.Binding {
			res.code, answer.Err = hook.ExitBlock, "starhost: the agent did not get the answer: "+err.Error()+"\n"+answer.Err
		}
	case <-rest.C:
		if answer.Binding {
			res.code = hook.ExitBlock
		}
		return nil
	}
	stored := true
	select {
	case <-reply.Done:
	case <-rest.C:
		stored = false
	}
	text := answer.Err + r.log.Failures()
	if stored {
		text += r.failures.String()
	}
	if text == "" {
		return nil
	}
	go func() {
		io.WriteString(env.stderr, text)
		wrote <- nil
	}()
	select {
	case <-wrote:
	case <-time.After(hookGrace):
	}
	return nil
}

// hookGrace is how long hook waits after the deadline for work that does not change the answer:
// handlers that stop, the session's state, and a slow reader of standard error. Claude Code and
// PicoClaw wait for at least 5 s.
const hookGrace = 200 * time.Millisecond

// A hookRun is the part of hook that plugins can delay. Until the desk's reply is done, the
// goroutine that asks them owns all fields but log.
type hookRun struct {
	Env
	*Result     // with its own problems
	agent       *hook.Agent
	flags       *hookFlags
	paths       []string
	log         decision.EventLog
	diagnostics strings.Builder // what report writes
	failures    strings.Builder // what does not change the answer, for standard error
}

// load loads the plugins for an event.
func (r *hookRun) load(ctx context.Context, e *hook.Event) hook.Plugins {
	prepareHook(ctx)
	f, paths := r.flags, r.paths
	states := &hook.States{Dir: hook.StateDir(r.getenv)}
	pin := r.findRoot(f, e, states, paths)
	if f.inProject && f.lineError == nil {
		var root string
		var err error
		root, paths, err = r.projectPlace(f, e, pin.Root).Paths(paths)
		f.lineError = misuseOf("hook --project", err)
		if f.argsRoot = root; len(paths) == 0 && f.lineError == nil {
			r.dir = root
		}
	}
	set, h, _ := r.loadHook(ctx, r.Result, f, paths, r.log.Observe, func(o *loader.Options) {
		o.Host.Clock = cacheClock(o.Host.Clock)
		if o.Folder = eventFolder(pin, e); o.Folder != "" {
			o.World.Exec = &effects.Exec{Dir: o.Folder}
		}
		observe(r.log.Open(func() *decision.Log { return r.newLog(o.Config, r.agent.Name, r.log.Fail) }), o.Config, &o.Host, r.log.Observe)
	})
	if h == nil && len(pin.Guards) > 0 { // the host refuses in place of the guards
		h = host.New(host.Options{Observe: r.log.Observe})
	}
	p := hook.Plugins{
		Host: h, Finish: r.finish, Canary: func(nonce string) string { return install.CanaryReason(nonce, r.agent, set) },
		Options: hook.Options{
			States: states, Pin: pin, Root: r.sessionRoot(f, set, paths), FailOpen: f.failOpen,
			Report: func(err error) { fmt.Fprintf(&r.failures, "hook: %v\n", err) },
		},
	}
	if set != nil {
		p.Close = func() { set.Close() }
	}
	if _, ok := e.Canary(); !ok { // which no log has
		useSet(r.log.Find(), set)
	}
	if len(r.problems) > 0 {
		p.Options.Notice = "starhost: " + r.problems[0].Where()
	}
	return p
}

// finish adds what went wrong to an answer. Agents show standard error to the model, so a block
// writes only its reason there. If plugins failed and there is no answer, the exit code says so.
func (r *hookRun) finish(e *hook.Event, answer *hook.Answer, err error) {
	r.addError(err)
	if answer.Blocks && answer.Err != "" && !r.verbose {
		r.warnings, r.logs, r.problems = nil, nil, nil
	}
	failed := len(r.problems) > 0
	r.report(r.Result)
	if failed && answer.Out == "" && answer.Code == 0 {
		answer.Code = e.FailureCode(r.flags.failOpen)
	}
	answer.Err = r.diagnostics.String() + answer.Err
}

// writeAnswer writes the answer to standard output or a file.
func (env Env) writeAnswer(file, text string) error {
	switch {
	case file != "":
		return disk.Replace(env.path(file), []byte(text), 0o666)
	case text == "":
		return nil
	}
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error
	_, err := io.WriteString(env.stdout, text)
	return err
}

// cacheClock returns a clock that always returns its first time, because one event of an agent
// becomes several events of plugins.
func cacheClock(clock func() time.Time) func() time.Time {
	if clock == nil {
		clock = time.Now
	}
	return sync.OnceValue(clock)
}

// loadHook loads the plugins and reports failures. If it cannot load them, the host refuses what
// guards could, with observe as its observer, and there is no set. The error means that there are
// no plugins, and so no guards.
func (env Env) loadHook(
	ctx context.Context, res *Result, f *hookFlags, paths []string, observe func(starhost.Event, host.Outcome) error,
	change func(*loader.Options),
) (*loader.Set, *host.Host, error) {
	if err := loader.Halted(env.managed); err != nil { // also if nothing can be loaded, and whatever --fail-open says
		return nil, hook.Refusing(err, false, observe), nil
	}
	var set *loader.Set
	err := f.lineError
	if err == nil {
		set, err = env.loadWith(ctx, res, &f.loadFlags, paths, func(o *loader.Options) {
			o.Stdin = nil // the agent writes to it
			o.FailOpen, o.ArgsRoot = f.failOpen, f.argsRoot
			change(o)
		})
	}
	res.addError(err)
	switch {
	case errors.Is(err, loader.ErrNoPlugins):
		return nil, nil, err
	case err != nil:
		return nil, hook.Refusing(err, f.failOpen && !errors.Is(err, loader.ErrManaged), observe), nil
	}
	return set, set.Host, nil
}

// refuseHook answers an agent whose command line has a mistake, because no guard is loaded
// then. If the line names no agent, it answers in Claude Code's form, which most agents
// understand. It returns err if a person typed the line.
func refuseHook(ctx context.Context, env Env, res *Result, args []string, err error) error {
	person := slices.Contains(args, "--print-config") || managesHooks(args)
	if file, ok := env.stdin.(*os.File); ok {
		info, statErr := file.Stat()
		person = person || statErr != nil || info.Mode()&os.ModeCharDevice != 0
	}
	if person || errors.Is(err, hook.ErrStuck) || res.hook != nil && res.hook.answering {
		return err
	}
	agent := hook.AgentOf("claude-code")
	if i := slices.IndexFunc(args, func(arg string) bool { return hook.AgentOf(arg) != nil }); i >= 0 {
		agent = hook.AgentOf(args[i])
	}
	f := &hookFlags{lineError: err, failOpen: slices.Contains(args, "--fail-open")}
	if agent.Lines {
		return serveHook(ctx, env, res, f, agent.Name, nil)
	}
	return answerHook(ctx, env, res, f, agent, nil)
}

// serveHook answers an agent that keeps hook running.
func serveHook(ctx context.Context, env Env, res *Result, f *hookFlags, agent string, paths []string) error {
	prepareHook(ctx)
	var mu sync.Mutex // guards standard error and ended
	ended := false    // Serve may leave a goroutine that still loads
	write := func(text func()) {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			text()
		}
	}
	var set *loader.Set
	var broken error // the error of loading, which is already reported
	var log decision.EventLog
	desk := hook.Desk{Deadline: env.deadline, Warn: func(text string) { write(func() { fmt.Fprintf(env.stderr, "hook: %s\n", text) }) }}
	fail := func(err error) { desk.Warn(err.Error()) }
	env.recordAnswers(&desk, &log, agent, fail)
	record := func(e starhost.Event, out host.Outcome) error { // at once, as several events are under way
		if log := log.Find(); log != nil {
			return log.Observe(e, out)
		}
		return nil
	}
	desk.Load = func(ctx context.Context, _ *hook.Event) hook.Plugins {
		own := *res // with its own reports
		var records *decision.Log
		var h *host.Host
		set, h, broken = env.loadHook(ctx, &own, f, paths, record, func(o *loader.Options) {
			if records = log.Open(func() *decision.Log { return env.newLog(o.Config, agent, fail) }); records != nil {
				observe(records, o.Config, &o.Host, records.Observe)
			}
			o.Host.Log = func(line host.LogLine) {
				if env.verbose || !env.quiet && slices.Contains([]string{"warn", "error"}, line.Level) {
					write(func() { env.writeLog(&own, line) })
				}
			}
		})
		useSet(records, set)
		write(func() { env.report(&own) }) // plugins that failed are reported, and the others work
		return hook.Plugins{Host: h, Canary: func(nonce string) string { return install.CanaryReason(nonce, hook.AgentOf(agent), set) }}
	}
	err := desk.Serve(ctx, env.stdin, env.stdout)
	mu.Lock()
	ended = true
	mu.Unlock()
	if errors.Is(err, hook.ErrStuck) {
		return err // a handler still uses the set: end the process without closing it
	}
	if set != nil {
		err = errors.Join(err, set.Close())
	}
	if err == nil && broken != nil {
		res.code = report.ExitNegative
	}
	return err
}
