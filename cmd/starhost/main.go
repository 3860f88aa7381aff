// Command starhost shows and tests what plugins do to a prompt.
//
// Each command is one file: it reads flags, asks the loader for a host, and prints.
// Results go to standard output, diagnostics to standard error. Both depend only on the
// arguments, the files and the environment: they have no durations, machine facts or
// absolute paths unless a flag asks for them. So every output can be a golden file; the
// folder golden/cli has them.
//
// The function describe turns every kind of error into its exit code, text and JSON.
// The table in format.go names the writers of the formats of -F.
package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/starhost/starhost/internal/page"
	"github.com/starhost/starhost/internal/procgroup"
	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/starlark"
)

func main() {
	procgroup.HideEnvironment() // from the programs that plugins may run
	os.Exit(run(processContext(os.Getenv), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// managedConfig is the config of the machine's administrator, which wins over all other configs
// and flags. No flag or environment variable changes the path, because a user could then leave
// the administrator's rules behind. A package of starhost for another system may set it with
// -ldflags "-X main.managedConfig=PATH".
var managedConfig = "/etc/starhost/config.toml"

// managedRoot is put in front of the paths of the agents' managed settings. It is for tests.
var managedRoot = ""

// run is the whole program: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, managed: managedConfig}
	a.getenv, a.lookupEnv = withHome(os.Getenv, userHome), os.LookupEnv
	a.deadline = hook.Deadline
	return a.run(ctx, args)
}

// run runs the program and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	a.startTime = time.Now()
	a.stderr = page.Screen{Writer: a.stderr}
	if args == nil {
		args = []string{} // cobra takes nil for os.Args
	}
	a.stores, a.processes, a.cache = new(databases), new(processes), new(starlark.Cache)
	cmd, err := a.execute(ctx, args)
	defer a.stores.close()
	defer a.processes.close()
	isHook := (cmd == "hook" || a.hook != nil) && !managesHooks(args)
	if err != nil && isHook {
		err = a.refuseHook(ctx, args, err)
	}
	a.addError(err)
	if err != nil && a.out.Len() == 0 && (a.format == "json" || a.format == "" && asksJSON(args)) {
		a.addError(a.printFailure(cmd))
	}
	if a.output != "" {
		catchSignals(ctx)
	}
	code := a.end()
	switch {
	case err == nil || !isHook:
		return code
	case a.hook != nil && a.hook.answering:
		return exitNegative // agents got their answers
	}
	return hook.ExitBlock // the line may belong to an agent that sends no event
}
