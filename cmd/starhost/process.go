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

// processContext returns a context that ends when the user or the system asks the program to stop. Its cause
// is then a [console.SignalError]. A second signal stops the program at once.
//
// The context prepares signals and memory when a command calls catchSignals or prepareRun, because that takes
// longer than commands such as version.
func processContext(getenv func(string) string) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	var s processSetup
	s.catchSignals = sync.OnceFunc(func() {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // then writing to a closed pipe fails: see Env.end
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

// A processSetup has the functions that catchSignals, prepareRun and prepareHook call. Tests replace them. In
// a process, only the first call of prepareRun or prepareHook has an effect.
type processSetup struct{ catchSignals, prepareRun, prepareHook func() }

// processKey is the key under which the context of a program has its processSetup.
type processKey struct{}

// setupOf returns the setup of a program's context, or one that does nothing.
func setupOf(ctx context.Context) *processSetup {
	if s, ok := ctx.Value(processKey{}).(*processSetup); ok {
		return s
	}
	nothing := func() {}
	return &processSetup{nothing, nothing, nothing}
}

// catchSignals makes a signal end ctx instead of the program. Commands call it before they write files, so
// that no signal leaves half a file. Before that, a signal ends the program.
func catchSignals(ctx context.Context) { setupOf(ctx).catchSignals() }

// prepareRun sets when garbage is collected, and catches signals. Commands call it before they load plugins,
// because such a run can be long.
func prepareRun(ctx context.Context) { setupOf(ctx).prepareRun() }

// hookMemory is the memory that hook takes before its garbage collector runs more often. An agent starts hook
// beside its other work, often in a container of 512 MiB. If hook is killed for its memory, many agents run
// the call. So hook must stay below 256 MiB for the largest event.
const hookMemory = 128 << 20

// saveMemory makes the garbage collector run more often when the heap exceeds hookMemory. If the user set
// GOMEMLIMIT, that counts instead. saveMemory does not ask for the limit of the container, because that takes
// 3 to 5 % of the process.
func saveMemory(getenv func(string) string) {
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(hookMemory)
	}
}

// prepareHook does the work of prepareRun in a process that answers an agent's events.
func prepareHook(ctx context.Context) { setupOf(ctx).prepareHook() }

// tuneGC makes the garbage collector run when the heap has grown to four and a half times its size, not
// twice, because most of a prompt's memory is garbage after the prompt. If the user set GOGC, that counts
// instead.
func tuneGC(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(350)
	}
}

// limitMemory makes the garbage collector run more often near nine tenths of the container's memory.
// container returns that memory in bytes. limitMemory does nothing outside of a container, in a container
// without a limit, and if the user set GOMEMLIMIT.
func limitMemory(getenv func(string) string, container func() (uint64, error)) {
	if getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit, err := container(); err == nil {
		debug.SetMemoryLimit(int64(limit - limit/10))
	}
}
