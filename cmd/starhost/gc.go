package main

import "runtime/debug"

// tuneGC sets the policy of the garbage collector: it runs when the heap has grown
// fivefold, not twofold, as most of what a prompt needs is gone with the prompt. What
// the user set stays.
func tuneGC(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// limitMemory lets the heap grow to nine tenths of the container's memory, in bytes,
// near which the collector runs more often. Without a container, in one without a
// limit, and where the user set one, nothing is set. Finding the container's limit takes
// reading files of the system.
func limitMemory(getenv func(string) string, container func() (uint64, error)) {
	if getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit, err := container(); err == nil {
		debug.SetMemoryLimit(int64(limit - limit/10))
	}
}
