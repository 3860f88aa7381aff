// All registrations of a host. A registry does not change once a host uses it.

package host

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// A registry contains all registrations of a host. It does not change after the host has begun to use it.
type registry struct {
	plugins      []*starhost.Plugin
	names        map[string]bool      // names of plugins
	events       []starhost.EventSpec // events that the program declares
	hooksByEvent []eventHooks         // the host's own events, then the declared ones
	tools        map[string]*starhost.Tool
	catalog      []starhost.Tool // the tools sorted by name
	loaders      map[string]*starhost.FragmentLoader
	templates    map[string]*starhost.TemplateLoader
	commands     map[string]*starhost.Command  // by name and alias
	skills       map[string]*starhost.Skill    // by plugin:name
	endpoints    map[string]*starhost.Endpoint // by name and alias
	lost         []Guard
	guards       []Guard // the guards that a session remembers; guards in lost are not among them
}

// An eventHooks is an event with its hooks.
type eventHooks struct {
	*starhost.EventSpec
	hooks    []*starhost.Hook // in the order in which they run
	hasMatch bool             // at least one hook has a Match
	closed   error            // the error of a lost guard that closes the event, or nil; see Host.closes
}

// hooksMatching returns the hooks that match a tool or command, in the order in which they run. alias is
// another name of the tool, or "".
func (c *eventHooks) hooksMatching(subject, alias string) []*starhost.Hook {
	if !c.hasMatch {
		return c.hooks
	}
	var matched []*starhost.Hook
	for _, h := range c.hooks {
		if len(h.Match) == 0 || matchAny(h.Match, subject) || alias != "" && matchAny(h.Match, alias) {
			matched = append(matched, h)
		}
	}
	return matched
}

func newRegistry(declared []starhost.EventSpec) *registry {
	return &registry{
		names: map[string]bool{}, events: declared, hooksByEvent: newEventHooks(declared), tools: map[string]*starhost.Tool{}, loaders: map[string]*starhost.FragmentLoader{},
		templates: map[string]*starhost.TemplateLoader{}, commands: map[string]*starhost.Command{}, skills: map[string]*starhost.Skill{}, endpoints: map[string]*starhost.Endpoint{},
	}
}

// clone returns a copy to which plugins can be added.
func (r *registry) clone() *registry {
	c := &registry{
		plugins: slices.Clone(r.plugins), names: maps.Clone(r.names), events: r.events,
		hooksByEvent: newEventHooks(r.events), tools: maps.Clone(r.tools), loaders: maps.Clone(r.loaders),
		templates: maps.Clone(r.templates), commands: maps.Clone(r.commands), skills: maps.Clone(r.skills),
		endpoints: maps.Clone(r.endpoints), lost: r.lost,
	}
	for i := range r.hooksByEvent {
		old := &r.hooksByEvent[i]
		c.hooksByEvent[i] = *old
		c.hooksByEvent[i].hooks = slices.Clone(old.hooks)
	}
	return c
}

// withLost returns a copy of the registry that has lost further guards.
func (r *registry) withLost(guards []Guard) *registry {
	if len(guards) == 0 {
		return r
	}
	next := *r
	next.lost = slices.Concat(r.lost, guards)
	next.hooksByEvent = slices.Clone(r.hooksByEvent)
	for i := range next.hooksByEvent {
		c := &next.hooksByEvent[i]
		c.closed = closedBy(c.EventSpec, next.lost)
	}
	return &next
}

// sort puts the hooks into the order in which they run, and the tools into the order of their names.
func (r *registry) sort() {
	r.catalog = make([]starhost.Tool, 0, len(r.tools))
	for _, name := range slices.Sorted(maps.Keys(r.tools)) {
		r.catalog = append(r.catalog, *r.tools[name])
	}
	for i := range r.hooksByEvent {
		slices.SortStableFunc(r.hooksByEvent[i].hooks, func(a, b *starhost.Hook) int {
			// Hooks that are equal in both stay in the order of their registration.
			order := cmp.Or(cmp.Compare(a.Plugin.Rank, b.Plugin.Rank), cmp.Compare(a.Priority, b.Priority))
			return cmp.Or(order, strings.Compare(a.Plugin.Name, b.Plugin.Name))
		})
	}
	r.guards = r.findGuards()
}

