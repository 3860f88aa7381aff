package main

import (
	"path"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/effects"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/loader"
	"github.com/starhost/starhost/starlark"
)

// deployed tells whether the config says which plugins run and what they may do.
// Without that, there is nobody yet who could have forgotten it.
func deployed(c *loader.Config) bool {
	p := &c.Plugins
	return len(p.Paths)+len(p.Enabled)+len(p.Required)+len(c.Grants) > 0
}

// registrations looks at what the plugins registered together.
func (c *checking) registrations() {
	var tools []string
	for _, t := range c.set.Host.Tools() {
		tools = append(tools, t.Name)
	}
	guards := map[string]bool{}
	for _, h := range c.set.Host.Hooks() {
		c.match(h, tools)
		spec, err := starhost.LookupEvent(h.Event)
		if err != nil || !spec.Guard || guards[h.Plugin] || !deployed(c.settings) || slices.Contains(c.settings.Plugins.Required, h.Plugin) {
			continue
		}
		guards[h.Plugin] = true
		c.warning(h.Plugin, starlark.Pos(h.Pos), "E0802",
			"%s: %s is a guard and not required: if it does not load, calls pass without it (add it to [plugins] required)", h.Event, h.Plugin)
	}
}

// match warns of a hook that fits no tool. Tools of servers are not known here, and
// without a config others may be anywhere: then only a name that is nearly right
// tells that something is wrong.
func (c *checking) match(h starhost.HookInfo, tools []string) {
	if len(h.Match) == 0 || len(c.settings.MCP) > 0 {
		return
	}
	hint := ""
	for _, glob := range h.Match {
		if slices.ContainsFunc(tools, func(tool string) bool { ok, _ := path.Match(glob, tool); return ok }) {
			return
		}
		if hint == "" {
			hint = near.DidYouMean(glob, tools)
		}
	}
	if hint != "" || deployed(c.settings) {
		c.warning(h.Plugin, starlark.Pos(h.Pos), "E0801", "%s: match %s: no tool has such a name%s", h.Event, strings.Join(h.Match, ", "), hint)
	}
}

// permissions compares what the plugins declare with what they are granted.
func (c *checking) permissions() {
	if !deployed(c.settings) && len(c.flags.grant) == 0 {
		return
	}
	for i, s := range c.sources {
		p := &c.set.Plugins[i]
		if p.Status == loader.StatusDisabled {
			continue
		}
		declared, granted := parsed(p.Declared), parsed(p.Granted)
		for _, d := range without(declared, granted) {
			c.warning(p.Name, c.find(s, d.String()), "E0803", "permission %q is declared and not granted (add to [grants] of the config: %s = [%q])", d, p.Name, d)
		}
		for _, g := range without(granted, declared) {
			at := c.settings.Place("grants", p.Name)
			c.warning(p.Name, starlark.Pos(at), "E0804", "permission %q is granted to %s, which does not declare it", g, p.Name)
		}
	}
}

// parsed returns the permissions that are valid; loading tells about others.
func parsed(texts []string) []effects.Permission {
	var list []effects.Permission
	for _, text := range texts {
		if p, err := effects.ParsePermission(text); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// without returns the permissions that have nothing in common with the others.
func without(list, others []effects.Permission) []effects.Permission {
	return slices.DeleteFunc(slices.Clone(list), func(p effects.Permission) bool {
		return slices.ContainsFunc(others, p.Overlaps)
	})
}

// find returns where a plugin's main file spells a text, else the file.
func (c *checking) find(s *loader.Source, text string) starlark.Pos {
	before, _, ok := strings.Cut(c.texts[s.Display], `"`+text+`"`)
	if !ok {
		return starlark.Pos{File: s.Display}
	}
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return starlark.Pos{File: s.Display, Line: 1 + strings.Count(before, "\n"), Col: 1 + len([]rune(line))}
}
