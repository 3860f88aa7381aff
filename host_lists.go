package starhost

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost/internal/near"
)

// Events returns the table of all events: the host's own, then those that the
// program declares.
func (h *Host) Events() []EventSpec { return slices.Concat(events, h.opts.AppEvents) }

// A HookInfo describes a registered hook.
type HookInfo struct {
	Event, Plugin string
	Priority      int
	Match         []string
	Pos           Pos
}

// Hooks returns all hooks in the order in which they run: events in the order
// of [Host.Events], then priority, plugin name, order of registration.
func (h *Host) Hooks() []HookInfo {
	r := h.registry.Load()
	var infos []HookInfo
	for i := range r.hooksByEvent {
		for _, k := range r.hooksByEvent[i].hooks {
			infos = append(infos, HookInfo{Event: k.Event, Plugin: k.plugin, Priority: k.Priority, Match: k.Match,
				Pos: k.Pos})
		}
	}
	return infos
}

// Hears reports whether any hook is for an event about a tool or a command, "" for
// other events, and whether one of these is not pure: then the event needs its
// session.
func (h *Host) Hears(event, subject string) (hears, needsSession bool) {
	c, err := h.registry.Load().hooksOf(event)
	if err != nil {
		return false, false
	}
	for _, k := range c.hooksMatching(subject) {
		hears, needsSession = true, needsSession || !k.Pure
	}
	return hears, needsSession
}

// Tools returns all tools that the host's filter admits, by name.
func (h *Host) Tools() []Tool {
	return slices.Clone(h.registry.Load().toolsWhere(func(t *Tool) bool { return h.opts.Tools.admits(t.Name) }))
}

// A LoaderInfo describes a registered fragment loader.
type LoaderInfo struct {
	Prefix, Plugin, Description string
	Pos                         Pos
}

// FragmentLoaders returns all fragment loaders by prefix.
func (h *Host) FragmentLoaders() []LoaderInfo {
	r := h.registry.Load()
	var infos []LoaderInfo
	for _, prefix := range sortedKeys(r.loaders) {
		l := r.loaders[prefix]
		infos = append(infos, LoaderInfo{Prefix: prefix, Plugin: l.plugin, Description: l.Description, Pos: l.Pos})
	}
	return infos
}

// TemplateLoaders returns all template loaders by prefix.
func (h *Host) TemplateLoaders() []LoaderInfo {
	r := h.registry.Load()
	var infos []LoaderInfo
	for _, prefix := range sortedKeys(r.templates) {
		l := r.templates[prefix]
		infos = append(infos, LoaderInfo{Prefix: prefix, Plugin: l.owner.Name, Description: l.Description, Pos: l.Pos})
	}
	return infos
}

// Commands returns all commands by name.
func (h *Host) Commands() []Command {
	r := h.registry.Load()
	var list []Command
	for _, name := range sortedKeys(r.commands) {
		if c := r.commands[name]; c.Name == name { // not an alias
			list = append(list, *c)
		}
	}
	return list
}

// A SkillInfo describes a registered skill.
type SkillInfo struct {
	Name, Plugin, Description string
	Pos                       Pos
}

// Reference returns what loads the skill.
func (s SkillInfo) Reference() string { return skillPrefix + ":" + s.Plugin + ":" + s.Name }

// Skills returns all skills by plugin and name.
func (h *Host) Skills() []SkillInfo {
	r := h.registry.Load()
	var infos []SkillInfo
	for _, key := range sortedKeys(r.skills) {
		s := r.skills[key]
		infos = append(infos, SkillInfo{Name: s.Name, Plugin: s.plugin, Description: s.Description, Pos: s.Pos})
	}
	return infos
}

// Endpoints returns all endpoints by name.
func (h *Host) Endpoints() []Endpoint {
	r := h.registry.Load()
	var list []Endpoint
	for _, name := range sortedKeys(r.endpoints) {
		if e := r.endpoints[name]; e.Name == name { // not an alias
			list = append(list, *e)
		}
	}
	return list
}

// Endpoint finds what a user chose: NAME/MODEL, NAME for its default model, or
// MODEL alone where one endpoint has it. An endpoint that cannot be used is an
// error that says why.
func (h *Host) Endpoint(choice string) (e Endpoint, model string, err error) {
	r := h.registry.Load()
	name, model, _ := strings.Cut(choice, "/")
	found := r.endpoints[name]
	if found == nil {
		if found, err = r.endpointOf(choice); err != nil {
			return Endpoint{}, "", err
		}
		model = choice
	}
	model = cmp.Or(model, found.DefaultModel)
	switch {
	case !slices.Contains(found.Models, model):
		return Endpoint{}, "", fmt.Errorf("model %s has no %q%s, want %s", found.Name, model, near.DidYouMean(model, found.Models), orList(found.Models))
	case found.Unavailable != "":
		return Endpoint{}, "", fmt.Errorf("model %s cannot be used: %s", found.Name, found.Unavailable)
	}
	return *found, model, nil
}
