package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/starhost/starhost/fleet"
	"github.com/starhost/starhost/fleet/users"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
)

// syncFlags are the flags of sync.
type syncFlags struct {
	once, log   bool
	every, wait time.Duration
}

func (p *program) syncCommand() *cobra.Command {
	f := syncFlags{every: 15 * time.Minute, wait: fleet.DefaultWait}
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Keep the bundles of this machine current, as root, and send its log",
		Long: `Fetch the bundles that the managed config names in [bundles.NAME], check their signatures and
files, load their plugins, run their golden cases, and make them the active ones. Whatever
fails, the active version stays, and the status file says why. A hook reads what is active.

Without --once, it does a round every 15 minutes, give or take 5, until interrupted. The exit
code of a round is 5 if a bundle could not be fetched, 6 if it is not whole, not signed by a
key of the config or not the wanted one, 7 if it does not load or does not pass its cases.
Then it runs hook doctor as each user, to say in the status whether the agents ask, and sends the
status and the records of the decision log to the OpenTelemetry collector that [log] send names:
those of all users if the managed config has [log] path. With --log it sends the records, once, and
does nothing else, also for a user who is not root; the user's config then counts, too. A bookmark
beside the folder of a log says how far it was sent. No record is lost, and one can arrive twice.
See docs/fleet.md and docs/log.md.`,
		Example: `  starhost sync --once
  starhost sync --once -F json
  starhost sync --log`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.log {
				return runSyncLog(cmd.Context(), p.env, &p.res)
			}
			prepareRun(cmd.Context())
			if f.once {
				return runSync(cmd.Context(), p.env, &p.res, &f)
			}
			return syncForever(cmd.Context(), p.env, &p.res, &f)
		},
	}
	cmd.Flags().BoolVar(&f.once, "once", false, "do one round, for a timer")
	cmd.Flags().BoolVar(&f.log, "log", false, "send the records of the decision log once, and nothing else")
	cmd.Flags().Var(span(&f.every), "every", "the `TIME` between rounds, of which up to a third is left out or added")
	cmd.Flags().Var(span(&f.wait), "wait", "the most `TIME` of a bundle's download")
	return cmd
}

// homeFolders, homeOf and doctorEnv are those of a [users.Machine]. Only tests set them.
var (
	homeFolders = []string{"/home", "/Users"}
	homeOf      func(int) string
	doctorEnv   []string
)

// users returns this machine for what sync does for its users.
func (env Env) users(config *loader.Config) *users.Machine {
	return &users.Machine{
		Config: config, LogDir: env.logDir(config), Version: version(), Getenv: env.getenv, LookupEnv: env.lookupEnv,
		HomeFolders: homeFolders, HomeOf: homeOf, DoctorEnv: doctorEnv,
	}
}

// runSyncLog sends the records of the decision log.
func runSyncLog(ctx context.Context, env Env, res *Result) error {
	config, err := env.loadConfig(res, false)
	if err != nil {
		return err
	}
	if config.Log.Send == "" {
		return &report.UsageError{Msg: "sync --log: the config has no [log] send, want the address of a collector", Help: `log.send = "https://otel.corp.example:4318"`}
	}
	catchSignals(ctx)
	states, err := env.users(config).SendLogs(ctx)
	res.addError(err)
	return env.printResult(res, syncReport{&fleet.Status{Time: time.Now(), Logs: states}})
}

// runSync does one round.
func runSync(ctx context.Context, env Env, res *Result, f *syncFlags) error {
	config, warnings, err := loader.LoadConfig(loader.ConfigOptions{Dir: env.dir, None: true, Managed: env.managed, Getenv: env.getenv})
	res.warnings = append(res.warnings, warnings...)
	if err != nil {
		return err
	}
	if len(config.Bundles) == 0 && config.Log.Send == "" {
		return usagef("sync: got no [bundles.NAME] in %s, want at least one, or [log] send", env.managed)
	}
	for name, b := range config.Bundles {
		if b.URL == "" || len(b.Keys) == 0 {
			return usagef("%s: [bundles.%s] lacks url or keys", env.managed, name)
		}
	}
	try := env.tryOptions()
	try.Managed = env.managed
	o := fleet.Options{Config: config, Wait: f.wait, Now: time.Now(), Try: try, Getenv: env.getenv}
	m := env.users(config)
	if o.Examine = m.Coverage; config.Log.Send != "" {
		o.SendLogs, o.SendStatus = m.SendLogs, m.SendStatus
	}
	status, err := fleet.Sync(ctx, o)
	res.addError(err)
	if status == nil {
		return nil
	}
	return env.printResult(res, syncReport{status})
}

// syncForever does rounds until ctx ends.
func syncForever(ctx context.Context, env Env, res *Result, f *syncFlags) error {
	res.written = true // each round writes the result itself
	for {
		round := res.newRound()
		round.addError(runSync(ctx, env, round, f))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		env.end(round)
		third := int64(f.every) / 3
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(int64(f.every) - third + rand.Int64N(2*third+1))):
		}
	}
}

// A syncReport is the result of sync.
type syncReport struct{ *fleet.Status }

func (r syncReport) WriteText(res *Result) {
	res.printBundles(r.Bundles)
	for _, s := range r.Logs {
		res.out.WriteString("log: " + texttable.EscapeLine(s.String()) + "\n")
	}
	for _, c := range r.Coverage {
		res.out.WriteString("coverage: " + texttable.EscapeLine(c.String()) + "\n")
	}
}

func (r syncReport) WriteJSON(res *Result) error {
	return res.out.JSON(res.head("starhost.sync/1"), struct {
		Time     time.Time            `json:"time"`
		Bundles  []fleet.BundleStatus `json:"bundles"`
		Logs     []fleet.LogState     `json:"logs"`
		Coverage []fleet.Coverage     `json:"coverage"`
	}{
		r.Time, append([]fleet.BundleStatus{}, r.Bundles...), append([]fleet.LogState{}, r.Logs...), append([]fleet.Coverage{}, r.Coverage...),
	}, res.errors())
}

// printBundles prints the state of bundles as text.
func (res *Result) printBundles(list []fleet.BundleStatus) {
	for i := range list {
		fmt.Fprintf(&res.out, "bundle %s\n", list[i].Name)
		for _, line := range list[i].Lines() {
			fmt.Fprintf(&res.out, "  %s\n", texttable.EscapeLine(line))
		}
	}
}
