// This file lists for people and adapters what a host contains.

package host

import (
	"maps"
	"slices"

	"github.com/starhost/starhost"
)

// Events returns the host's own events, then the program's declared events.
func (h *Host) Events() []starhost.EventSpec {
	return slices.Concat(starhost.Events(), h.opts.AppEvents)
}

// A HookInfo describes a registered hook.
type HookInfo struct {
	Event, Plugin string
	Priority      int
	Match, Kind   []string
	// RespondsTo are globs on the names of other plugins' and agents' tools whose calls the hook may answer.
	RespondsTo []string
	Pos        starhost.Pos
}

// Hooks returns all hooks in the order in which they run: by event in the order of [Host.Events], then by
// priority, by the plugin's name, and by the order of registration.
func (h *Host) Hooks() []HookInfo {
	r := h.registry.Load()
	var infos []HookInfo
	for i := range r.hooksByEvent {
		for _, k := range r.hooksByEvent[i].hooks {
			infos = append(infos, HookInfo{
				Event: k.Event, Plugin: k.Plugin.Name, Priority: k.Priority, Match: k.Match, Kind: k.Kind,
				RespondsTo: k.Plugin.RespondsTo, Pos: k.Pos,
			})
		}
	}
	return infos
}

// ListensTo reports whether any hook takes part in an event about the tool or command subject, whatever the
// kind of the call. subject is "" for events about neither. needsSession says whether the event needs its
// session, because one of these hooks is not pure or reads the user's words. The host itself listens to the
// events that it refuses: see [Host.Lose].
func (h *Host) ListensTo(event, subject string) (hears, needsSession bool) {
	c, err := h.registry.Load().hooksOf(event)
	if err != nil {
		return false, false
	}
	for _, k := range c.hooksMatching(subject, "") {
		hears, needsSession = true, needsSession || !k.Pure || k.ReadsWords
	}
	return hears || h.closes(c) != nil || h.opts.ObserveAll, needsSession
}

// Tools returns all tools that pass the host's filter, by name.
func (h *Host) Tools() []starhost.Tool {
	return h.registry.Load().toolsWhere(func(t *starhost.Tool) bool { return h.opts.Tools.admits(t.Name) })
}

// HasTool reports whether a plugin has a tool of that name, and whether the plugin is restricted. It also
// finds tools that the host's filter excludes.
func (h *Host) HasTool(name string) (found, restricted bool) {
	t := h.registry.Load().tools[name]
	return t != nil, t != nil && t.Plugin.Restricted
}

// A LoaderInfo describes a registered fragment or template loader.
type LoaderInfo struct {
	Prefix, Plugin, Description string
	Pos                         starhost.Pos
}

// FragmentLoaders returns all fragment loaders by prefix.
func (h *Host) FragmentLoaders() []LoaderInfo {
	r := h.registry.Load()
	var infos []LoaderInfo
	for _, prefix := range slices.Sorted(maps.Keys(r.loaders)) {
		l := r.loaders[prefix]
		infos = append(infos, LoaderInfo{Prefix: prefix, Plugin: l.Plugin.Name, Description: l.Description, Pos: l.Pos})
	}
	return infos
}

// TemplateLoaders returns all template loaders by prefix.
func (h *Host) TemplateLoaders() []LoaderInfo {
	r := h.registry.Load()
	var infos []LoaderInfo
	for _, prefix := range slices.Sorted(maps.Keys(r.templates)) {
		l := r.templates[prefix]
		infos = append(infos, LoaderInfo{Prefix: prefix, Plugin: l.Plugin.Name, Description: l.Description, Pos: l.Pos})
	}
	return infos
}

// Commands returns all commands by name.
func (h *Host) Commands() []starhost.Command {
	r := h.registry.Load()
	var list []starhost.Command
	for _, name := range slices.Sorted(maps.Keys(r.commands)) {
		if c := r.commands[name]; c.Name == name { // otherwise name is an alias
			list = append(list, *c)
		}
	}
	return list
}

// A SkillInfo describes a registered skill.
type SkillInfo struct {
	Name, Plugin, Description string
	Pos                       starhost.Pos
}

// Reference returns the reference that loads the skill.
func (s SkillInfo) Reference() string { return skillPrefix + ":" + s.Plugin + ":" + s.Name }

// Skills returns all skills by plugin and name.
func (h *Host) Skills() []SkillInfo {
	r := h.registry.Load()
	var infos []SkillInfo
	for _, key := range slices.Sorted(maps.Keys(r.skills)) {
		s := r.skills[key]
		infos = append(infos, SkillInfo{Name: s.Name, Plugin: s.Plugin.Name, Description: s.Description, Pos: s.Pos})
	}
	return infos
}

// Endpoints returns all endpoints by name. The built-in ones, openai and anthropic, belong to no
// plugin; a registration of one of their names replaces it.
func (h *Host) Endpoints() []starhost.Endpoint {
	r := h.registry.Load()
	all := map[string]*starhost.Endpoint{"anthropic": builtInEndpoint("anthropic"), "openai": builtInEndpoint("openai")}
	maps.Copy(all, r.endpoints)
	var list []starhost.Endpoint
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if e := all[name]; e.Name == name { // otherwise name is an alias
			list = append(list, *e)
		}
	}
	return list
}

// Endpoint returns the endpoint and the model that a user chose. The choice is NAME/MODEL, NAME for the
// default model of the endpoint, or MODEL alone if only one endpoint lists the model. The error says why the
// choice cannot be used.
func (h *Host) Endpoint(choice string) (e starhost.Endpoint, model string, err error) {
	found, model, err := h.registry.Load().choose(choice)
	if err != nil {
		return starhost.Endpoint{}, "", err
	}
	return *found, model, nil
}
