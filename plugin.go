package starhost

import (
	"context"
	"encoding/json"
	"time"

	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/schema"
)

// A Plugin is a named set of registrations from one .star file, one folder or one Go program. It is
// plain data. [host.Host.Add] checks it and adds all of it or nothing. It must not change afterwards.
type Plugin struct {
	// Name is ^[a-z][a-z0-9_-]{0,63}$, unique in a host.
	Name string
	// Version, Description and Owner describe the plugin in its own words.
	Version, Description, Owner string
	// From says where the plugin comes from, as the absolute path of its file. It tells plugins of
	// one name apart.
	From string
	// Required says that no session which had the plugin may go on without it: see [host.Guard].
	Required bool
	// Tools, Hooks and the others are in the order of their registration. The host uses this order
	// last when it sorts hooks.
	Tools           []Tool
	Hooks           []Hook
	FragmentLoaders []FragmentLoader
	TemplateLoaders []TemplateLoader
	Commands        []Command
	Skills          []Skill
	Endpoints       []Endpoint
	// Revision identifies the plugin's code and settings. An approval counts only for the revision
	// at the time of the question: see [host.Session.ResumeTurn].
	Revision string
	// Warn turns decisions of the plugin's hooks into warnings, so that an operator can try a
	// policy. The host logs and traces a denial as [ActionWouldDeny], and does not deny. It does
	// the same with each other decision except context.
	Warn bool
	// EventSteps is the most steps that all hooks of the plugin together may use in one event. Zero
	// means no bound. See [host.Lane.AddUsage].
	EventSteps uint64
	// Restricted limits the plugin's hooks to deny, ask, abort and context, unless the event is
	// about a tool of this plugin, and its models to names that are not built in. The loader sets
	// it for plugins of a project that the operator does not trust. Plugins of a Go program are not
	// restricted by default.
	Restricted bool
	// Rank orders hooks before their priority: those of a lower rank run first, so that no hook of
	// a higher one takes their part of the event's time and memory. The loader gives -1 to managed
	// plugins and 1 to restricted ones.
	Rank int
	// Decides lists what handlers of the plugin can decide beside guard events: "abort", and
	// "modify " with the name of an argument, or with * for any. On an event that such a decision
	// could stop or change, a failed handler without OnError refuses: see [EventSpec.FailsClosed].
	Decides []string
	// RespondsTo lists the tools of other plugins, as globs, whose calls this plugin may answer
	// (the operator's grants respond:TOOL).
	RespondsTo []string
	// Overrides lists the tools, as globs, that a tool of this plugin may replace (the operator's
	// grants override:NAME).
	Overrides []string
	// Resolve resolves the references of the plugin's templates with the plugin's own rights. The
	// context carries a read-only lane of the plugin. If Resolve is nil, templates may only refer
	// to the plugin's own loaders.
	Resolve func(ctx context.Context, ref string) (Context, error)
}

// A Tool is a function that the model may call.
type Tool struct {
	// Name is what the model calls: ^[A-Za-z0-9_-]{1,64}$, unique in a host.
	Name string `json:"name"`
	// Description tells the model what the tool is for. Required.
	Description string `json:"description"`
	// Parameters is a JSON Schema of type object. Empty means no arguments.
	Parameters json.RawMessage `json:"parameters"`
	// Toolset names the group of the tool in lists of tools; "" is none.
	Toolset string `json:"-"`
	// Alias is another name of the tool that guards match, "" for none: a mounted server's name, if
	// models do not accept it.
	Alias string `json:"-"`
	// Approval says whether each call needs an approval: [ApprovalAuto] or [ApprovalAsk].
	Approval Approval `json:"-"`
	// Timeout is the most wall-clock time of one call. Call's context ends with it, and the call's
	// result becomes an is_error result. Zero means that the tool has no limit.
	Timeout time.Duration `json:"-"`
	// Kinds are the kinds of the tool's calls, which hooks match; none means "other".
	Kinds []string `json:"-"`
	// Roles limit the tool to sessions with one of these roles; none means all sessions.
	Roles []string `json:"-"`
	// Available says whether a session gets the tool. The host calls it when the session starts,
	// and again after the plugins changed. An error means no, and the host logs it. Nil means yes.
	Available func(ctx context.Context) (bool, error) `json:"-"`
	// Override lets the tool replace another plugin's tool of the same name. Plugin.Overrides must
	// allow it.
	Override bool `json:"-"`
	// Call runs the tool. The host has validated the arguments. The model gets an error as an
	// is_error result, and the host logs the error with its traceback.
	Call func(ctx context.Context, call ToolCall) (Result, error) `json:"-"`
	// Pos is the place of the registration.
	Pos Pos `json:"-"`

	// Derived says that Parameters were derived from a signature, so that no mistake of their author
	// can make them invalid. The host then compiles them before the first call and not when it adds
	// the tool.
	Derived bool `json:"-"`

	// A host sets the fields below in its copy of the plugin.

	// Plugin is the tool's plugin, nil for a tool of a request, which the caller runs itself.
	Plugin *Plugin `json:"-"`
	// Replaced is the tool of another plugin that this one overrides, or nil.
	Replaced *Tool `json:"-"`
	// Validator checks the arguments of calls; nil for a tool of a request.
	Validator *schema.Schema `json:"-"`
}

// Tools is the list of tools that events carry.
type Tools = List[Tool]

// PluginName returns the name of the tool's plugin, or "" for a tool of a request, which the caller
// runs itself.
func (t *Tool) PluginName() string { return nameOf(t.Plugin) }

// nameOf returns the name of a plugin, "" for nil.
func nameOf(p *Plugin) string {
	if p == nil {
		return ""
	}
	return p.Name
}

