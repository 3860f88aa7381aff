package loader

import (
	"fmt"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins"
)

// A LostGuard is a plugin that is not loaded, and that may be a guard: the agent would run calls
// that the plugin would refuse.
type LostGuard struct {
	// Name is the plugin's; "" for a path that leads to no plugin.
	Name string
	// Err says why it is not loaded.
	Err error
	// Events are the events that its syntax tree shows hooks for, sorted. They are nil if the tree
	// shows none, or if there is no tree.
	Events []string
	// Managed is true for a managed plugin, and for one that the managed config requires: a user's
	// flag must not let calls pass without it.
	Managed bool
}

// LostGuards returns the guards that are not loaded: paths, then plugins, in their order, then
// required plugins that were not found. A guard is
//   - a plugin that an argument names, or the config requires;
//   - a plugin whose syntax tree shows a hook on a guard event ([starhost.EventSpec.Guard]), or a
//     hook whose event the tree does not spell out;
//   - a file that has no syntax tree: starhost cannot read or parse it.
//
// It takes no notice of plugins that the user's config disables or sets to warn, unless the config
// requires them.
func (s *Set) LostGuards() []LostGuard {
	var lost []LostGuard
	for _, e := range s.Problems {
		if e.hidesPlugin {
			lost = append(lost, LostGuard{Err: e, Managed: e.managed})
		}
	}
	for i := range s.Plugins {
		if p := &s.Plugins[i]; p.unloaded != nil {
			if g, ok := p.unloaded.lostGuard(); ok {
				lost = append(lost, g)
			}
		}
	}
	for _, name := range s.Config.Plugins.Required {
		found := slices.ContainsFunc(lost, func(g LostGuard) bool { return g.Name == name })
		if !found && s.isMissing(name) {
			managed := s.Config.managed.requires(name)
			lost = append(lost, LostGuard{Name: name, Err: s.missingError(name), Managed: managed})
		}
	}
	return lost
}

// lostGuard describes a plugin that is not loaded. ok is false if it is no guard.
func (e *evaluation) lostGuard() (g LostGuard, ok bool) {
	hooks := e.hooks()
	g = LostGuard{Name: e.source.Name, Err: e.plugin.Err, Events: hooks.Events}
	g.Managed = e.source.Managed || e.config.managed.requires(g.Name)
	if g.Err == nil {
		g.Err = errorAt(Place{File: e.source.Display}, "E0609", "%s", e.unavailable)
	}
	guards := hooks.Unclear || slices.ContainsFunc(hooks.Events, func(event string) bool {
		spec, err := starhost.LookupEvent(event, e.Host.AppEvents...)
		return err != nil || spec.Guard
	})
	required := slices.Contains(e.config.Plugins.Required, g.Name)
	return g, required || e.plugin.Mode != modeWarn && (guards || e.source.isNamed())
}

// hooks returns the hooks that the syntax trees of the plugin's file and of the files that it
// loads show. A file without a syntax tree makes them unclear.
func (e *evaluation) hooks() (all builtins.Hooks) {
	type file struct {
		name string
		src  []byte
	}
	src, err := e.source.Read(e.source.Main)
	if err != nil {
		return builtins.Hooks{Unclear: true}
	}
	seen := map[string]bool{}
	for files := []file{{e.source.Display, src}}; len(files) > 0; files = files[1:] {
		f := files[0]
		hooks, err := e.hooksIn(f.name, f.src)
		all.Events, all.Unclear = append(all.Events, hooks.Events...), all.Unclear || hooks.Unclear || err != nil
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
