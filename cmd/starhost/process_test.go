package main

import (
	"context"
	"errors"
	"math"
	"runtime/debug"
	"strings"
	"testing"
)

// environment returns a getenv for which one variable is set.
func environment(name, value string) func(string) string {
	return func(asked string) string { return map[string]string{name: value}[asked] }
}

func TestTuneGC(t *testing.T) {
	was := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(was) })
	tuneGC(environment("GOGC", "50"))
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("the user set GOGC: got %d, want it left alone", got)
	}
	tuneGC(environment("GOGC", ""))
	if got := debug.SetGCPercent(100); got != 350 {
		t.Errorf("got GOGC %d, want 350", got)
	}
}

func TestLimitMemory(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(was) })
	none := func() (uint64, error) { return 0, errors.New("no container") }
	four := func() (uint64, error) { return 4 << 30, nil }
	tests := []struct {
		name      string
		set       string // the value of GOMEMLIMIT
		container func() (uint64, error)
		want      int64
	}{
		{"no container", "", none, math.MaxInt64},
		{"a limit of the user", "off", four, math.MaxInt64},
		{"a container", "", four, 3865470567},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			debug.SetMemoryLimit(math.MaxInt64)
			limitMemory(environment("GOMEMLIMIT", tt.set), tt.container)
			if got := debug.SetMemoryLimit(-1); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// TestSaveMemory checks that hook takes less memory than other commands, unless the user sets a limit.
func TestSaveMemory(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(was) })
	for set, want := range map[string]int64{"": hookMemory, "off": math.MaxInt64} {
		debug.SetMemoryLimit(math.MaxInt64)
		saveMemory(environment("GOMEMLIMIT", set))
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("GOMEMLIMIT=%s: got %d, want %d", set, got, want)
		}
	}
}

// TestPrepareRun checks that exactly the commands that run plugins call prepareRun or prepareHook.
func TestPrepareRun(t *testing.T) {
	for args, want := range map[string]bool{
		"version": false, "docs": false, "config": false, "eval a.star": true, "list": true, "test a.star": true, "check a.star": true,
		"hook picoclaw": true, "command x": true, "bench a.star --time 1us": true, "repl a.star": true, "serve --mcp stdio": true,
	} {
		dir := t.TempDir()
		writeFiles(t, dir, map[string]string{"a.star": "x = 1\n", "starhost.toml": ""})
		prepared := false
		prepare := func() { prepared = true }
		ctx := context.WithValue(t.Context(), processKey{}, &processSetup{
			catchSignals: func() {}, prepareRun: prepare, prepareHook: prepare,
		})
		var stderr strings.Builder
		run(ctx, append([]string{"-C", dir}, strings.Fields(args)...), strings.NewReader(""), &stderr, &stderr)
		if prepared != want {
			t.Errorf("%s: prepared: got %v, want %v\n%s", args, prepared, want, stderr.String())
		}
	}
}
