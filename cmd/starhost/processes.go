package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/process"
)

// processes are the hook processes of a run. Several sets of plugins share those whose settings are
// the same. No program runs before its first event.
type processes struct {
	mu   sync.Mutex
	list []*hookProcess
}

// A hookProcess is a program with its settings.
type hookProcess struct {
	*process.Process
	name   string
	config loader.ProcessConfig
	inUse  bool // by the last loaded set
}

// addProcesses adds the hook processes of the config to a set as plugins. With enforce, those that
// the config only lets warn decide, too.
func (env Env) addProcesses(set *loader.Set, enforce bool) error {
	all := env.processes
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, p := range all.list {
		p.inUse = false
	}
	for _, name := range slices.Sorted(maps.Keys(set.Config.Processes)) {
		config := *set.Config.Processes[name]
		if len(config.Command) == 0 {
			return usagef("config: process.%s: got no command, want the program", name)
		}
		i := slices.IndexFunc(all.list, func(p *hookProcess) bool {
			return p.name == name && reflect.DeepEqual(p.config, config)
		})
		if i < 0 {
			i = len(all.list)
			started := process.New(env.processOptions(set, name))
			all.list = append(all.list, &hookProcess{Process: started, name: name, config: config})
		}
		all.list[i].inUse = true
		if err := all.list[i].register(set, enforce); err != nil {
			return err
		}
	}
	return nil
}

// register adds the plugin of the process to a set.
func (p *hookProcess) register(set *loader.Set, enforce bool) error {
	name := "process-" + p.name
	plugin := p.Plugin(set.World(name))
	plugin.Warn = p.config.Mode == "warn" && !enforce
	grants, err := effects.ParseGrants(set.Config.Grants[name])
	if err != nil {
		return usagef("config: grants.%s: %v", name, err)
	}
	for _, g := range grants {
		if g.Kind != "respond" {
			return usagef("config: grants.%s: got %s, want respond:TOOL: a hook process has its own rights", name, g.Kind)
		}
		plugin.RespondsTo = append(plugin.RespondsTo, g.Pattern)
	}
	plugin.EventSteps = set.Config.Limits.EventSteps()
	if err := set.Host.Add(plugin); err != nil {
		return usagef("config: process.%s: %v", p.name, err)
	}
	return nil
}

// processOptions returns the options of a hook process of the config.
func (env Env) processOptions(set *loader.Set, name string) process.Options {
	c := set.Config.Processes[name]
	o := process.Options{
		Name: name, Command: c.Command, Dir: c.Dir, Env: map[string]string{}, Timeout: c.Timeout,
		Intercept: c.Intercept, Observe: c.Observe,
		Pos: starhost.Pos(set.Config.Place("process", name, "command")),
	}
	for _, variable := range c.Env {
		if value := env.getenv(variable); value != "" {
			o.Env[variable] = value
		}
	}
	o.Log = func(text string) {
		if !env.quiet {
			fmt.Fprintln(env.stderr, texttable.EscapeLine("warning: process-"+name+": "+set.Redact(text)))
		}
	}
	return o
}

// closeUnused ends the programs that the last loaded set does not name.
func (all *processes) closeUnused() { all.closeIf(func(p *hookProcess) bool { return !p.inUse }) }

// close ends all programs.
func (all *processes) close() { all.closeIf(func(*hookProcess) bool { return true }) }

func (all *processes) closeIf(ends func(*hookProcess) bool) {
	if all == nil {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	var ended sync.WaitGroup
	all.list = slices.DeleteFunc(all.list, func(p *hookProcess) bool {
		if !ends(p) {
			return false
		}
		ended.Go(p.Close)
		return true
	})
	ended.Wait()
}
