package starhost

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/starhost/starhost/schema"
)

// A registry is everything that is registered, immutable once it is published.
type registry struct {
	plugins   []*Plugin
	names     map[string]bool // of plugins
	events    []EventSpec     // that the program declares
	channels  []channel       // of all events: the host's own and then those
	tools     map[string]*Tool
	catalog   []Tool // the same by name, once it is sorted
	loaders   map[string]*FragmentLoader
	templates map[string]*TemplateLoader
	commands  map[string]*Command  // by name and alias
	skills    map[string]*Skill    // by plugin:name
	endpoints map[string]*Endpoint // by name and alias
}

// A channel is an event with the hooks that hear of it.
type channel struct {
	*EventSpec
	hooks   []*Hook // in the total order
	matches bool    // some of them want some tools or commands alone
}

func newRegistry(declared []EventSpec) *registry {
	return &registry{
		names: map[string]bool{}, events: declared, channels: channelsOf(declared), tools: map[string]*Tool{}, loaders: map[string]*FragmentLoader{},
		templates: map[string]*TemplateLoader{}, commands: map[string]*Command{}, skills: map[string]*Skill{}, endpoints: map[string]*Endpoint{},
	}
}

// clone returns a copy that plugins can be added to.
func (r *registry) clone(plugins []*Plugin) *registry {
	var tools, loaders int
	for _, p := range plugins {
		tools, loaders = tools+len(p.Tools), loaders+len(p.FragmentLoaders)
	}
	c := &registry{
		plugins: slices.Grow(slices.Clone(r.plugins), len(plugins)), names: withRoom(r.names, len(plugins)), events: r.events, channels: channelsOf(r.events),
		tools: withRoom(r.tools, tools), loaders: withRoom(r.loaders, loaders),
		templates: maps.Clone(r.templates), commands: maps.Clone(r.commands), skills: maps.Clone(r.skills), endpoints: maps.Clone(r.endpoints),
	}
	for i := range r.channels {
		old := &r.channels[i]
		c.channels[i].hooks, c.channels[i].matches = slices.Clone(old.hooks), old.matches
	}
	return c
}

// withRoom returns a copy of a map that has room for more.
func withRoom[V any](m map[string]V, more int) map[string]V {
	c := make(map[string]V, len(m)+more)
	maps.Copy(c, m)
	return c
}

