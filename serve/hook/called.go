package hook

import (
	"strings"

	"github.com/starhost/starhost"
)

// A calledTool is the plugins' view of a tool that an agent names.
type calledTool struct {
	name    string // the name that guards see
	alias   string // the agent's name if it may be another server's tool, which guards match too
	foreign bool   // the agent or another MCP server has the tool
}

// findTool finds the tool that an agent calls. Names of the form mcp_SERVER_TOOL do not say where
// the server's name ends: mcp_starhost_x_page may be the tool x_page of starhost or the tool page
// of the server starhost_x. Such a name is a plugin's tool only if the host has exactly this tool.
// Otherwise guards may match both readings, because a tool of a mounted server is only in the
// process that serves it.
func (a *Agent) findTool(tool string, h *starhost.Host) calledTool {
	rest, served := strings.CutPrefix(tool, a.ToolPrefix)
	if a.ToolPrefix == "" || !served {
		return calledTool{name: tool, foreign: true}
	}
	const unambiguous = 2 // bytes of a separator
	if len(a.MCPSeparator) >= unambiguous {
		return calledTool{name: rest}
	}
	respelled := ""
	for _, t := range h.Tools() {
		if t.Name == rest {
			return calledTool{name: rest}
		}
		if strings.ReplaceAll(t.Name, "-", "_") == rest {
			respelled = t.Name // agents write names of tools as identifiers
		}
	}
	if respelled != "" {
		return calledTool{name: respelled}
	}
	return calledTool{name: rest, alias: tool, foreign: true}
}

// heard reports whether a hook of an event would run for the event's tool, and whether it needs the
// session.
func (e *Event) heard(h *starhost.Host, event string) (hears, needsSession bool) {
	hears, needsSession = h.Hears(event, e.called.name)
	if e.called.alias != "" {
		also, needs := h.Hears(event, e.called.alias)
		hears, needsSession = hears || also, needsSession || needs
	}
	return hears, needsSession
}
