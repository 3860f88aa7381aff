package hook

import (
	"strings"

	"github.com/starhost/starhost/host"
)

// A calledTool says how plugins see a tool that an agent names.
type calledTool struct {
	name    string // the name that guards see
	alias   string // the agent's own name, if the tool may be another server's, because guards match that name, too
	foreign bool   // the agent or another MCP server has the tool
}

// findTool finds the tool that an agent calls. A name in the form of starhost's own server proves
// nothing, because a project may give any server that name. It is a plugin's tool only if the host
// has exactly this tool and trusts the plugin: the tools of a restricted plugin are foreign. Guards
// match both readings of a foreign tool, because a tool of a mounted server is only in the process
// that serves it.
//
// Names of the form mcp_SERVER_TOOL do not say where the server's name ends: mcp_starhost_x_page
// may be the tool x_page of starhost or the tool page of the server starhost_x. Agents write them
// as identifiers.
func (a *Agent) findTool(tool string, h *host.Host) calledTool {
	rest, served := strings.CutPrefix(tool, a.ToolPrefix)
	if a.ToolPrefix == "" || !served {
		return calledTool{name: tool, foreign: true}
	}
	name := rest
	found, restricted := h.HasTool(name)
	const unambiguous = 2 // separators of at least this many bytes are unambiguous
	if !found && len(a.MCPSeparator) < unambiguous {
		for _, t := range h.Tools() {
			if strings.ReplaceAll(t.Name, "-", "_") == rest {
				name = t.Name
				found, restricted = h.HasTool(name)
			}
		}
	}
	if found && !restricted {
		return calledTool{name: name}
	}
	return calledTool{name: name, alias: tool, foreign: true}
}

// heard reports whether a hook on the event would run for the tool. needsSession says whether it needs the
// session.
func (e *Event) heard(h *host.Host, event string) (hears, needsSession bool) {
	hears, needsSession = h.ListensTo(event, e.called.name)
	if e.called.alias != "" {
		also, needs := h.ListensTo(event, e.called.alias)
		hears, needsSession = hears || also, needsSession || needs
	}
	return hears, needsSession
}
