// Package starhost hosts plugins that decide what a language model is told and
// what it may do.
//
// A [Plugin] is a set of registrations: tools, hooks and fragment loaders. A
// [Host] holds plugins, all checked against each other. A [Session] is a
// conversation, a [Turn] one user message up to the final answer, a round one
// request to the model within a turn. [Turn.Prompt] gathers context from
// references and hooks, merges it by content and returns a [Prompt] with a
// report that explains each of its bytes; [Turn.CallTool] runs a tool through
// the guards.
//
// The central promise is that a session is append-only: each prompt is the
// previous one with bytes added at its end, because that is what a provider's
// prompt cache pays for. What breaks it is reported.
//
// A registration is a plain struct with a Go func. Nothing in this package knows
// whether a .star file, a server or a Go program wrote it, and nothing here
// evaluates Starlark.
package starhost

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/starhost/starhost/fragments"
)

// Options configure a Host. The zero value works.
type Options struct {
	// Prompt says how prompts are put together; zero fields mean the defaults of
	// [DefaultPromptOptions].
	Prompt PromptOptions
	// Tools limits what is offered, by globs on the tool's name: Deny wins, an
	// empty Allow allows all.
	Tools ToolFilter
	// Approver decides what a person must approve. Nil denies.
	Approver func(ctx context.Context, r ApprovalRequest) (bool, error)
	// Clock gives the time of a turn, read at most once a turn and only if a
	// handler asks, and how long tools take. Nil means time.Now.
	Clock func() time.Time
	// Log receives what handlers log and which ones failed, in the order of their
	// calls. Nil drops it. It may be called by several sessions at once.
	Log func(LogLine)
	// Record receives the effects of handlers, in the order in which the calls of
	// the handlers are due. Nil drops them. It may be called by several sessions at
	// once.
	Record func(Entry)
	// Workers is the most loaders of one prompt that run at a time; zero or less
	// means 8.
	Workers int
	// LoadersLastFirst starts the loaders of one prompt from the last one on. What
	// they give must not depend on it: tests use it to find out.
	LoadersLastFirst bool
	// MaxWaiting is the most turns of one session that wait for the one under way;
	// zero means 16, less than that none. One more is an error.
	MaxWaiting int
}

// A ToolFilter selects tools by name. The zero value selects all.
type ToolFilter struct{ Allow, Deny []string }

// admits reports whether the filter lets name through.
func (f ToolFilter) admits(name string) bool {
	return (len(f.Allow) == 0 || matchAny(f.Allow, name)) && !matchAny(f.Deny, name)
}

// Dedup says which earlier messages a fragment is looked for in.
type Dedup string

// The kinds of dedup. The zero value means DedupSession.
const (
	DedupSession Dedup = "session" // a content is sent once a session
	DedupPrompt  Dedup = "prompt"  // a content is sent once a turn
)

// PromptOptions say how prompts are put together.
type PromptOptions struct {
	Dedup  Dedup
	Render fragments.Rendering
	Budget fragments.Budget
}

// DefaultPromptOptions returns what zero fields of PromptOptions mean.
func DefaultPromptOptions() PromptOptions {
	return PromptOptions{Dedup: DedupSession, Render: fragments.Plain, Budget: fragments.DefaultBudget()}
}

// An ApprovalRequest is what a person is asked.
type ApprovalRequest struct {
	SessionID string
	Call      ToolCall
	Plugin    string   // that registered the tool
	Reasons   []string // why approval is needed
}

// A Host holds plugins. It is safe for concurrent use; sessions see the plugins
// that were there when their turn began.
type Host struct {
	opts     Options
	mu       sync.Mutex // held by Add
	registry atomic.Pointer[registry]
	sessions atomic.Int64
}