// ParameterTypes returns the JSON Schema type of each property, "" if the schema names none.
// Callers use it to convert arguments from text.
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

// Schema returns the schema of the tool's arguments as a request has it. The endpoints of models
// refuse a request with some keywords at the top of a schema, and so all of its tools; these are
// left out, because the host checks the arguments itself.
func (t *Tool) Schema() json.RawMessage {
	if len(t.Parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	doc, err := jsontext.Parse(string(t.Parameters), maxSchemaDepth)
	if err != nil {
		return t.Parameters
	}
	edits := jsontext.NewEdits(&doc)
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "not", "enum"} {
		if value := doc.Member(0, keyword); value != jsontext.NoNode {
			edits.Remove(value)
		}
	}
	if edits.IsEmpty() {
		return t.Parameters
	}
	return json.RawMessage(edits.String())
}

// maxSchemaDepth is the deepest nesting of a schema of which Schema removes keywords.
const maxSchemaDepth = 512

// Approval says whether each call of a tool needs a person's approval.
type Approval string

// The kinds of approval. The zero value means ApprovalAuto.
const (
	ApprovalAuto Approval = "auto"
	ApprovalAsk  Approval = "ask"
)

// A Hook is a handler of an event.
type Hook struct {
	// Event is one of the names that [Events] lists.
	Event string
	// Priority orders hooks: lower ones run first. Hooks of one priority run in the order of their
	// plugins' names, then in the order of registration.
	Priority int
	// Match lists globs for the tool's or the command's name; none means all. It must be empty for
	// events without a tool or a command.
	Match []string
	// Kind lists kinds of calls; none means all. The hook runs for calls that have at least one of
	// them: see [CallInfo]. It must be empty for events without a tool.
	Kind []string
	// OnError says which decision a failure of the handler stands for. The zero value means the
	// event's own rule: a failed guard denies, a handler of a plugin that can stop or change the
	// event refuses it ([Plugin.Decides]), and the host skips other failed handlers.
	OnError FailMode
	// Pure says that the handler depends only on the event: it uses neither its session nor the
	// world. See [host.Host.ListensTo].
	Pure bool
	// ReadsWords says that the handler reads [Event.UserMessage]. A program that stores its session
	// between two events then stores the user's words, too.
	ReadsWords bool
	// Call runs the handler. A zero Decision has no effect.
	Call func(ctx context.Context, e *Event) (Decision, error)
	// Pos is the place of the registration.
	Pos Pos

	// Plugin is the hook's plugin. A host sets it in its copy of the plugin.
	Plugin *Plugin
}

// A FailMode says which decision the failure of a hook's handler stands for.
type FailMode string

// The fail modes. The zero value means the event's own rule.
const (
	FailSkip  FailMode = "skip"
	FailDeny  FailMode = "deny"
	FailAbort FailMode = "abort"
)

// A FragmentLoader resolves references of the form prefix:arg to context.
type FragmentLoader struct {
	// Prefix is ^[a-z][a-z0-9_-]+$, unique in a host. The plugin "host" may also register the
	// reserved prefixes, "-" for the reference "-", and "" for references that no other loader
	// resolves.
	Prefix string
	// Description describes the argument.
	Description string
	// Load returns the context for an argument. It must only read, because the host runs several
	// loaders of a prompt at once.
	Load func(ctx context.Context, arg string) (Context, error)
	// Pos is the place of the registration.
	Pos Pos

	// Plugin is the loader's plugin. A host sets it in its copy of the plugin.
	Plugin *Plugin
}

// A TemplateLoader makes templates from references of the form prefix:arg.
type TemplateLoader struct {
	// Prefix is ^[a-z][a-z0-9_-]+$, unique among a host's template loaders.
	Prefix string
	// Description describes the argument.
	Description string
	// Load returns the template. The argument is empty for a reference without ":". Load must only
	// read.
	Load func(ctx context.Context, arg string) (Template, error)
	// Pos is the place of the registration.
	Pos Pos

	// Plugin is the loader's plugin. A host sets it in its copy of the plugin.
	Plugin *Plugin
}

// A Command runs when the user types a line such as "/deliver checkout --now".
type Command struct {
	// Name is ^[a-z][a-z0-9_-]{0,63}$ and unique in a host. Names of commands that programs have
	// themselves, such as help and exit, are reserved. Aliases are other such names.
	Name    string
	Aliases []string
	// Description describes the command in lists.
	Description string
	// Complete returns completions of the arguments typed so far. Nil completes nothing. It must
	// only read.
	Complete func(ctx context.Context, typed string) ([]string, error)
	// Call runs the command. Its result is for the user; the model does not see it.
	Call func(ctx context.Context, call CommandCall) (Result, error)
	// Pos is the place of the registration.
	Pos Pos

	// Plugin is the command's plugin. A host sets it in its copy of the plugin.
	Plugin *Plugin
}

// A CommandCall is one run of a command.
type CommandCall struct {
	Name string   // the command's name, even if the user typed an alias
	Args []string // the arguments as a shell splits them
	Line string   // the arguments as typed
}

// A Skill is a text that the reference skill:PLUGIN:NAME loads on demand. No prompt contains it
// without such a reference.
type Skill struct {
	// Name is ^[A-Za-z0-9_-]{1,64}$, unique in its plugin.
	Name string
	// Description says when the model should load the skill.
	Description string
	// Files are the paths of the files beside the skill. The host lists them and the plugin's other
	// skills in front of the text, so that the model can ask for them.
	Files []string
	// Load returns the text. It must only read.
	Load func(ctx context.Context) (string, error)
	// Pos is the place of the registration.
	Pos Pos
	// Plugin is the skill's plugin. A host sets it in its copy of the plugin.
	Plugin *Plugin
}
