package starhost

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/starhost/starhost/schema"
)

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

// Tools is the list of tools that events carry.
type Tools = List[Tool]

// Replaced returns the tool of another plugin that this one overrides, or nil.
func (t *Tool) Replaced() *Tool { return t.replaced }

// Plugin returns the name of the plugin that registered the tool, "" for a tool
// that came with a request and that the caller runs itself.
func (t *Tool) Plugin() string { return t.plugin }

// ParameterTypes returns the schema's properties, for typing arguments that came
// as text: name to JSON Schema type, "" where the schema does not say.
func (t *Tool) ParameterTypes() map[string]string {
	var s struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
	}
	types := map[string]string{}
	if json.Unmarshal(t.Parameters, &s) != nil {
		return types
	}
	for name, p := range s.Properties {
		var typ string
		if json.Unmarshal(p.Type, &typ) != nil {
			typ = ""
		}
		types[name] = typ
	}
	return types
}

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

// A TemplateLoader makes templates from references of the form prefix:arg.
type TemplateLoader struct {
	// Prefix is ^[a-z][a-z0-9_-]+$, unique among a host's template loaders.
	Prefix string
	// Description says what the argument is.
	Description string
	// Load returns the template; a reference without ":" has an empty arg. It must
	// only read.
	Load func(ctx context.Context, t *Turn, arg string) (Template, error)
	// Pos is where the loader was registered.
	Pos Pos

	owner *Plugin
}

// A Command is what a user runs by a line such as "/deliver checkout --now".
type Command struct {
	// Name is ^[a-z][a-z0-9_-]{0,63}$, unique in a host and none of
	// [reservedCommands]. Aliases are other such names.
	Name    string
	Aliases []string
	// Description is for lists of commands.
	Description string
	// Complete returns what the arguments typed so far may become. Nil means that
	// nothing is known. It must only read.
	Complete func(ctx context.Context, t *Turn, typed string) ([]string, error)
	// Call runs the command. The result is for the user; the model does not see it.
	Call func(ctx context.Context, t *Turn, call CommandCall) (Result, error)
	// Pos is where the command was registered.
	Pos Pos

	plugin string
}

// Plugin returns the name of the plugin that registered the command.
func (c *Command) Plugin() string { return c.plugin }

// A CommandCall is one run of a command.
type CommandCall struct {
	Name string   // the command's own, also where an alias was typed
	Args []string // as a shell splits them
	Line string   // the arguments as typed
}

// A Skill is a text that is loaded on demand, by the reference
// skill:PLUGIN:NAME. It is never in a prompt by itself.
type Skill struct {
	// Name is ^[A-Za-z0-9_-]{1,64}$, unique in its plugin.
	Name string
	// Description says when the skill is of use.
	Description string
	// Files are the paths of the files that stand beside it. They are listed in
	// front of the text, as are the plugin's other skills, so that the model knows
	// what there is.
	Files []string
	// Load returns the text. It must only read.
	Load func(ctx context.Context, t *Turn) (string, error)
	// Pos is where the skill was registered.
	Pos Pos

	plugin string
}
