// Command starhost shows and tests what plugins do to a prompt.
//
// Each command is one file: it reads flags, asks the loader for a host, and
// prints. What a command finds out goes to standard output, diagnostics go to
// standard error, and all of it is a function of the arguments, the files and
// the environment: no durations, no machine facts, no absolute paths unless they
// were asked for. So every output can be a golden file; they are in golden/cli.
//
// One function, describe, knows what each kind of error means: its exit code, its
// text and its JSON.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/starhost/starhost/serve/hook"
)

func main() {
	os.Exit(run(process(os.Getenv), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// A signalError is why the context of the program ended: the signal that asked for
// it.
type signalError struct{ os.Signal }

func (e signalError) Error() string { return e.String() }
func (e signalError) Unwrap() error { return context.Canceled }

// process returns a context that ends when the user or the system asks the program to
// stop, with a signalError as its cause; asked twice, it stops at once. What that takes,
// and what else a program wants of the system that runs for longer, is a good part of a
// short run. So it is asked for by those who need it: see catchSignals and settle.
func process(getenv func(string) string) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	var s system
	s.catch = sync.OnceFunc(func() {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // writing to a closed pipe is an error, see app.end
		go func() {
			cause := <-asked
			signal.Stop(asked)
			cancel(signalError{cause})
		}()
	})
	s.settle = sync.OnceFunc(func() {
		tuneGC(getenv)
		time.AfterFunc(20*time.Millisecond, func() {
			s.catch()
			limitMemory(getenv, memlimit.FromCgroup)
		})
	})
	return context.WithValue(ctx, systemKey{}, &s)
}

// A system is what a run asks of the system.
type system struct{ catch, settle func() }

// systemKey is the key of the system in the context of a program.
type systemKey struct{}

// catchSignals comes before files are written: from now on no signal stops the program
// in the middle of one, which would leave half of it beside. A program that writes no
// file and has hardly begun may as well be killed.
func catchSignals(ctx context.Context) {
	if s, ok := ctx.Value(systemKey{}).(*system); ok {
		s.catch()
	}
}

// settle comes before plugins are loaded: the run can be long. At once the collector's
// policy is set; after a moment signals are caught, and memory is limited.
func settle(ctx context.Context) {
	if s, ok := ctx.Value(systemKey{}).(*system); ok {
		s.settle()
	}
}

// run is the whole program: it returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return (&app{stdin: stdin, stdout: stdout, stderr: stderr, getenv: os.Getenv, deadline: hook.Deadline}).run(ctx, args)
}

// run runs the program and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	a.began = time.Now()
	if args == nil {
		args = []string{} // cobra takes nil for os.Args
	}
	cmd, err := a.execute(ctx, args)
	isHook := cmd == "hook" || a.hook != nil
	if err != nil && isHook {
		err = a.refuseHook(ctx, args, err)
	}
	a.fail(err)
	if err != nil && a.out.Len() == 0 && (a.format == "json" || a.format == "" && asksJSON(args)) {
		a.fail(a.printFailure(cmd))
	}
	if a.output != "" {
		catchSignals(ctx)
	}
	code := a.end()
	if err != nil && isHook {
		code = exitNegative // a usage error has the code that blocks
	}
	return code
}
