package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/serve/hook"
	"github.com/starhost/starhost/serve/mcp"
)

// mounts are the MCP servers that the config names. A reload restarts a server only if its
// settings changed.
type mounts struct{ servers []*mountedServer }

// A mountedServer is one server with the settings that it was started with.
type mountedServer struct {
	*mcp.Mount
	name   string
	config loader.MCPConfig
	token  string // its value at the start
	inUse  bool   // by the last loaded set
}

// addTools adds the tools of all servers to a loaded set, and starts new servers.
func (m *mounts) addTools(ctx context.Context, v *server, set *loader.Set) error {
	for _, old := range m.servers {
		old.inUse = false
	}
	for _, name := range slices.Sorted(maps.Keys(set.Config.MCP)) {
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
			o := v.mountOptions(name, &config)
			o.Token = token
			m.servers = append(m.servers, &mountedServer{
				Mount: mcp.OpenMount(ctx, o), name: name, config: config, token: token,
			})
		}
		m.servers[i].inUse = true
		if err := m.servers[i].registerTools(set.Host, v.printWarning); err != nil {
			return err
		}
	}
	return nil
}

// registerTools adds the tools of the server to a host. It leaves out tools whose names are
// taken, so that a server cannot replace a plugin's tool or prevent serving.
func (m *mountedServer) registerTools(h *starhost.Host, warn func(string)) error {
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

// serverToken returns the token for a server, "" for none. It refuses to send a token over
// plain HTTP.
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
func isThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// closeUnused closes the servers that the set in use does not name.
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

// mountOptions returns the options for a server of the config.
func (v *server) mountOptions(name string, c *loader.MCPConfig) mcp.MountOptions {
	env := map[string]string{}
	for _, variable := range c.Env {
		if value, ok := os.LookupEnv(variable); ok {
			env[variable] = value
		}
	}
	return mcp.MountOptions{
		Name: name, Command: c.Command, Env: env, Dir: c.Dir, URL: c.URL, Approval: starhost.Approval(c.Approval),
		Timeout: c.Timeout, PinFile: v.pinFile(name, c),
		Changed: v.requestReload, Warn: v.printWarning,
	}
}

// pinFile returns the path of the file that stores the first tools of a server, "" if the
// environment names no folder for it. Its name has a hash of the server, because two projects may
// give two servers one name.
func (v *server) pinFile(name string, c *loader.MCPConfig) string {
	sessions := hook.StateDir(v.getenv)
	if sessions == "" {
		return ""
	}
	server := fragments.Sum(strings.Join(append([]string{c.URL, c.Dir}, c.Command...), "\x00"))
	return filepath.Join(filepath.Dir(sessions), "mcp", name+"-"+server.Short()+".json")
}
