package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/texttable"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/serve/mcp"
	"github.com/starhost/starhost/serve/process"
)

// mounts are the MCP servers that the config names. A reload restarts a server only if the server's settings
// have changed.
type mounts struct {
	getenv  func(string) string
	changed func()          // called when a server has other tools: see [mcp.MountOptions].Changed
	warn    func(string)    // called with warnings, by any goroutine
	dryRun  *effects.DryRun // gets a list of the calls, which are not made; nil means that calls are made
	servers []*mountedServer
}

// mountTools adds the tools of the config's MCP servers to a set, for a command that runs once. It starts
// only the servers whose names wanted accepts. The caller must call end.
func (env Env) mountTools(
	ctx context.Context, res *Result, set *loader.Set, dryRun *effects.DryRun, wanted func(name string) bool,
) (end func(), err error) {
	var mu sync.Mutex
	ended := false
	m := &mounts{getenv: env.getenv, dryRun: dryRun, warn: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			res.warnings = append(res.warnings, loader.Warning{Msg: text})
		}
	}}
	err = m.addTools(ctx, set, wanted)
	mu.Lock()
	ended = true // a warning after this is only about the end of the servers
	mu.Unlock()
	return m.closeAll, err
}

// A mountedServer is one server with the settings that it was started with.
type mountedServer struct {
	*mcp.Mount
	name   string
	config loader.MCPConfig
	token  string // the token when the server was started
	inUse  bool   // the set that was loaded last names the server
}

// addTools adds the tools of the servers that wanted accepts to a loaded set. It starts servers that do not
// run yet.
func (m *mounts) addTools(ctx context.Context, set *loader.Set, wanted func(name string) bool) error {
	for _, old := range m.servers {
		old.inUse = false
	}
	for _, name := range slices.Sorted(maps.Keys(set.Config.MCP)) {
		if !wanted(name) {
			continue
		}
		config := *set.Config.MCP[name]
		if (len(config.Command) == 0) == (config.URL == "") {
			return usagef("config: mcp.%s: want one of command and url", name)
		}
		token, err := serverToken(set, &config)
		if err != nil {
			return usagef("config: mcp.%s.token: %v", name, err)
		}
		i := slices.IndexFunc(m.servers, func(o *mountedServer) bool {
			return o.name == name && o.token == token && reflect.DeepEqual(o.config, config)
		})
		if i < 0 {
			i = len(m.servers)
			o := m.options(name, &config)
			o.Token = token
			m.servers = append(m.servers, &mountedServer{
				Mount: mcp.OpenMount(ctx, o), name: name, config: config, token: token,
			})
		}
		m.servers[i].inUse = true
		if err := m.servers[i].registerTools(set.Host, m); err != nil {
			return err
		}
	}
	return nil
}

// registerTools adds the tools of the server to a host.
func (m *mountedServer) registerTools(h *host.Host, all *mounts) error {
	p := m.Plugin()
	for i := range p.Tools {
		if all.dryRun != nil {
			p.Tools[i].Call = func(
				_ context.Context, call starhost.ToolCall,
			) (starhost.Result, error) {
				return m.listCall(all.dryRun, call), nil
			}
		}
	}
	return registerTools(h, p, "MCP server "+m.name, all.warn)
}

// registerTools adds the tools of another program to a host. If the name of a tool is taken, it leaves the
// tool out, so that the program can neither replace a plugin's tool nor keep starhost from serving.
func registerTools(h *host.Host, p starhost.Plugin, program string, warn func(string)) error {
	for {
		err := h.Add(p)
		var taken *host.ConflictError
		if !errors.As(err, &taken) {
			return err
		}
		n := len(p.Tools)
		p.Tools = slices.DeleteFunc(p.Tools, func(t starhost.Tool) bool { return taken.What == fmt.Sprintf("tool %q", t.Name) })
		if len(p.Tools) == n {
			return err
		}
		warn(fmt.Sprintf("%s: %s is left out: it is already registered at %s", program, taken.What, taken.Old))
	}
}

// listCall adds a call of a tool to the list of a dry run, and does not make the call.
func (m *mountedServer) listCall(dryRun *effects.DryRun, call starhost.ToolCall) starhost.Result {
	dryRun.Add(effects.Effect{Plugin: "mcp-" + m.name, Kind: "call", What: call.Name})
	return starhost.Result{ForLLM: "dry run: starhost did not call MCP server " + m.name}
}

// serverToken returns the token for a server, or "" for none. It refuses to send a token over plain HTTP.
func serverToken(set *loader.Set, c *loader.MCPConfig) (string, error) {
	if c.Token == "" {
		return "", nil
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || c.URL == "":
		return "", errors.New("want it for a url alone; a command gets secrets by env")
	case u.Scheme != "https" && !isThisMachine(u.Hostname()):
		return "", fmt.Errorf("got %s, want https: everyone on the way could read it", c.URL)
	}
	return set.Secret(c.Token)
}

// isThisMachine reports whether the host of a URL is this machine.
func isThisMachine(h string) bool {
	ip := net.ParseIP(h)
	return h == "localhost" || ip != nil && ip.IsLoopback()
}

// closeUnused closes the servers that the current set does not name.
func (m *mounts) closeUnused() {
	m.servers = slices.DeleteFunc(m.servers, func(o *mountedServer) bool {
		if !o.inUse {
			o.Close()
		}
		return !o.inUse
	})
}

// closeAll closes all servers.
func (m *mounts) closeAll() {
	for _, o := range m.servers {
		o.Close()
	}
}

// options returns the options for a server of the config.
func (m *mounts) options(name string, c *loader.MCPConfig) mcp.MountOptions {
	env := map[string]string{}
	for _, variable := range c.Env {
		if value := m.getenv(variable); value != "" {
			env[variable] = value
		}
	}
	return mcp.MountOptions{
		Name: name, Command: c.Command, Env: env, Dir: c.Dir, URL: c.URL, Approval: starhost.Approval(c.Approval),
		Timeout: c.Timeout, PinFile: m.pinFile(name, c), Changed: m.changed, Warn: m.warn,
	}
}

// pinFile returns the path of the file that stores the first list of a server's tools, or "" if the
// environment names no folder for it. The file's name has a hash of the server, because two projects may give
// two servers one name.
func (m *mounts) pinFile(name string, c *loader.MCPConfig) string {
	sessions := hook.StateDir(m.getenv)
	if sessions == "" {
		return ""
	}
	server := fragments.Sum(strings.Join(append([]string{c.URL, c.Dir}, c.Command...), "\x00"))
	return filepath.Join(filepath.Dir(sessions), "mcp", name+"-"+server.Short()+".json")
}

// processes are the hook processes of a run. Several sets of plugins share a process if its settings are the
// same. A process starts its program when its first event comes.
type processes struct {
	mu   sync.Mutex
	list []*hookProcess
}

// A hookProcess is a process together with its settings.
type hookProcess struct {
	*process.Process
	name   string
	config loader.ProcessConfig
	inUse  bool // the set that was loaded last names the process
}

// addProcesses adds the hook processes of the config to a set, as plugins. If enforce is true, the decisions
// of those count, too, that the config only lets warn.
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

// register adds the plugin that stands for the process to a set.
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

// closeUnused ends the programs that the set which was loaded last does not name.
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
