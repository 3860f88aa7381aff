package main

import (
	"errors"
	"math"
	"runtime/debug"
	"testing"
)

func TestTuneGC(t *testing.T) {
	was := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(was) })
	set := func(gogc string) func(string) string {
		return func(name string) string {
			return map[string]string{"GOGC": gogc, "GOMEMLIMIT": "off"}[name]
		}
	}
	tuneGC(set("50"))
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("the user set GOGC: got %d, want it left alone", got)
	}
	tuneGC(set(""))
	if got := debug.SetGCPercent(100); got != 400 {
		t.Errorf("got GOGC %d, want 400", got)
	}
}

func TestLimitMemory(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(was) })
	debug.SetMemoryLimit(math.MaxInt64)
	limitMemory(func() (uint64, error) { return 0, errors.New("no container") })
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("without a container: got %d, want no limit", got)
	}
	limitMemory(func() (uint64, error) { return 4 << 30, nil })
	if got, want := debug.SetMemoryLimit(-1), int64(3865470567); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}
