// Package programs runs the programs that a config names, and adds what they offer to a loaded set:
// the tools of MCP servers, and hook processes, which are plugins. A reload restarts a program only
// if its settings changed.
package programs

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	"github.com/starhost/starhost/internal/loopback"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/serve/mcp"
	"github.com/starhost/starhost/serve/process"
)

// A pool keeps running programs with the settings that they were started with. It is safe for
// concurrent use.
type pool[C any, P interface{ Close() }] struct {
	mu   sync.Mutex
	list []*program[C, P]
}

// A program is one of a pool.
type program[C any, P interface{ Close() }] struct {
	name    string
	token   string // its value at the start, "" for none
	config  C
	running P
	inUse   bool // by the set that was added last
}

// beginSet begins to add a set, which uses no program yet.
func (l *pool[C, P]) beginSet() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.list {
		p.inUse = false
	}
}

// use returns the program with these settings, and starts it if there is none.
func (l *pool[C, P]) use(name, token string, config C, start func() P) P {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.list, func(p *program[C, P]) bool {
		return p.name == name && p.token == token && reflect.DeepEqual(p.config, config)
	})
	if i < 0 {
		i = len(l.list)
		l.list = append(l.list, &program[C, P]{name: name, token: token, config: config, running: start()})
	}
	l.list[i].inUse = true
	return l.list[i].running
}

// CloseUnused ends the programs that the set which was added last does not name.
func (l *pool[C, P]) CloseUnused() { l.closeIf(func(p *program[C, P]) bool { return !p.inUse }) }

// Close ends all programs.
func (l *pool[C, P]) Close() { l.closeIf(func(*program[C, P]) bool { return true }) }

func (l *pool[C, P]) closeIf(ends func(*program[C, P]) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ended sync.WaitGroup
	l.list = slices.DeleteFunc(l.list, func(p *program[C, P]) bool {
		if ends(p) {
			ended.Go(p.running.Close)
			return true
		}
		return false
	})
	ended.Wait()
}

// environment returns the values of the variables that are set.
func environment(getenv func(string) string, names []string) map[string]string {
	env := map[string]string{}
	for _, variable := range names {
		if value := getenv(variable); value != "" {
			env[variable] = value
		}
	}
	return env
}

// Servers are the MCP servers of a config. Close ends them.
type Servers struct {
	Getenv  func(string) string
	PinDir  string          // for the files with the first list of each server's tools, "" to store none
	Changed func()          // see [mcp.MountOptions.Changed]
	Warn    func(string)    // any goroutine may call it
	DryRun  *effects.DryRun // lists the calls in place of making them; nil makes them

	pool[loader.MCPConfig, *mcp.Mount]
}

// AddTools adds the tools of the servers that wanted accepts to a loaded set. It starts servers that
// do not run yet.
func (m *Servers) AddTools(ctx context.Context, set *loader.Set, wanted func(name string) bool) error {
	m.beginSet()
	for _, name := range slices.Sorted(maps.Keys(set.Config.MCP)) {
		if !wanted(name) {
			continue
		}
		config := *set.Config.MCP[name]
		if (len(config.Command) == 0) == (config.URL == "") {
			return report.Usagef("config: mcp.%s: want one of command and url", name)
		}
		token, err := serverToken(set, &config)
		if err != nil {
			return report.Usagef("config: mcp.%s.token: %v", name, err)
		}
		server := m.use(name, token, config, func() *mcp.Mount {
			o := m.options(name, &config)
			o.Token = token
			return mcp.OpenMount(ctx, o)
		})
		if err := m.register(set.Host, name, server.Plugin()); err != nil {
			return err
		}
	}
	return nil
}

// Up reports by name whether each server answers.
func (m *Servers) Up() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	up := map[string]bool{}
	for _, p := range m.list {
		up[p.name] = p.running.IsUp()
	}
	return up
}

// register adds the tools of a server to a host. A dry run lists the calls of the tools.
func (m *Servers) register(h *host.Host, name string, p starhost.Plugin) error {
	for i := range p.Tools {
		if m.DryRun != nil {
			p.Tools[i].Call = func(_ context.Context, call starhost.ToolCall) (starhost.Result, error) {
				m.DryRun.Add(effects.Effect{Plugin: "mcp-" + name, Kind: "call", What: call.Name})
				return starhost.Result{ForLLM: "dry run: starhost did not call MCP server " + name}, nil
			}
		}
	}
	return AddTools(h, p, "MCP server "+name, m.Warn)
}

