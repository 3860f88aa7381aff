package check

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/agents"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/report"
	"github.com/starhost/starhost/starlark"
)

// isDeployed reports whether the config says which plugins run and what they may do. Only then
// is a missing entry a mistake.
func isDeployed(c *loader.Config) bool {
	p := &c.Plugins
	return len(p.Paths)+len(p.Enabled)+len(p.Required)+len(c.Grants) > 0
}

// checkRegistrations warns of hooks that match no tool, and of guards that the config does not
// require.
func (c *checker) checkRegistrations() {
	tools := jsontext.List(c.Set.Host.Tools(), func(t *starhost.Tool) string { return t.Name })
	guards := map[string]bool{}
	for _, h := range c.Set.Host.Hooks() {
		c.checkMatch(h, tools)
		spec, err := starhost.LookupEvent(h.Event)
		required := slices.Contains(c.config.Plugins.Required, h.Plugin)
		if err != nil || !spec.Guard || guards[h.Plugin] || !isDeployed(c.config) || required {
			continue
		}
		guards[h.Plugin] = true
		c.add(Warning, h.Plugin, starlark.Pos(h.Pos), "E0802",
			"%s: %s is a guard and not required: if its file is gone, calls pass without it (add it to [plugins] required)", h.Event, h.Plugin)
	}
}

// checkWords notices hooks that cannot replace the user's words or results in some agents.
func (c *checker) checkWords() error {
	hooks := c.Set.Host.Hooks()
	changes := func(h host.HookInfo) bool { return h.Event == "pre_send" || h.Event == "post_tool_call" }
	if c.options.Words == nil || !slices.ContainsFunc(hooks, changes) {
		return nil
	}
	notes, err := c.options.Words(c.Set)
	for _, byHook := range notes {
		for i, text := range byHook {
			c.add(Notice, hooks[i].Plugin, starlark.Pos(hooks[i].Pos), "E0813", "%s", text)
		}
	}
	return err
}

// checkMatch warns of a hook that matches no tool: neither a plugin's nor an agent's. It does not
// warn if the config names MCP servers, because their tools are not loaded here. Without a config,
// tools may come from other plugins, so only a name that is nearly right is a finding.
func (c *checker) checkMatch(h host.HookInfo, tools []string) {
	if len(h.Match) == 0 || len(c.config.MCP) > 0 {
		return
	}
	matches := func(glob string) bool {
		return slices.ContainsFunc(agents.All, func(a *agents.Agent) bool { return a.Matches(glob) }) ||
			slices.ContainsFunc(tools, func(tool string) bool { ok, _ := path.Match(glob, tool); return ok })
	}
	var own, other string // hints at a tool of a plugin, and at another one
	for _, glob := range h.Match {
		if matches(glob) {
			c.checkCase(h, glob, tools)
			return
		}
		parts := strings.Split(glob, "|") // as the matchers of agents have it
		switch {
		case len(parts) > 1 && slices.ContainsFunc(parts, matches):
			own = cmp.Or(own, near.Hint("match = "+quoteList(parts)))
		default:
			own = cmp.Or(own, near.DidYouMean(glob, tools))
			other = cmp.Or(other, near.Hint(near.Slip(glob, agentTools())))
		}
	}
	hint := cmp.Or(own, other)
	if hint != "" || isDeployed(c.config) {
		c.add(Warning, h.Plugin, starlark.Pos(h.Pos), "E0801", "%s: match %s: no tool has such a name%s", h.Event, strings.Join(h.Match, ", "), hint)
	}
}

// checkCase notices a match that fits the tools of some agents, and those of others only in another
// case of letters: a guard for bash does not hear Bash.
func (c *checker) checkCase(h host.HookInfo, glob string, tools []string) {
	if slices.Contains(tools, glob) {
		return
	}
	var missed []string
	for _, name := range agentTools() {
		same := func(glob string) bool { return glob == name }
		if strings.EqualFold(name, glob) && name != glob && !slices.ContainsFunc(h.Match, same) {
			missed = append(missed, name)
		}
	}
	if len(missed) > 0 {
		c.add(Notice, h.Plugin, starlark.Pos(h.Pos), "E0801", "%s: match %s does not hear %s, as other agents call it: write match = %s, or kind",
			h.Event, glob, strings.Join(missed, " and "), quoteList(append([]string{glob}, missed...)))
	}
}

