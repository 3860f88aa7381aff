package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/agents/install"
	"github.com/starhost/starhost/agents/trace"
	"github.com/starhost/starhost/decision"
	"github.com/starhost/starhost/fleet"
	"github.com/starhost/starhost/fleet/users"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/hook"
)

func (p *program) hookDoctorCommand() *cobra.Command {
	var try, strict, calls bool
	var file, since string
	cmd := &cobra.Command{
		Use:   "doctor [AGENT...]",
		Short: "Check that guards work in the agents of this machine",
		Long: `Check that guards work in the agents of this machine, or in the named ones: whether the settings of
the user, of all users and of the current project run starhost, whether its program and plugins are
there, whether something switches hooks off, and when the agent last asked according to the decision
log of the last 7 days. It says of each guard that it holds, that it holds unless something lifts it,
that it can be lifted, or that it is off, and lists what it found beside starhost: other hooks,
plugins, an old version of the agent. The exit code is 1 if any guard could be off, with --strict
also if one does not hold.

doctor sends a canary: a call of a tool that no agent has, which hook denies after all guards
loaded. It gives no text of a settings file to a shell. It runs a line only if that is this program
with its own flags, from a file of the user, of the administrator or of a trusted project.
--try runs other programs and untrusted projects' lines, too.

doctor also compares the agents' own transcripts with the decision log: the last 50 calls of each
agent, or with --calls all of them. It names each call about which the agent did not ask though the
hook was installed, which ran though it was denied or with other arguments, or about which it asked too
late, and each of which it cannot tell. The exit code is 1 if there is such a fault. See docs/traces.md.`,
		Example: `  starhost hook doctor
  starhost hook doctor --calls --since 7d
  starhost hook doctor claude-code -F json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := newDoctor(p.env)
			if err != nil {
				return err
			}
			d.Try, d.File = try, file
			if d.Compare, err = newComparison(p.env, calls, since); err != nil {
				return err
			}
			return runDoctor(cmd.Context(), p.env, &p.res, d, strict, args)
		},
		ValidArgsFunction: completeAgent,
	}
	cmd.Flags().BoolVar(&try, "try", false, "run lines that are not this program's own, too")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 1 unless all guards hold")
	cmd.Flags().BoolVar(&calls, "calls", false, "look at all calls in the transcripts, not only at the last 50 of each agent")
	addSince(cmd.Flags(), &since, "with --calls, only calls since `TIME`")
	cmd.Flags().StringVar(&file, "settings", "", "check this `FILE` instead of the agent's usual ones")
	return cmd
}

// newDoctor returns a doctor for this machine. It knows the current project, but not yet whether the user
// trusts it, nor the log.
func newDoctor(env Env) (*install.Doctor, error) {
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	project, err := loader.Workspace(env.dir)
	if err != nil {
		return nil, err
	}
	return &install.Doctor{Machine: *env.machine(), Parse: parseHookLine, Own: own, Project: project, Now: time.Now()}, nil
}

// newComparison returns what compares transcripts with the log, which it does not know yet.
func newComparison(env Env, calls bool, since string) (*trace.Comparison, error) {
	x := &trace.Comparison{Getenv: env.getenv, Changes: env.machine().Changes()}
	switch {
	case since != "" && !calls:
		return nil, usagef("hook doctor: --since without --calls")
	case !calls:
		x.Last = trace.QuickCalls
	}
	var err error
	x.Since, err = parseSince(since)
	return x, err
}

// runDoctor runs hook doctor for the agents with these names, or for all agents.
func runDoctor(ctx context.Context, env Env, res *Result, d *install.Doctor, strict bool, names []string) error {
	chosen := hook.Agents
	if len(names) > 0 {
		chosen = nil
	}
	for _, name := range names {
		agent := hook.AgentOf(name)
		if agent == nil {
			return unknownAgent("hook doctor", name)
		}
		chosen = append(chosen, agent)
	}
	addTrust(env, d)
	var log *fleet.LogState
	if dir, config, err := env.openLog(res); err == nil { // loading the config reports the error for each line of the settings
		log = users.StateOfLog(dir, config)
		if d.Log = dir; config.Log.Enabled {
			d.Compare.Max = config.Log.Max
			d.Compare.Log, d.Compare.Kept = dir, d.Now.Add(-cmp.Or(config.Log.Keep, decision.DefaultKeep))
		}
	}
	result, err := d.Examine(ctx, chosen, len(names) > 0)
	if err != nil {
		return err
	}
	bundles := []fleet.BundleStatus{}
	if config, _, err := env.readConfig(false); err == nil {
		bundles = fleet.Examine(config, d.Now)
	}
	for i := range bundles {
		if b := &bundles[i]; b.Problem != "" || strict && (b.Old || b.LastError != "") {
			res.code = report.ExitNegative
		}
	}
	for i := range result {
		isFault := result[i].Calls != nil && result[i].Calls.Faults() > 0
		if grade := result[i].Grade; isFault || grade == install.GradeOff || strict && grade != install.GradeHolds {
			res.code = report.ExitNegative
		}
	}
	if len(result) == 0 {
		res.code = report.ExitNegative
	}
	return env.printResult(res, diagnoses{result, bundles, log, env.getenv("HOME")})
}

// addTrust tells a doctor which settings of the current project do not apply because nobody trusts it.
func addTrust(env Env, d *install.Doctor) {
	o := loader.TrustOptions{Dir: d.Project, Getenv: env.getenv, Managed: env.managed}
	plan, err := o.Plan()
	if err != nil {
		return // there is no config, or loading will report its mistake
	}
	d.Trust = plan.State
	if plan.State == loader.Trusted || plan.State == loader.TrustedPath || len(plan.Settings) == 0 {
		return
	}
	d.ProjectProblem = fmt.Sprintf("%s is %s, so %d of its settings do not count: starhost trust", plan.Config, trustWords[plan.State], len(plan.Settings))
}

// diagnoses are the result of hook doctor.
type diagnoses struct {
	list    []install.Diagnosis
	bundles []fleet.BundleStatus
	log     *fleet.LogState // nil without a config
	home    string
}

func (result diagnoses) WriteText(res *Result) {
	install.WriteDiagnoses(&res.out, result.list, result.home)
	res.printBundles(result.bundles)
	if result.log != nil && result.log.Behind+result.log.Dropped > 0 {
		fmt.Fprintf(&res.out, "log: %s\n", texttable.EscapeLine(result.log.String()))
	}
}

func (result diagnoses) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.hook-doctor/1"), members{
		"agents": append([]install.Diagnosis{}, result.list...), "bundles": result.bundles, "log": result.log,
	}, res.errors())
}

// parseHookLine parses the flags of a command line of hook, in the way of hook itself.
func parseHookLine(argv []string) (*install.Flags, error) {
	if len(argv) < 3 {
		return nil, usagef("got no agent")
	}
	parsed := new(program)
	root := parsed.emptyCommand()
	cmd := parsed.hookCommand()
	root.AddCommand(cmd)
	if err := cmd.ParseFlags(argv[2:]); err != nil {
		return nil, flagError(cmd, err)
	}
	f := &install.Flags{Paths: cmd.Flags().Args()}
	f.Deadline = *cmd.Flags().Lookup("deadline").Value.(quantity[time.Duration]).to
	f.FailOpen = cmd.Flags().Lookup("fail-open").Value.String() == "true"
	f.Project = cmd.Flags().Lookup("project").Value.String() == "true"
	if cmd.Flags().Changed("output") {
		return nil, usagef("--output: the agent gets no answer")
	}
	return f, nil
}
