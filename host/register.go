// A plugin's registrations are checked, completed and added.

package host

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/internal/codes"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/schema"
)

// withPlugins returns a copy of the registry with more plugins. The copy is not sorted yet.
func (r *registry) withPlugins(plugins []*starhost.Plugin) (*registry, error) {
	next := r.clone()
	for _, p := range plugins {
		if err := next.add(p); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// add adds a plugin, and sets the missing fields of its registrations.
func (r *registry) add(p *starhost.Plugin) error {
	if !pluginName.MatchString(p.Name) {
		return errtext.Errorf("plugin name %q: want a lower-case letter, then up to 63 of a-z 0-9 _ -", p.Name)
	}
	if r.names[p.Name] {
		return errtext.Errorf("plugin %q is already in this host", p.Name)
	}
	if err := cmp.Or(checkGrants(p, "respond", p.RespondsTo), checkGrants(p, "override", p.Overrides)); err != nil {
		return err
	}
	r.plugins, r.names[p.Name] = append(r.plugins, p), true
	return cmp.Or(
		addAll(p, p.Tools, r.addTool),
		addAll(p, p.Hooks, r.addHook),
		addAll(p, p.FragmentLoaders, r.addLoader),
		addAll(p, p.TemplateLoaders, r.addTemplateLoader),
		addAll(p, p.Commands, r.addCommand),
		addAll(p, p.Skills, r.addSkill),
		addAll(p, p.Endpoints, r.addEndpoint),
	)
}

// addAll adds the registrations of one kind. It stops at the first error.
func addAll[T any](p *starhost.Plugin, list []T, add func(*starhost.Plugin, *T) error) error {
	for i := range list {
		if err := add(p, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// clonePlugin returns a copy of a plugin whose registrations the host may change.
func clonePlugin(p *starhost.Plugin) *starhost.Plugin {
	c := *p
	c.Tools, c.Hooks = slices.Clone(p.Tools), slices.Clone(p.Hooks)
	c.FragmentLoaders, c.TemplateLoaders = slices.Clone(p.FragmentLoaders), slices.Clone(p.TemplateLoaders)
	c.Commands, c.Skills, c.Endpoints = slices.Clone(p.Commands), slices.Clone(p.Skills), slices.Clone(p.Endpoints)
	return &c
}

// checkGrants returns an error for the first malformed glob of a plugin's grants.
func checkGrants(p *starhost.Plugin, kind string, globs []string) error {
	for _, glob := range globs {
		if _, err := path.Match(glob, ""); err != nil {
			return errtext.Errorf("plugin %q: %s:%s: %w", p.Name, kind, glob, err)
		}
	}
	return nil
}

// A ConflictError says that two registrations have one name.
type ConflictError struct {
	What     string       // `tool "page"`
	Pos, Old starhost.Pos // places of the second registration and the first
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: %s is already registered at %s", e.Pos, e.What, e.Old)
}

// A RegistrationError says why a registration is not valid.
type RegistrationError struct {
	Pos starhost.Pos
	Msg string

	code string
}

func (e *RegistrationError) Error() string { return e.Pos.String() + ": " + e.Msg }

// Code returns "E0705", or "E0501" if a permission is missing.
func (e *RegistrationError) Code() string { return cmp.Or(e.code, "E0705") }

// newRegistrationError returns a RegistrationError with a formatted message.
func newRegistrationError(pos starhost.Pos, format string, args ...any) *RegistrationError {
	return &RegistrationError{Pos: pos, Msg: errtext.Format(format, args...)}
}

func (r *registry) addTool(p *starhost.Plugin, t *starhost.Tool) error {
	if err := checkTool(p, t); err != nil {
		return err
	}
	t.Approval = cmp.Or(t.Approval, starhost.ApprovalAuto)
	if len(t.Parameters) == 0 {
		t.Parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	if t.Derived {
		t.Validator = schema.Defer(t.Parameters)
	} else {
		s, err := schema.Compile(t.Parameters)
		if err != nil {
			return newRegistrationError(t.Pos, "tool %q: parameters: %v", t.Name, err)
		}
		t.Validator = s
	}
	t.Plugin, t.Replaced = p, nil
	return r.placeTool(t)
}

// checkTool returns an error if a tool is not valid. It checks neither the schema nor whether the name is
// free.
func checkTool(p *starhost.Plugin, t *starhost.Tool) error {
	fail := func(format string, args ...any) error {
		return newRegistrationError(t.Pos, "tool %q"+format, append([]any{t.Name}, args...)...)
	}
	switch {
	case !toolName.MatchString(t.Name):
		return newRegistrationError(t.Pos, "tool name %q: want 1 to 64 of A-Z a-z 0-9 _ -", t.Name)
	case strings.TrimSpace(t.Description) == "":
		return fail(" has no description: a model cannot know when to call it")
	case t.Call == nil:
		return fail(" has no Call")
	case t.Approval != "" && t.Approval != starhost.ApprovalAuto && t.Approval != starhost.ApprovalAsk:
		return fail(": approval: got %q, want auto or ask", t.Approval)
	case t.Toolset != "" && !toolName.MatchString(t.Toolset):
		return fail(": toolset: got %q, want 1 to 64 of A-Z a-z 0-9 _ -", t.Toolset)
	case t.Timeout < 0:
		return fail(": timeout: got %v, want more than nothing", t.Timeout)
	case unknownKind(t.Kinds) != "":
		return fail(": %s", unknownKind(t.Kinds))
	case slices.Contains(t.Roles, ""):
		return fail(": roles: got an empty name")
	case t.Override && !matchAny(p.Overrides, t.Name):
		err := newRegistrationError(t.Pos, "tool %q: override: the operator must grant %q", t.Name, "override:"+t.Name)
		err.code = codes.Permission
		return err
	}
	return nil
}

// placeTool adds a tool under its name. If two tools have one name and one of them overrides the other, that
// one stays, whichever came first.
func (r *registry) placeTool(t *starhost.Tool) error {
	old := r.tools[t.Name]
	conflict := func(with *starhost.Tool) error {
		return &ConflictError{What: errtext.Format("tool %q", t.Name), Pos: t.Pos, Old: with.Pos}
	}
	switch {
	case old == nil:
	case old.Override == t.Override, old.Plugin == t.Plugin:
		return conflict(old)
	case old.Override && old.Replaced != nil:
		return conflict(old.Replaced)
	case old.Override:
		winner := *old // change a copy, because an earlier registry has the same tool
		t, winner.Replaced = &winner, t
	default:
		t.Replaced = old
	}
	r.tools[t.Name] = t
	return nil
}

func (r *registry) addHook(p *starhost.Plugin, h *starhost.Hook) error {
	c, err := r.hooksOf(h.Event)
	if err != nil {
		return newRegistrationError(h.Pos, "%v", err)
	}
	if len(h.Match) > 0 && !c.Tool && !c.Command {
		return newRegistrationError(h.Pos, "hook %s: match: the event is not about a tool or a command", h.Event)
	}
	if len(h.Kind) > 0 && !c.Tool {
		return newRegistrationError(h.Pos, "hook %s: kind: the event is not about a tool", h.Event)
	}
	if wrong := unknownKind(h.Kind); wrong != "" {
		return newRegistrationError(h.Pos, "hook %s: %s", h.Event, wrong)
	}
	if err := cmp.Or(checkGlobs("hook "+h.Event+": match", h.Match), checkFailMode(c.EventSpec, h.OnError)); err != nil {
		return newRegistrationError(h.Pos, "%v", err)
	}
	if h.Call == nil {
		return newRegistrationError(h.Pos, "hook %s has no Call", h.Event)
	}
	h.Plugin = p
	c.hooks, c.hasMatch = append(c.hooks, h), c.hasMatch || len(h.Match) > 0
	return nil
}

// decisionsOf returns which decisions a plugin can make. A restricted plugin changes nothing: the host
// withholds a result that the plugin would change, because nobody should perhaps read it.
func decisionsOf(p *starhost.Plugin) (list []string) {
	if !p.Restricted {
		return p.Decides
	}
	for _, d := range p.Decides {
		switch d {
		case string(starhost.ActionAbort):
			list = append(list, d)
		case "modify result", "modify *":
			list = append(list, "modify result")
		}
	}
	return list
}

// unknownKind returns a text about the first kind that no call can have, or "" if there is none.
func unknownKind(kinds []string) string {
	for _, k := range kinds {
		if !slices.Contains(starhost.CallKinds, k) {
			return errtext.Format("kind: got %q%s, want %s", k, near.DidYouMean(k, starhost.CallKinds), errtext.Or(starhost.CallKinds))
		}
	}
	return ""
}

func checkFailMode(spec *starhost.EventSpec, m starhost.FailMode) error {
	switch {
	case m == "", m == starhost.FailSkip,
		m == starhost.FailDeny && slices.Contains(spec.Actions, starhost.ActionDeny),
		m == starhost.FailAbort && slices.Contains(spec.Actions, starhost.ActionAbort):
		return nil
	}
	want := []string{"skip"}
	for _, a := range []starhost.Action{starhost.ActionDeny, starhost.ActionAbort} {
		if slices.Contains(spec.Actions, a) {
			want = append(want, string(a))
		}
	}
	why := ""
	if spec.HasResult() {
		why = ": what the event is about has run. Without on_error a failure withholds the result if the plugin's files contain modify(result=)"
	}
	return errtext.Errorf("hook %s: on_error: got %q, want %s%s", spec.Name, m, errtext.Or(want), why)
}

func (r *registry) addLoader(p *starhost.Plugin, l *starhost.FragmentLoader) error {
	special := p.Name == starhost.HostPlugin && (l.Prefix == "" || l.Prefix == "-")
	if !special && !prefixName.MatchString(l.Prefix) {
		return newRegistrationError(l.Pos, "fragment loader prefix %q: want a lower-case letter, then one or more of a-z 0-9 _ -", l.Prefix)
	}
	if p.Name != starhost.HostPlugin && slices.Contains(starhost.ReservedPrefixes, l.Prefix) {
		return newRegistrationError(l.Pos, "fragment loader prefix %q is the host's own", l.Prefix)
	}
	if l.Load == nil {
		return newRegistrationError(l.Pos, "fragment loader %q has no Load", l.Prefix)
	}
	if old := r.loaders[l.Prefix]; old != nil {
		return &ConflictError{What: errtext.Format("fragment loader %q", l.Prefix), Pos: l.Pos, Old: old.Pos}
	}
	l.Plugin = p
	r.loaders[l.Prefix] = l
	return nil
}

func (r *registry) addTemplateLoader(p *starhost.Plugin, l *starhost.TemplateLoader) error {
	switch old := r.templates[l.Prefix]; {
	case !prefixName.MatchString(l.Prefix):
		return newRegistrationError(l.Pos, "template loader prefix %q: want a lower-case letter, then one or more of a-z 0-9 _ -", l.Prefix)
	case l.Load == nil:
		return newRegistrationError(l.Pos, "template loader %q has no Load", l.Prefix)
	case old != nil:
		return &ConflictError{What: errtext.Format("template loader %q", l.Prefix), Pos: l.Pos, Old: old.Pos}
	}
	l.Plugin = p
	r.templates[l.Prefix] = l
	return nil
}

func (r *registry) addCommand(p *starhost.Plugin, c *starhost.Command) error {
	if c.Call == nil {
		return newRegistrationError(c.Pos, "command %q has no Call", c.Name)
	}
	c.Plugin = p
	for _, name := range append([]string{c.Name}, c.Aliases...) {
		switch old := r.commands[name]; {
		case !pluginName.MatchString(name):
			return newRegistrationError(c.Pos, "command name %q: want a lower-case letter, then up to 63 of a-z 0-9 _ -", name)
		case slices.Contains(reservedCommands, name):
			return newRegistrationError(c.Pos, "command name %q is the host's own", name)
		case old != nil:
			return &ConflictError{What: errtext.Format("command %q", name), Pos: c.Pos, Old: old.Pos}
		}
		r.commands[name] = c
	}
	return nil
}

func (r *registry) addSkill(p *starhost.Plugin, s *starhost.Skill) error {
	key := p.Name + ":" + s.Name
	switch old := r.skills[key]; {
	case !toolName.MatchString(s.Name):
		return newRegistrationError(s.Pos, "skill name %q: want 1 to 64 of A-Z a-z 0-9 _ -", s.Name)
	case s.Load == nil:
		return newRegistrationError(s.Pos, "skill %q has no Load", s.Name)
	case old != nil:
		return &ConflictError{What: errtext.Format("skill %q", s.Name), Pos: s.Pos, Old: old.Pos}
	}
	s.Plugin = p
	r.skills[key] = s
	return nil
}

func (r *registry) addEndpoint(p *starhost.Plugin, e *starhost.Endpoint) error {
	e.Plugin = p
	completeEndpoint(e)
	if err := checkEndpoint(e); err != nil {
		return newRegistrationError(e.Pos, "model %q: %v", e.Name, err)
	}
	for _, name := range append([]string{e.Name}, e.Aliases...) {
		if p.Restricted && builtInEndpoint(name) != nil { // the plugin would get texts for that endpoint
			return newRegistrationError(e.Pos, "model %q is built in: a plugin that nobody trusts cannot take its place", name)
		}
		if old := r.endpoints[name]; old != nil {
			return &ConflictError{What: errtext.Format("model %q", name), Pos: e.Pos, Old: old.Pos}
		}
		r.endpoints[name] = e
	}
	return nil
}
