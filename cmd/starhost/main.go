// Command starhost shows and tests what plugins do to a prompt.
//
// Each command is one file: it reads flags, asks the loader for a host, and prints.
// Results go to standard output, diagnostics to standard error. Both depend only on the
// arguments, the files and the environment: they have no durations, machine facts or
// absolute paths unless a flag asks for them. So every output can be a golden file; the
// folder golden/cli has them.
//
// A command gets an Env, which nothing changes after the flags, and fills a Result: see env.go. The
// function describe turns every kind of error into its exit code, text and JSON. A command
// says by formats which formats of -F it has; a result has a method for each.
package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/procgroup"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/hook"
)

func main() {
	procgroup.HideEnvironment() // hides it from the programs that plugins may run
	os.Exit(newProgram(os.Stdin, os.Stdout, os.Stderr).run(processContext(os.Getenv), os.Args[1:]))
}

// managedConfig is the config of the machine's administrator, which wins over all other configs
// and flags. No flag or environment variable changes the path, because a user could then leave
// the administrator's rules behind. A package of starhost for another system may set it with
// -ldflags "-X main.managedConfig=PATH".
var managedConfig = "/etc/starhost/config.toml"

// managedRoot precedes the paths of the agents' managed settings. Only tests set it.
var managedRoot = ""

// newProgram returns the program of the process.
func newProgram(stdin io.Reader, stdout, stderr io.Writer) *program {
	return &program{env: Env{
		stdin: stdin, stdout: stdout, stderr: stderr, managed: managedConfig, deadline: hook.Deadline,
		getenv: withHome(os.Getenv, userHome), lookupEnv: os.LookupEnv,
	}}
}

// run runs the program and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	p.env.startTime = time.Now()
	p.env.stderr = page.Screen{Writer: p.env.stderr}
	if args == nil {
		args = []string{} // for nil, cobra would take os.Args
	}
	p.env = p.env.fresh()
	cmd, err := p.execute(ctx, args)
	defer p.env.stores.close()
	defer p.env.processes.Close()
	isHook := err != nil && (cmd == "hook" || p.res.hook != nil) && !managesHooks(args)
	if isHook {
		err = refuseHook(ctx, p.env, &p.res, args, err)
	}
	p.res.addError(err)
	if err != nil && p.res.out.Len() == 0 && (p.env.format == "json" || p.env.format == "" && asksJSON(args)) {
		p.res.addError(p.res.printFailure(cmd))
	}
	if p.env.output != "" {
		catchSignals(ctx)
	}
	code := p.env.end(&p.res)
	switch {
	case err == nil || !isHook:
		return code
	case p.res.hook != nil && p.res.hook.answering:
		return report.ExitNegative // the agent has got its answer already
	}
	return hook.ExitBlock // the line may be of an agent that sends no event
}