// New returns a Host without plugins.
func New(o Options) *Host {
	d := DefaultPromptOptions()
	o.Prompt.Dedup = cmp.Or(o.Prompt.Dedup, d.Dedup)
	o.Prompt.Render = cmp.Or(o.Prompt.Render, d.Render)
	b := &o.Prompt.Budget
	b.MaxBytes = cmp.Or(b.MaxBytes, d.Budget.MaxBytes)
	b.MaxFragment = cmp.Or(b.MaxFragment, d.Budget.MaxFragment)
	b.MaxPlugin = cmp.Or(b.MaxPlugin, d.Budget.MaxPlugin)
	b.MaxAttachments = cmp.Or(b.MaxAttachments, d.Budget.MaxAttachments)
	b.MaxAttachment = cmp.Or(b.MaxAttachment, d.Budget.MaxAttachment)
	b.MaxPixels = cmp.Or(b.MaxPixels, d.Budget.MaxPixels)
	if o.Workers <= 0 {
		o.Workers = 8
	}
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 16)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = func(LogLine) {}
	}
	h := &Host{opts: o}
	h.registry.Store(&registry{tools: map[string]*Tool{}, hooks: map[string][]*Hook{}, loaders: map[string]*FragmentLoader{}})
	return h
}

// A registry is everything that is registered, immutable once it is published.
type registry struct {
	plugins []*Plugin
	tools   map[string]*Tool
	hooks   map[string][]*Hook // by event, in the total order
	loaders map[string]*FragmentLoader
}

// clone returns a copy that can be added to.
func (r *registry) clone() *registry {
	c := &registry{
		plugins: slices.Clone(r.plugins),
		tools:   make(map[string]*Tool, len(r.tools)+1),
		hooks:   make(map[string][]*Hook, len(r.hooks)+1),
		loaders: make(map[string]*FragmentLoader, len(r.loaders)+1),
	}
	maps.Copy(c.tools, r.tools)
	maps.Copy(c.loaders, r.loaders)
	for event, hooks := range r.hooks {
		c.hooks[event] = slices.Clone(hooks)
	}
	return c
}

// offer returns the tools that a filter admits, by name.
func (r *registry) offer(f ToolFilter) []Tool {
	var tools []Tool
	for _, name := range sortedKeys(r.tools) {
		if f.admits(name) {
			tools = append(tools, *r.tools[name])
		}
	}
	return tools
}

// Add takes all registrations of all the plugins, or none: a bad name, a bad
// schema or a name that another plugin has is an error that shows the place, or
// both. It is a *RegistrationError or a *ConflictError, but for a bad plugin name.
func (h *Host) Add(plugins ...Plugin) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	next := h.registry.Load().clone()
	for i := range plugins {
		if err := next.add(plugins[i]); err != nil {
			return err
		}
	}
	for _, hooks := range next.hooks {
		slices.SortStableFunc(hooks, func(a, b *Hook) int {
			return cmp.Or(cmp.Compare(a.Priority, b.Priority), strings.Compare(a.plugin, b.plugin), cmp.Compare(a.order, b.order))
		})
	}
	h.registry.Store(next)
	return nil
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
	return f.min <= len(s) && len(s) <= f.max && strings.IndexByte(f.first, s[0]) >= 0 && strings.Trim(s, f.rest) == ""
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
)

// ReservedPrefixes are the reference prefixes that are the host's own.
var ReservedPrefixes = []string{"file", "http", "https", "sha256", "skill"}