// with returns a copy that has plugins added, not sorted yet.
func (r *registry) with(plugins []*Plugin) (*registry, error) {
	next := r.clone(plugins)
	for _, p := range plugins {
		if err := next.add(p); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// sort puts the hooks in the total order, and the tools in that of their names.
func (r *registry) sort() {
	r.catalog = make([]Tool, 0, len(r.tools))
	for _, name := range sortedKeys(r.tools) {
		r.catalog = append(r.catalog, *r.tools[name])
	}
	for i := range r.channels {
		slices.SortStableFunc(r.channels[i].hooks, func(a, b *Hook) int {
			return cmp.Or(cmp.Compare(a.Priority, b.Priority), strings.Compare(a.plugin, b.plugin)) // then as registered
		})
	}
}

// channelsOf returns all events, without hooks.
func channelsOf(declared []EventSpec) []channel {
	all := make([]channel, 0, len(events)+len(declared))
	for _, list := range [][]EventSpec{events, declared} {
		for i := range list {
			all = append(all, channel{EventSpec: &list[i]})
		}
	}
	return all
}

// channel returns what there is for an event, or an error as of [LookupEvent]. Where two
// have one name, the first counts, which is the host's. The events are few: to go
// through them is quicker than a map.
func (r *registry) channel(event string) (*channel, error) {
	for i := range r.channels {
		if c := &r.channels[i]; c.Name == event {
			return c, nil
		}
	}
	_, err := LookupEvent(event, r.events...)
	return nil, err
}

// offer returns the tools that may be offered, by name. The caller must not change them:
// up to the first that may not, they are the registry's own.
func (r *registry) offer(may func(*Tool) bool) []Tool {
	var tools []Tool
	for i := range r.catalog {
		switch {
		case !may(&r.catalog[i]):
		case len(tools) == i:
			tools = r.catalog[: i+1 : i+1]
		default:
			tools = append(tools, r.catalog[i])
		}
	}
	return tools
}

// HostPlugin is the name of the plugin that carries the host's own references;
// it alone may register the reserved prefixes.
const HostPlugin = "host"

// A nameForm is what the names of a kind look like. Regular expressions would be
// compiled at each start of the program, which takes longer than a small plugin.
type nameForm struct {
	first, rest string // the bytes that a name begins with and is made of
	min, max    int    // bytes
}

// MatchString reports whether s is such a name.
func (f nameForm) MatchString(s string) bool {
	if len(s) < f.min || len(s) > f.max || strings.IndexByte(f.first, s[0]) < 0 {
		return false
	}
	for i := range len(s) {
		if strings.IndexByte(f.rest, s[i]) < 0 {
			return false
		}
	}
	return true
}

const (
	lowerCase = "abcdefghijklmnopqrstuvwxyz"
	upperCase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	symbols   = "0123456789_-"
)

var (
	pluginName = nameForm{lowerCase, lowerCase + symbols, 1, 64}
	toolName   = nameForm{upperCase + lowerCase + symbols, upperCase + lowerCase + symbols, 1, 64}
	prefixName = nameForm{lowerCase, lowerCase + symbols, 2, math.MaxInt}
	appName    = nameForm{lowerCase, lowerCase + symbols + ".", 1, 64}
	argName    = nameForm{lowerCase, lowerCase + "0123456789_", 1, 64}
)

// ReservedPrefixes are the reference prefixes that are the host's own.
var ReservedPrefixes = []string{"file", "http", "https", "sha256", "skill"}

// add takes over a plugin, and fills in what its registrations leave open.
func (r *registry) add(p *Plugin) error {
	if !pluginName.MatchString(p.Name) {
		return fmt.Errorf("plugin name %q: want a lower-case letter, then up to 63 of a-z 0-9 _ -", p.Name)
	}
	if r.names[p.Name] {
		return fmt.Errorf("plugin %q is already in this host", p.Name)
	}
	if err := cmp.Or(checkGrants(p, "respond", p.RespondsTo), checkGrants(p, "override", p.Overrides)); err != nil {
		return err
	}
	r.plugins, r.names[p.Name] = append(r.plugins, p), true
	return cmp.Or(
		each(p, p.Tools, r.addTool),
		each(p, p.Hooks, r.addHook),
		each(p, p.FragmentLoaders, r.addLoader),
		each(p, p.TemplateLoaders, r.addTemplateLoader),
		each(p, p.Commands, r.addCommand),
		each(p, p.Skills, r.addSkill),
		each(p, p.Endpoints, r.addEndpoint),
	)
}

// each adds registrations of one kind, up to the first that cannot be.
func each[T any](p *Plugin, list []T, add func(*Plugin, *T) error) error {
	for i := range list {
		if err := add(p, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkGrants returns an error for the first glob of a plugin's grants that is
// none.
func checkGrants(p *Plugin, kind string, globs []string) error {
	for _, glob := range globs {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("plugin %q: %s:%s: %w", p.Name, kind, glob, err)
		}
	}
	return nil
}

// A ConflictError says that a name is registered twice.
type ConflictError struct {
	What     string // `tool "page"`
	Pos, Old Pos    // of the second registration and of the first
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: %s is already registered at %s", e.Pos, e.What, e.Old)
}

// A RegistrationError says that a registration is not valid.
type RegistrationError struct {
	Pos Pos
	Msg string
}

func (e *RegistrationError) Error() string { return e.Pos.String() + ": " + e.Msg }

// refuse returns the error of a registration that is not valid.
func refuse(pos Pos, format string, args ...any) error {
	return &RegistrationError{Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

func (r *registry) addTool(p *Plugin, t *Tool) error {
	if err := checkTool(p, t); err != nil {
		return err
	}
	t.Approval = cmp.Or(t.Approval, ApprovalAuto)
	if len(t.Parameters) == 0 {
		t.Parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	if t.derived {
		t.schema = schema.Defer(t.Parameters)
	} else {
		s, err := schema.Compile(t.Parameters)
		if err != nil {
			return refuse(t.Pos, "tool %q: parameters: %v", t.Name, err)
		}
		t.schema = s
	}
	t.plugin, t.eventSteps, t.replaced, t.piece = p.Name, p.EventSteps, nil, new(toolPiece)
	return r.place(t)
}

// checkTool says what is wrong with a tool, apart from its schema and its name
// being taken.
func checkTool(p *Plugin, t *Tool) error {
	fail := func(format string, args ...any) error {
		return refuse(t.Pos, "tool %q"+format, append([]any{t.Name}, args...)...)
	}
	switch {
	case !toolName.MatchString(t.Name):
		return refuse(t.Pos, "tool name %q: want 1 to 64 of A-Z a-z 0-9 _ -", t.Name)
	case strings.TrimSpace(t.Description) == "":
		return fail(" has no description: a model cannot know when to call it")
	case t.Call == nil:
		return fail(" has no Call")
	case t.Approval != "" && t.Approval != ApprovalAuto && t.Approval != ApprovalAsk:
		return fail(": approval: got %q, want auto or ask", t.Approval)
	case t.Toolset != "" && !toolName.MatchString(t.Toolset):
		return fail(": toolset: got %q, want 1 to 64 of A-Z a-z 0-9 _ -", t.Toolset)
	case t.Timeout < 0:
		return fail(": timeout: got %v, want more than nothing", t.Timeout)
	case slices.Contains(t.Roles, ""):
		return fail(": roles: got an empty name")
	case t.Override && !matchAny(p.Overrides, t.Name):
		return fail(": override: the operator must grant %q", "override:"+t.Name)
	}
	return nil
}

// place takes a tool under its name. Of two, one that overrides the other is the
// tool, whichever comes first.
func (r *registry) place(t *Tool) error {
	old := r.tools[t.Name]
	conflict := func(with *Tool) error {
		return &ConflictError{What: fmt.Sprintf("tool %q", t.Name), Pos: t.Pos, Old: with.Pos}
	}
	switch {
	case old == nil:
	case old.Override == t.Override, old.plugin == t.plugin:
		return conflict(old)
	case old.Override && old.replaced != nil:
		return conflict(old.replaced)
	case old.Override:
		winner := *old // which an earlier registry has, too
		t, winner.replaced = &winner, t
	default:
		t.replaced = old
	}
	r.tools[t.Name] = t
	return nil
}

func (r *registry) addHook(p *Plugin, h *Hook) error {
	c, err := r.channel(h.Event)
	if err != nil {
		return refuse(h.Pos, "%v", err)
	}
	if len(h.Match) > 0 && !c.Tool && !c.Command {
		return refuse(h.Pos, "hook %s: match: the event is not about a tool or a command", h.Event)
	}
	if err := cmp.Or(checkGlobs("hook "+h.Event+": match", h.Match), checkFailMode(c.EventSpec, h.OnError)); err != nil {
		return refuse(h.Pos, "%v", err)
	}
	if h.Call == nil {
		return refuse(h.Pos, "hook %s has no Call", h.Event)
	}
	h.plugin, h.at, h.warn, h.eventSteps, h.restricted = p.Name, h.Pos.String(), p.Warn, p.EventSteps, p.Restricted
	c.hooks, c.matches = append(c.hooks, h), c.matches || len(h.Match) > 0
	return nil
}

func checkFailMode(spec *EventSpec, m FailMode) error {
	switch {
	case m == "", m == FailSkip,
		m == FailDeny && slices.Contains(spec.Actions, ActionDeny),
		m == FailAbort && slices.Contains(spec.Actions, ActionAbort):
		return nil
	}
	want := []string{"skip"}
	for _, a := range []Action{ActionDeny, ActionAbort} {
		if slices.Contains(spec.Actions, a) {
			want = append(want, string(a))
		}
	}
	return fmt.Errorf("hook %s: on_error: got %q, want %s", spec.Name, m, orList(want))
}

func (r *registry) addLoader(p *Plugin, l *FragmentLoader) error {
	special := p.Name == HostPlugin && (l.Prefix == "" || l.Prefix == "-")
	if !special && !prefixName.MatchString(l.Prefix) {
		return refuse(l.Pos, "fragment loader prefix %q: want a lower-case letter, then one or more of a-z 0-9 _ -", l.Prefix)
	}
	if p.Name != HostPlugin && slices.Contains(ReservedPrefixes, l.Prefix) {
		return refuse(l.Pos, "fragment loader prefix %q is the host's own", l.Prefix)
	}
	if l.Load == nil {
		return refuse(l.Pos, "fragment loader %q has no Load", l.Prefix)
	}
	if old := r.loaders[l.Prefix]; old != nil {
		return &ConflictError{What: fmt.Sprintf("fragment loader %q", l.Prefix), Pos: l.Pos, Old: old.Pos}
	}
	l.plugin = p.Name
	r.loaders[l.Prefix] = l
	return nil
}

// matchAny reports whether one of the globs matches name. The globs are valid.
func matchAny(globs []string, name string) bool {
	for _, g := range globs {
		if ok, _ := path.Match(g, name); ok {
			return true
		}
	}
	return false
}
