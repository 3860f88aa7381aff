package main

import (
	"context"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/mcp"
)

// mounts are the MCP servers that the config names. They outlive reloads that
// change nothing for them.
type mounts struct{ open []*mounted }

// A mounted is one server, and what it was started from.
type mounted struct {
	*mcp.Mount
	name   string
	config loader.MCPConfig
	wanted bool // by the set that was loaded last
}

// join adds the tools of all servers to a set that was loaded, and starts those
// servers that do not run yet.
func (m *mounts) join(ctx context.Context, v *serving, set *loader.Set) error {
	for _, old := range m.open {
		old.wanted = false
	}
	for _, name := range slices.Sorted(maps.Keys(set.Config.MCP)) {
		config := *set.Config.MCP[name]
		if (len(config.Command) == 0) == (config.URL == "") {
			return usagef("config: mcp.%s: want one of command and url", name)
		}
		i := slices.IndexFunc(m.open, func(o *mounted) bool { return o.name == name && reflect.DeepEqual(o.config, config) })
		if i < 0 {
			i = len(m.open)
			m.open = append(m.open, &mounted{Mount: mcp.OpenMount(ctx, v.mountOptions(name, &config)), name: name, config: config})
		}
		m.open[i].wanted = true
		if err := set.Host.Add(m.open[i].Plugin()); err != nil {
			return err
		}
	}
	return nil
}

// settle ends the servers that the set in use does not name.
func (m *mounts) settle() {
	m.open = slices.DeleteFunc(m.open, func(o *mounted) bool {
		if !o.wanted {
			o.Close()
		}
		return !o.wanted
	})
}

// close ends all servers.
func (m *mounts) close() {
	for _, o := range m.open {
		o.Close()
	}
}

// mountOptions returns how a server of the config is reached.
func (v *serving) mountOptions(name string, c *loader.MCPConfig) mcp.MountOptions {
	env := map[string]string{}
	for _, variable := range c.Env {
		if value, ok := os.LookupEnv(variable); ok {
			env[variable] = value
		}
	}
	return mcp.MountOptions{
		Name: name, Command: c.Command, Env: env, Dir: v.path("."), URL: c.URL, Approval: starhost.Approval(c.Approval),
		Changed: v.reloadSoon, Warn: v.warning,
	}
}
