package loader

import (
	"context"
	"fmt"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
	"github.com/starhost/starhost/host"
)

// lostGuards returns the guards that are not loaded: paths, then plugins, in their order, then
// required plugins that were not found. A guard is
//   - a plugin that the config requires;
//   - a plugin with a hook on a guard event ([starhost.EventSpec.Guard]), or with a hook whose
//     event the syntax tree does not spell out; the hooks are those of the tree, or of probe;
//   - a plugin that an argument names, with a hook on any event that plugins can refuse;
//   - a plugin that the operator or a trusted project brings, with a hook on an event of which its
//     tree names a decision: an abort of prompts, a change of results;
//   - a file that has no syntax tree: starhost cannot read or parse it.
//
// It takes no notice of plugins that the user's config disables or sets to warn, unless the config
// requires them.
//
// With open, events pass without them, except without a managed plugin and one that the managed
// config requires: no flag of a user lifts those.
func (s *Set) lostGuards(open bool) []host.Guard {
	var lost []host.Guard
	for _, e := range s.Problems {
		if e.hidesPlugin {
			lost = append(lost, host.Guard{Err: e, Open: open && !e.managed})
		}
	}
	for i := range s.Plugins {
		if p := &s.Plugins[i]; p.unloaded != nil {
			if g, ok := p.unloaded.lostGuard(); ok {
				g.Open = open && !p.Managed && !s.Config.managed.requires(p.Name)
				lost = append(lost, g)
			}
		}
	}
	for _, name := range s.Config.Plugins.Required {
		found := slices.ContainsFunc(lost, func(g host.Guard) bool { return g.Name == name })
		if !found && s.isMissing(name) {
			open := open && !s.Config.managed.requires(name)
			lost = append(lost, host.Guard{Name: name, Err: s.missingError(name), Open: open})
		}
	}
	return lost
}

// lostGuard describes a plugin that is not loaded, as a guard. If the plugin is no guard, ok is false.
func (e *evaluation) lostGuard() (g host.Guard, ok bool) {
	hooks := e.hooks()
	if e.probed {
		hooks = builtins.Hooks{Events: hookEvents(e.registered), Decides: e.registered.Decides}
	}
	g = host.Guard{Name: e.source.Name, Err: e.plugin.Err, Events: hooks.Events}
	if g.Err == nil {
		g.Err = errorAt(Place{File: e.source.Display}, "E0609", "%s", e.unavailable)
	}
	guards := hooks.Unclear || slices.ContainsFunc(hooks.Events, func(event string) bool {
		spec, err := starhost.LookupEvent(event, e.Host.AppEvents...)
		return err != nil || spec.Guard || e.source.isNamed() && spec.CanRefuse() ||
			e.config.isVouched(e.source) && spec.FailsClosed(hooks.Decides)
	})
	required := slices.Contains(e.config.Plugins.Required, g.Name)
	return g, required || e.plugin.Mode != modeWarn && guards
}

// probe evaluates a plugin that does not load on this machine because a variable is not set or a plugin that
// it requires is missing. Its registrations then say whether it is a guard. Nothing calls them. If the
// evaluation fails, the syntax tree of the plugin decides.
func (e *evaluation) probe(ctx context.Context) {
	e.requires = nil
	e.probed = e.evaluate(ctx) == nil
	e.plugin.Steps, e.plugin.Bytes = 0, 0
}

// hookEvents returns the events that a plugin has hooks on, sorted.
func hookEvents(p *starhost.Plugin) (events []string) {
	for i := range p.Hooks {
		events = append(events, p.Hooks[i].Event)
	}
	slices.Sort(events)
	return slices.Compact(events)
}

// hooks returns the hooks that the syntax trees of the plugin's file, and of the files that it loads, show.
// If a file has no syntax tree, the result says that its hooks are unclear.
func (e *evaluation) hooks() (all builtins.Hooks) {
	type file struct {
		name string
		src  []byte
	}
	src, err := e.source.Read(e.source.Main)
	if err != nil {
		return builtins.Hooks{Unclear: true}
	}
	if e.source.isRules() {
		src = []byte(rulesGuard) // this library registers the hook
	}
	seen := map[string]bool{}
	for files := []file{{e.source.Display, src}}; len(files) > 0; files = files[1:] {
		f := files[0]
		hooks, err := e.hooksIn(f.name, f.src)
		all.Events, all.Unclear = append(all.Events, hooks.Events...), all.Unclear || hooks.Unclear || err != nil
		all.Decides = append(all.Decides, hooks.Decides...)
		for _, label := range hooks.Loads {
			name, src, err := e.load(f.name, label)
			all.Unclear = all.Unclear || err != nil
			if err == nil && !seen[name] {
				seen[name] = true
				files = append(files, file{name, src})
			}
		}
	}
	slices.Sort(all.Events)
	all.Events = slices.Compact(all.Events)
	return all
}

// hooksIn returns the hooks that one file shows.
func (e *evaluation) hooksIn(name string, src []byte) (builtins.Hooks, error) {
	box, err := e.boxOf(e.source)
	if err != nil {
		return builtins.Hooks{}, err
	}
	f, err := box.Parse(name, src)
	if err != nil {
		return builtins.Hooks{}, err
	}
	tree := f.Syntax()
	if tree == nil {
		return builtins.Hooks{}, fmt.Errorf("%s has no syntax tree", name)
	}
	return builtins.ReadHooks(tree), nil
}