// findGuards returns the guards that sessions remember, for a registry that has lost none.
func (r *registry) findGuards() (list []Guard) {
	for _, p := range r.plugins {
		if !p.Required || p.Warn {
			continue
		}
		g := Guard{Name: p.Name, From: p.From}
		for i := range p.Hooks {
			g.Events = append(g.Events, p.Hooks[i].Event)
		}
		slices.Sort(g.Events)
		g.Events = slices.Compact(g.Events)
		list = append(list, g)
	}
	for i := range r.hooksByEvent {
		c := &r.hooksByEvent[i]
		enforced := slices.IndexFunc(c.hooks, func(h *starhost.Hook) bool { return !h.Plugin.Warn })
		if c.Guard && enforced >= 0 {
			return append(list, Guard{From: c.hooks[enforced].Plugin.Name})
		}
	}
	return list
}

// newEventHooks returns an entry without hooks for each event.
func newEventHooks(declared []starhost.EventSpec) []eventHooks {
	own := starhost.Events()
	all := make([]eventHooks, 0, len(own)+len(declared))
	for _, list := range [][]starhost.EventSpec{own, declared} {
		for i := range list {
			all = append(all, eventHooks{EventSpec: &list[i]})
		}
	}
	return all
}

// hooksOf returns an event with its hooks, or the error of [starhost.LookupEvent]. If two events have one
// name, it returns the host's own. It walks through a list, which is faster than a map for so few events.
func (r *registry) hooksOf(event string) (*eventHooks, error) {
	for i := range r.hooksByEvent {
		if c := &r.hooksByEvent[i]; c.Name == event {
			return c, nil
		}
	}
	_, err := starhost.LookupEvent(event, r.events...)
	return nil, err
}

// toolsWhere returns the tools that may accepts, sorted by name.
func (r *registry) toolsWhere(may func(*starhost.Tool) bool) []starhost.Tool {
	tools := make([]starhost.Tool, 0, len(r.catalog))
	for i := range r.catalog {
		if t := &r.catalog[i]; may(t) {
			tools = append(tools, *t)
		}
	}
	return tools
}

// choose returns the endpoint and the model that the user's choice names.
func (r *registry) choose(choice string) (*starhost.Endpoint, string, error) {
	name, model, _ := strings.Cut(choice, "/")
	found := r.endpoints[name]
	if found == nil {
		found = builtInEndpoint(name)
	}
	if found == nil {
		var err error
		if found, err = r.endpointOf(choice); err != nil {
			return nil, "", err
		}
		model = choice
	}
	model = cmp.Or(model, found.DefaultModel)
	switch {
	case model == "":
		return nil, "", errtext.Errorf("model %q: want %s/MODEL, because this endpoint has no default model", choice, found.Name)
	case !offers(found, model):
		return nil, "", errtext.Errorf("model %s has no %q%s, want %s",
			found.Name, model, near.DidYouMean(model, found.Models), errtext.Or(found.Models))
	case found.Unavailable != "":
		return nil, "", errtext.Errorf("model %s cannot be used: %s", found.Name, found.Unavailable)
	}
	return found, model, nil
}

// endpointOf returns the only endpoint that lists a model.
func (r *registry) endpointOf(model string) (*starhost.Endpoint, error) {
	var with []*starhost.Endpoint
	names := []string{"openai", "anthropic"}
	for _, name := range slices.Sorted(maps.Keys(r.endpoints)) {
		e := r.endpoints[name]
		names = append(append(names, name), e.Models...)
		for _, m := range e.Models {
			names = append(names, name+"/"+m)
		}
		if e.Name == name && slices.Contains(e.Models, model) {
			with = append(with, e)
		}
	}
	switch len(with) {
	case 0:
		hint := near.DidYouMean(model, names)
		if hint == "" {
			hint = near.DidYouMean(strings.SplitN(model, "/", 2)[0], names)
		}
		return nil, errtext.Errorf("unknown model %q%s, want NAME/MODEL, or a model that one endpoint lists", model, hint)
	case 1:
		return with[0], nil
	}
	return nil, errtext.Errorf("model %q: both %s and %s have it: put the name and / in front",
		model, with[0].Name, with[1].Name)
}
