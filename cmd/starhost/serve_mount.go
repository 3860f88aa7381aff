package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
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
	token  string // as it was then
	wanted bool   // by the set that was loaded last
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
		token, err := tokenOf(set, &config)
		if err != nil {
			return usagef("config: mcp.%s.token: %v", name, err)
		}
		i := slices.IndexFunc(m.open, func(o *mounted) bool {
			return o.name == name && o.token == token && reflect.DeepEqual(o.config, config)
		})
		if i < 0 {
			i = len(m.open)
			o := v.mountOptions(name, &config)
			o.Token = token
			m.open = append(m.open, &mounted{Mount: mcp.OpenMount(ctx, o), name: name, config: config, token: token})
		}
		m.open[i].wanted = true
		if err := m.open[i].addTo(set.Host, v.warning); err != nil {
			return err
		}
	}
	return nil
}

// addTo adds the tools of the server to a host, but those whose names others have: no
// server takes a plugin's place, or keeps the plugins from being served.
func (m *mounted) addTo(h *starhost.Host, warn func(string)) error {
	p := m.Plugin()
	for {
		err := h.Add(p)
		var taken *starhost.ConflictError
		if !errors.As(err, &taken) {
			return err
		}
		n := len(p.Tools)
		p.Tools = slices.DeleteFunc(p.Tools, func(t starhost.Tool) bool { return taken.What == fmt.Sprintf("tool %q", t.Name) })
		if len(p.Tools) == n {
			return err
		}
		warn(fmt.Sprintf("MCP server %s: %s is left out: it is already registered at %s", m.name, taken.What, taken.Old))
	}
}

// tokenOf returns the token that a server gets, "" for none. It goes nowhere in the
// clear.
func tokenOf(set *loader.Set, c *loader.MCPConfig) (string, error) {
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

// isThisMachine reports whether a name of a URL is that of this machine.
func isThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
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