// AddTools adds the tools of another program to a host. If the name of a tool is taken, it leaves the
// tool out, so that the program can neither replace a plugin's tool nor keep starhost from serving.
func AddTools(h *host.Host, p starhost.Plugin, program string, warn func(string)) error {
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

// serverToken returns the token for a server, or "" for none. It refuses to send a token over plain HTTP.
func serverToken(set *loader.Set, c *loader.MCPConfig) (string, error) {
	if c.Token == "" {
		return "", nil
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || c.URL == "":
		return "", errors.New("want it for a url alone; a command gets secrets by env")
	case u.Scheme != "https" && !loopback.Is(u.Hostname()):
		return "", fmt.Errorf("got %s, want https: everyone on the way could read it", c.URL)
	}
	return set.Secret(c.Token)
}

// options returns the options for a server of the config.
func (m *Servers) options(name string, c *loader.MCPConfig) mcp.MountOptions {
	return mcp.MountOptions{
		Name: name, Command: c.Command, Env: environment(m.Getenv, c.Env), Dir: c.Dir, URL: c.URL, Approval: starhost.Approval(c.Approval),
		Timeout: c.Timeout, PinFile: m.pinFile(name, c), Changed: m.Changed, Warn: m.Warn,
	}
}

// pinFile returns the path of the file that stores the first list of a server's tools, or "" if there is no folder
// for it. The file's name has a hash of the server, because two projects may give
// two servers one name.
func (m *Servers) pinFile(name string, c *loader.MCPConfig) string {
	if m.PinDir == "" {
		return ""
	}
	server := fragments.Sum(strings.Join(append([]string{c.URL, c.Dir}, c.Command...), "\x00"))
	return filepath.Join(m.PinDir, name+"-"+server.Short()+".json")
}

// Processes are the hook processes of a config. Several sets of plugins share a process if its
// settings are the same. No program runs before its first event. Close ends them.
type Processes struct {
	pool[loader.ProcessConfig, *process.Process]
}

// Add adds the hook processes of the config to a set, as plugins. If enforce is true, the decisions of
// those count, too, that the config only lets warn. warn gets lines about answers that starhost does
// not use.
func (all *Processes) Add(set *loader.Set, enforce bool, getenv func(string) string, warn func(string)) error {
	all.beginSet()
	for _, name := range slices.Sorted(maps.Keys(set.Config.Processes)) {
		c := *set.Config.Processes[name]
		if len(c.Command) == 0 {
			return report.Usagef("config: process.%s: got no command, want the program", name)
		}
		p := all.use(name, "", c, func() *process.Process {
			return process.New(process.Options{
				Name: name, Command: c.Command, Dir: c.Dir, Env: environment(getenv, c.Env), Timeout: c.Timeout,
				Intercept: c.Intercept, Observe: c.Observe,
				Pos: starhost.Pos(set.Config.Place("process", name, "command")),
				Log: func(text string) { warn("process-" + name + ": " + set.Redact(text)) },
			})
		})
		if err := register(set, name, p, enforce); err != nil {
			return err
		}
	}
	return nil
}

// register adds the plugin that stands for the process to a set.
func register(set *loader.Set, config string, p *process.Process, enforce bool) error {
	name := "process-" + config
	plugin := p.Plugin(set.World(name))
	plugin.Warn = set.Config.Processes[config].Mode == "warn" && !enforce
	grants, err := effects.ParseGrants(set.Config.Grants[name])
	if err != nil {
		return report.Usagef("config: grants.%s: %v", name, err)
	}
	for _, g := range grants {
		if g.Kind != "respond" {
			return report.Usagef("config: grants.%s: got %s, want respond:TOOL: a hook process has its own rights", name, g.Kind)
		}
		plugin.RespondsTo = append(plugin.RespondsTo, g.Pattern)
	}
	plugin.EventSteps = set.Config.Limits.EventSteps()
	if err := set.Host.Add(plugin); err != nil {
		return report.Usagef("config: process.%s: %v", config, err)
	}
	return nil
}
