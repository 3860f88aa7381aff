package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/serve/programs"
)

// mountTools adds the tools of the config's MCP servers to a set, for a command that runs once. It starts
// only the servers whose names wanted accepts. The caller must call end.
func (env Env) mountTools(
	ctx context.Context, res *Result, set *loader.Set, dryRun *effects.DryRun, wanted func(name string) bool,
) (end func(), err error) {
	var mu sync.Mutex
	ended := false
	m := &programs.Servers{Getenv: env.getenv, PinDir: env.pinDir(), DryRun: dryRun, Warn: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			res.warnings = append(res.warnings, loader.Warning{Msg: text})
		}
	}}
	err = m.AddTools(ctx, set, wanted)
	mu.Lock()
	ended = true // a warning after this is only about the end of the servers
	mu.Unlock()
	return m.Close, err
}

// pinDir returns the folder of the files with the first lists of MCP servers' tools, "" if the
// environment names none.
func (env Env) pinDir() string {
	if sessions := hook.StateDir(env.getenv); sessions != "" {
		return filepath.Join(filepath.Dir(sessions), "mcp")
	}
	return ""
}

// addProcesses adds the hook processes of the config to a set: see [programs.Processes.Add].
func (env Env) addProcesses(set *loader.Set, enforce bool) error {
	return env.processes.Add(set, enforce, env.getenv, func(text string) {
		if !env.quiet {
			fmt.Fprintln(env.stderr, texttable.EscapeLine("warning: "+text))
		}
	})
}