func (r *registry) add(p Plugin) error {
	if !pluginName.MatchString(p.Name) {
		return fmt.Errorf("plugin name %q: want a lower-case letter, then up to 63 of a-z 0-9 _ -", p.Name)
	}
	for _, old := range r.plugins {
		if old.Name == p.Name {
			return fmt.Errorf("plugin %q is already in this host", p.Name)
		}
	}
	for _, glob := range p.RespondsTo {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("plugin %q: respond:%s: %w", p.Name, glob, err)
		}
	}
	r.plugins = append(r.plugins, &p)
	for i := range p.Tools {
		if err := r.addTool(&p, p.Tools[i]); err != nil {
			return err
		}
	}
	for i := range p.Hooks {
		if err := r.addHook(&p, p.Hooks[i], i); err != nil {
			return err
		}
	}
	for i := range p.FragmentLoaders {
		if err := r.addLoader(&p, p.FragmentLoaders[i]); err != nil {
			return err
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

func (r *registry) addTool(p *Plugin, t Tool) error {
	fail := func(format string, args ...any) error {
		return &RegistrationError{Pos: t.Pos, Msg: fmt.Sprintf(format, args...)}
	}
	if !toolName.MatchString(t.Name) {
		return fail("tool name %q: want 1 to 64 of A-Z a-z 0-9 _ -", t.Name)
	}
	if strings.TrimSpace(t.Description) == "" {
		return fail("tool %q has no description: a model cannot know when to call it", t.Name)
	}
	if t.Call == nil {
		return fail("tool %q has no Call", t.Name)
	}
	t.Approval = cmp.Or(t.Approval, ApprovalAuto)
	if t.Approval != ApprovalAuto && t.Approval != ApprovalAsk {
		return fail("tool %q: approval: got %q, want auto or ask", t.Name, t.Approval)
	}
	if len(t.Parameters) == 0 {
		t.Parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	s, err := newSchema(t.Parameters)
	if err != nil {
		return fail("tool %q: parameters: %v", t.Name, err)
	}
	if old := r.tools[t.Name]; old != nil {
		return &ConflictError{What: fmt.Sprintf("tool %q", t.Name), Pos: t.Pos, Old: old.Pos}
	}
	t.plugin, t.schema = p.Name, s
	r.tools[t.Name] = &t
	return nil
}

func (r *registry) addHook(p *Plugin, h Hook, order int) error {
	spec, err := LookupEvent(h.Event)
	if err != nil {
		return &RegistrationError{Pos: h.Pos, Msg: err.Error()}
	}
	if len(h.Match) > 0 && !spec.Tool {
		return &RegistrationError{Pos: h.Pos, Msg: fmt.Sprintf("hook %s: match: the event is not about a tool", h.Event)}
	}
	for _, glob := range h.Match {
		if _, err := path.Match(glob, ""); err != nil {
			return &RegistrationError{Pos: h.Pos, Msg: fmt.Sprintf("hook %s: match: %q: %v", h.Event, glob, err)}
		}
	}
	if err := checkFailMode(spec, h.OnError); err != nil {
		return &RegistrationError{Pos: h.Pos, Msg: err.Error()}
	}
	if h.Call == nil {
		return &RegistrationError{Pos: h.Pos, Msg: fmt.Sprintf("hook %s has no Call", h.Event)}
	}
	h.plugin, h.order, h.warn = p.Name, order, p.Warn
	r.hooks[h.Event] = append(r.hooks[h.Event], &h)
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

func (r *registry) addLoader(p *Plugin, l FragmentLoader) error {
	fail := func(format string, args ...any) error {
		return &RegistrationError{Pos: l.Pos, Msg: fmt.Sprintf(format, args...)}
	}
	special := p.Name == HostPlugin && (l.Prefix == "" || l.Prefix == "-")
	if !special && !prefixName.MatchString(l.Prefix) {
		return fail("fragment loader prefix %q: want a lower-case letter, then one or more of a-z 0-9 _ -", l.Prefix)
	}
	if p.Name != HostPlugin && slices.Contains(ReservedPrefixes, l.Prefix) {
		return fail("fragment loader prefix %q is the host's own", l.Prefix)
	}
	if l.Load == nil {
		return fail("fragment loader %q has no Load", l.Prefix)
	}
	if old := r.loaders[l.Prefix]; old != nil {
		return &ConflictError{What: fmt.Sprintf("fragment loader %q", l.Prefix), Pos: l.Pos, Old: old.Pos}
	}
	l.plugin = p.Name
	r.loaders[l.Prefix] = &l
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

// A HookInfo describes a registered hook.
type HookInfo struct {
	Event, Plugin string
	Priority      int
	Match         []string
	Pos           Pos
}

// Hooks returns all hooks in the order in which they run: events in the order
// of [Events], then priority, plugin name, order of registration.
func (h *Host) Hooks() []HookInfo {
	r := h.registry.Load()
	var infos []HookInfo
	for _, spec := range events {
		for _, k := range r.hooks[spec.Name] {
			infos = append(infos, HookInfo{Event: k.Event, Plugin: k.plugin, Priority: k.Priority, Match: k.Match, Pos: k.Pos})
		}
	}
	return infos
}

// Tools returns all tools that the host's filter admits, by name.
func (h *Host) Tools() []Tool {
	return h.registry.Load().offer(h.opts.Tools)
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
