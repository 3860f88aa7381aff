package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/starhost/starhost/internal/console"
)

// processContext returns a context that ends when the user or the system asks the program
// to stop, with a [console.SignalError] as its cause. A second signal stops the program at once.
//
// The context sets up signals and memory when a command calls catchSignals or prepareRun,
// because the set-up takes longer than commands such as version.
func processContext(getenv func(string) string) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	var s processSetup
	s.catchSignals = sync.OnceFunc(func() {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // writing to a closed pipe is an error, see Env.end
		go func() {
			cause := <-signals
			signal.Stop(signals)
			cancel(console.SignalError{Signal: cause})
		}()
	})
	var once sync.Once
	prepare := func(setLimit func()) func() {
		return func() {
			once.Do(func() {
				tuneGC(getenv)
				setLimit()
				s.catchSignals()
			})
		}
	}
	s.prepareRun = prepare(func() { limitMemory(getenv, memlimit.FromCgroup) })
	s.prepareHook = prepare(func() { saveMemory(getenv) })
	return context.WithValue(ctx, processKey{}, &s)
}

// A processSetup has the functions behind catchSignals, prepareRun and prepareHook. Tests replace
// them. Only the first prepareRun or prepareHook of a process has an effect.
type processSetup struct{ catchSignals, prepareRun, prepareHook func() }

// processKey is the key of the processSetup in the context of a program.
type processKey struct{}

// catchSignals makes a signal end ctx instead of the program. Commands call it before they
// write files, so that no signal leaves half a file. Until then a signal ends the program.
func catchSignals(ctx context.Context) {
	if s, ok := ctx.Value(processKey{}).(*processSetup); ok {
		s.catchSignals()
	}
}

// prepareRun sets the policies for memory and catches signals. Commands call it before they
// load plugins, because such a run can be long.
func prepareRun(ctx context.Context) {
	if s, ok := ctx.Value(processKey{}).(*processSetup); ok {
		s.prepareRun()
	}
}

// hookMemory is the memory that hook takes before its garbage collector works harder. An
// agent starts hook beside its work, often in a container of 512 MiB, and many agents run a
// call whose hook was killed. So the peak for the largest event must stay below 256 MiB.
const hookMemory = 128 << 20

// saveMemory makes the garbage collector run more often from hookMemory on. A GOMEMLIMIT of the
// user stays. It does not ask for the limit of the container, which takes 3 to 5 % of the process.
func saveMemory(getenv func(string) string) {
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(hookMemory)
	}
}

// prepareHook takes the place of prepareRun in a process that answers an agent's events.
func prepareHook(ctx context.Context) {
	if s, ok := ctx.Value(processKey{}).(*processSetup); ok {
		s.prepareHook()
	}
}

// tuneGC makes the garbage collector run when the heap has grown fivefold, not twofold,
// because most of a prompt's memory is garbage after the prompt. A GOGC of the user stays.
func tuneGC(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// limitMemory makes the garbage collector run more often near nine tenths of the
// container's memory, which container returns in bytes. It sets nothing outside of a
// container, in one without a limit, and if the user set GOMEMLIMIT.
func limitMemory(getenv func(string) string, container func() (uint64, error)) {
	if getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit, err := container(); err == nil {
		debug.SetMemoryLimit(int64(limit - limit/10))
	}
}
