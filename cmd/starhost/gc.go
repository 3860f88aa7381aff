package main

import (
	"runtime/debug"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// tuneGC sets the policy of the garbage collector: it runs when the heap has grown
// fivefold, not twofold, as most of what a prompt needs is gone with the prompt;
// and more often again near the memory that the container allows. What the user
// set, GOGC or GOMEMLIMIT, stays. Reading the limit takes files of the system, which a
// short run has no use for: it happens when the program has run for a moment.
func tuneGC(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if getenv("GOMEMLIMIT") == "" {
		time.AfterFunc(20*time.Millisecond, func() { limitMemory(memlimit.FromCgroup) })
	}
}

// limitMemory lets the heap grow to nine tenths of the container's memory, in bytes;
// without a container, or in one without a limit, nothing is set.
func limitMemory(container func() (uint64, error)) {
	if limit, err := container(); err == nil {
		debug.SetMemoryLimit(int64(limit - limit/10))
	}
}