// quoteList returns a list of texts as a plugin writes it.
func quoteList(texts []string) string {
	return "[" + strings.Join(jsontext.List(texts, func(text *string) string { return `"` + *text + `"` }), ", ") + "]"
}

// agentTools returns the names of the tools of all agents, sorted.
var agentTools = sync.OnceValue(func() (names []string) {
	for _, a := range agents.All {
		for _, row := range a.Tools {
			names = append(names, strings.Fields(row.Names)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
})

// checkPermissions warns of permissions that only the plugin or only the config names.
func (c *checker) checkPermissions() {
	if !isDeployed(c.config) && len(c.options.Load.Grants) == 0 {
		return
	}
	for i, s := range c.sources {
		p := &c.Set.Plugins[i]
		if p.Status == loader.StatusDisabled || p.Err != nil && p.Declared == nil { // it failed before it declared any
			continue
		}
		declared, granted := parsePermissions(p.Declared), parsePermissions(p.Granted)
		promised := append(parsePermissions(p.Waiting), granted...) // no clone of a project is trusted at first
		for _, d := range withoutOverlap(declared, promised) {
			c.add(Warning, p.Name, c.findText(s, d.String()), "E0803", "permission %q is declared and not granted (add to [grants] of the config: %s = [%q])", d, p.Name, d)
		}
		for _, g := range withoutOverlap(granted, declared) {
			at := c.config.Place("grants", p.Name)
			c.add(Warning, p.Name, starlark.Pos(at), "E0804", "permission %q is granted to %s, which does not declare it", g, p.Name)
		}
	}
}

// checkStore adds an error for each plugin that may use ctx.store if the database does not open. A
// database that does not exist yet is none.
func (c *checker) checkStore(ctx context.Context) {
	if c.options.Store == nil {
		return
	}
	check := sync.OnceValue(func() error { return c.options.Store.Check(ctx) })
	for i, s := range c.sources {
		p := &c.Set.Plugins[i]
		if p.Err != nil || !slices.Contains(p.Declared, "store") || !slices.Contains(p.Granted, "store") {
			continue
		}
		if err := check(); err != nil {
			c.addDatabase(err, p.Name, c.findText(s, "store"))
		}
	}
}

// checkLLM adds an error if the config names a file of llm that starhost cannot use.
func (c *checker) checkLLM(ctx context.Context) {
	if c.options.LLM == nil || c.editedPlugin != nil {
		return
	}
	if _, err := c.options.LLM.Aliases(ctx); err != nil {
		key := "url"
		if c.config.Store.Fragments != "" {
			key = "fragments"
		}
		c.addDatabase(err, "", starlark.Pos(c.config.Place("store", key)))
	}
}

func (c *checker) addDatabase(err error, plugin string, pos starlark.Pos) {
	c.addError(report.Problem{Exit: report.ExitFile, Code: "E0518", Plugin: plugin, Pos: starhost.Pos(pos), Message: err.Error()})
}

// parsePermissions returns the valid permissions. Loading reports the others.
func parsePermissions(texts []string) []effects.Permission {
	var list []effects.Permission
	for _, text := range texts {
		if p, err := effects.ParsePermission(text); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// withoutOverlap returns the permissions in list that overlap with none of the others.
func withoutOverlap(list, others []effects.Permission) []effects.Permission {
	return slices.DeleteFunc(slices.Clone(list), func(p effects.Permission) bool {
		return slices.ContainsFunc(others, p.Overlaps)
	})
}

// findText returns the place of a quoted text in a plugin's main file, else the file.
func (c *checker) findText(s *loader.Source, text string) starlark.Pos {
	before, _, ok := strings.Cut(c.texts[s.Display], `"`+text+`"`)
	if !ok {
		return starlark.Pos{File: s.Display}
	}
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return starlark.Pos{File: s.Display, Line: 1 + strings.Count(before, "\n"), Col: 1 + len([]rune(line))}
}
