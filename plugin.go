package starhost

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/schema"
)

// A Pos is a place in a plugin's source. Line and Col count from 1; zero means
// unknown. The zero Pos stands for a registration that a Go program made.
type Pos struct {
	File string
	Line int
	Col  int
}

// String returns "file:line:col", without the parts that are unknown, and "Go"
// for the zero Pos.
func (p Pos) String() string {
	switch {
	case p == Pos{}:
		return "Go"
	case p.Line == 0:
		return p.File
	case p.Col == 0:
		return p.File + ":" + strconv.Itoa(p.Line)
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col)
}

// A Plugin is a named set of registrations: what one .star file, one folder or
// one Go program offers. It is plain data; [Host.Add] checks it and takes it
// whole or not at all. It must not be changed afterwards.
type Plugin struct {
	// Name is NAME of plugin-api.md: ^[a-z][a-z0-9_-]{0,63}$, unique in a host.
	Name string
	// Version, Description and Owner are what the plugin says of itself.
	Version, Description, Owner string
	// Tools, Hooks and so on are in the order of their registration, which is the
	// last key of the host's total order.
	Tools           []Tool
	Hooks           []Hook
	FragmentLoaders []FragmentLoader
	TemplateLoaders []TemplateLoader
	Commands        []Command
	Skills          []Skill
	Endpoints       []Endpoint
	// Warn makes the hooks' denials warnings, so that a policy can be rolled out: they
	// are logged and traced as [ActionWouldDeny], and nothing is denied.
	Warn bool
	// EventSteps is the most steps of the plugin's hooks within one event, all together: see
	// [Lane.Spent]. Zero means no bound.
	EventSteps uint64
	// Restricted limits the plugin's hooks to deny, ask, abort and context, unless the event is
	// about a tool of this plugin. The loader sets it for plugins of a project that the operator
	// does not trust. Plugins of a Go program are not restricted by default.
	Restricted bool
	// RespondsTo holds the tools of other plugins, as globs, in whose stead this
	// plugin may answer (the operator's grants respond:TOOL).
	RespondsTo []string
	// Overrides holds the tools, as globs, that a tool of this plugin may replace
	// (the operator's grants override:NAME).
	Overrides []string
	// Resolve resolves the references that the plugin's templates name, with the
	// plugin's own rights; the context carries a lane of the plugin that only reads.
	// Nil, and for prefixes that the plugin has registered itself: nothing else may
	// be named.
	Resolve func(ctx context.Context, t *Turn, ref string) (Context, error)
}

// clone returns a copy that another host may take over.
func (p *Plugin) clone() *Plugin {
	c := *p
	c.Tools, c.Hooks = slices.Clone(p.Tools), slices.Clone(p.Hooks)
	c.FragmentLoaders, c.TemplateLoaders = slices.Clone(p.FragmentLoaders), slices.Clone(p.TemplateLoaders)
	c.Commands, c.Skills, c.Endpoints = slices.Clone(p.Commands), slices.Clone(p.Skills), slices.Clone(p.Endpoints)
	return &c
}

// A ToolCall is a request of the model to run a tool.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object; empty means {}
}

// A Result is what a tool call gives. The zero value is an empty success.
type Result struct {
	ForLLM      string                 // what the model reads
	ForUser     string                 // shown to the user beside it
	Silent      bool                   // nothing of it is shown to the user
	IsError     bool                   // the call failed; ForLLM says why
	Handled     bool                   // it is the turn's final answer: no further request
	Attachments []fragments.Attachment // sent to the model with the text
}

// shown returns what the user is told of the result.
func (r *Result) shown() string {
	if r.Silent {
		return ""
	}
	return cmp.Or(r.ForUser, r.ForLLM)
}

// attribute fills in who made the attachments that say nothing of it.
func (r Result) attribute(source, plugin string, pos Pos) Result {
	r.Attachments = Context{Attachments: r.Attachments}.credit(source, plugin, pos).Attachments
	return r
}

// A Tool is a function that the model may call.
type Tool struct {
	// Name is what the model calls: ^[A-Za-z0-9_-]{1,64}$, unique in a host.
	Name string `json:"name"`
	// Description tells the model what the tool is for. Required.
	Description string `json:"description"`
	// Parameters is a JSON Schema of type object. Empty means no arguments.
	Parameters json.RawMessage `json:"parameters"`
	// Toolset names the group that the tool belongs to, for those who list tools;
	// "" is none.
	Toolset string `json:"-"`
	// Approval asks for a yes before each call: [ApprovalAuto] or [ApprovalAsk].
	Approval Approval `json:"-"`
	// Timeout is the most wall-clock time of one call, which then is an is_error
	// result; Call's context ends with it. Zero means no limit of the tool's own.
	Timeout time.Duration `json:"-"`
	// Roles limit the tool to sessions that have one of them; none means all.
	Roles []string `json:"-"`
	// Available says whether a session gets the tool. It is asked when the session
	// starts, and again after the plugins changed. A failure means no, and is
	// logged. Nil means yes.
	Available func(ctx context.Context, t *Turn) (bool, error) `json:"-"`
	// Override lets the tool replace one of the same name of another plugin, which
	// Plugin.Overrides must allow.
	Override bool `json:"-"`
	// Call runs the tool. The arguments have been validated. A Go error is told
	// to the model as an is_error result and logged with its trace.
	Call func(ctx context.Context, t *Turn, call ToolCall) (Result, error) `json:"-"`
	// Pos is where the tool was registered.
	Pos Pos `json:"-"`

	derived    bool // see [seam.MarkDerived]
	plugin     string
	eventSteps uint64 // see [Plugin.EventSteps]
	schema     *schema.Schema
	replaced   *Tool
	piece      *toolPiece // of all copies
}

// Replaced returns the tool of another plugin that this one overrides, or nil.
func (t *Tool) Replaced() *Tool { return t.replaced }

// Plugin returns the name of the plugin that registered the tool, "" for a tool
// that came with a request and that the caller runs itself.
func (t *Tool) Plugin() string { return t.plugin }

// Approval says whether a tool's calls need a yes.
type Approval string

// The kinds of approval. The zero value means ApprovalAuto.
const (
	ApprovalAuto Approval = "auto"
	ApprovalAsk  Approval = "ask"
)

// A Hook is a function that an event calls.
type Hook struct {
	// Event is one of the names that [Events] lists.
	Event string
	// Priority orders hooks: lower ones run first. Then the plugin's name counts,
	// then the order of registration.
	Priority int
	// Match holds globs on the tool's or the command's name; none means all. Only
	// events about a tool or a command have it.
	Match []string
	// OnError says what a failure of the handler means; the zero value means the
	// event's own rule: guards deny, others are skipped.
	OnError FailMode
	// Pure says that the handler is a function of the event alone: it asks nothing of
	// its session or the world. See [Host.Hears].
	Pure bool
	// Call runs the handler. A returned zero Decision has no effect.
	Call func(ctx context.Context, t *Turn, e *Event) (Decision, error)
	// Pos is where the hook was registered.
	Pos Pos

	plugin     string
	at         string // Pos in words
	warn       bool   // its plugin only warns
	eventSteps uint64 // see [Plugin.EventSteps]
	restricted bool   // see [Plugin.Restricted]
}

// Hears reports whether any hook is for an event about a tool or a command, "" for
// other events, and whether one of these is not pure: then the event needs its
// session.
func (h *Host) Hears(event, subject string) (hears, needsSession bool) {
	c, err := h.registry.Load().channel(event)
	if err != nil {
		return false, false
	}
	for _, k := range c.matching(subject) {
		hears, needsSession = true, needsSession || !k.Pure
	}
	return hears, needsSession
}

// FailMode says what the failure of a hook's handler means.
type FailMode string

// The fail modes. The zero value means the event's own rule.
const (
	FailSkip  FailMode = "skip"
	FailDeny  FailMode = "deny"
	FailAbort FailMode = "abort"
)

// A FragmentLoader resolves references of the form prefix:arg to context.
type FragmentLoader struct {
	// Prefix is ^[a-z][a-z0-9_-]+$, unique in a host. The plugin named "host" may
	// also register the reserved prefixes, "-" (a reference that is just that) and
	// "" (what no other loader claims).
	Prefix string
	// Description says what the argument is.
	Description string
	// Load returns what the argument stands for. It may run beside other loaders
	// of the same prompt and must only read.
	Load func(ctx context.Context, t *Turn, arg string) (Context, error)
	// Pos is where the loader was registered.
	Pos Pos

	plugin string
	relays bool // what it returns may have been made by others, and says so
}

// A Context is what handlers give to be merged into a prompt. The zero value is
// nothing.
type Context struct {
	Fragments   []fragments.Fragment
	Attachments []fragments.Attachment
}

// Bytes returns the number of bytes of all contents.
func (c Context) Bytes() int64 {
	var n int64
	for _, f := range c.Fragments {
		n += int64(len(f.Content))
	}
	for _, a := range c.Attachments {
		n += int64(len(a.Content))
	}
	return n
}

// size is Bytes for people.
func (c Context) size() string { return strconv.FormatInt(c.Bytes(), 10) + " B" }

// empty reports whether c offers nothing at all.
func (c *Context) empty() bool { return len(c.Fragments) == 0 && len(c.Attachments) == 0 }

// attribute returns a copy of c that says who made it: the source where c has
// none, and always the plugin and the place in words. Nothing in it is pinned.
func (c Context) attribute(source, plugin, at string) Context {
	if c.empty() {
		return c
	}
	out := Context{Fragments: slices.Clone(c.Fragments), Attachments: slices.Clone(c.Attachments)}
	for i := range out.Fragments {
		f := &out.Fragments[i]
		f.Source, f.Plugin, f.Pos, f.Pinned = cmp.Or(f.Source, source), plugin, at, false
	}
	for i := range out.Attachments {
		a := &out.Attachments[i]
		a.Source, a.Plugin, a.Pos, a.Pinned = cmp.Or(a.Source, source), plugin, at, false
	}
	return out
}

// credit is attribute for the parts that do not say who made them.
func (c Context) credit(source, plugin string, pos Pos) Context {
	out := c.attribute(source, plugin, pos.String())
	for i, f := range c.Fragments {
		if f.Plugin != "" {
			out.Fragments[i] = f
		}
	}
	for i, a := range c.Attachments {
		if a.Plugin != "" {
			out.Attachments[i] = a
		}
	}
	return out
}
