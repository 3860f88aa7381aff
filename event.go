package starhost

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// An EventSpec describes one hook event: when it fires, which arguments it offers and which
// decisions its handlers may return. [Events] lists all of them, and every other list of events
// comes from there.
type EventSpec struct {
	Name  string
	Fires string // the moment, as prose
	// Args are the arguments that handlers may name, in the order of the docs.
	Args []string
	// Actions are the decisions that handlers may return.
	Actions []Action
	// Modify are the arguments that a modify may replace.
	Modify []string
	// Guard is true if a failed handler denies, unless its OnError says otherwise.
	Guard bool
	// Tool and Command say that the event is about a tool or a command, whose name hooks may match.
	Tool, Command bool
	// Plugin is the plugin that declares the event and may fire it by ctx.fire, or "".
	Plugin string
}

// CanRefuse reports whether a handler's decision can stop what the event is about.
func (s *EventSpec) CanRefuse() bool { return s.Refusal() != ActionNone }

// FailsClosed reports whether a failed handler of a plugin that can decide this ([Plugin.Decides])
// refuses the event, or withholds its result: a handler that did not run could have stopped or
// changed what the event is about.
func (s *EventSpec) FailsClosed(decides []string) bool {
	return (s.CanRefuse() || s.HasResult()) && slices.ContainsFunc(decides, func(d string) bool {
		arg, modifies := strings.CutPrefix(d, "modify ")
		if !modifies {
			return slices.Contains(s.Actions, Action(d))
		}
		return arg == "*" && len(s.Modify) > 0 || slices.Contains(s.Modify, arg)
	})
}

// HasResult reports whether handlers may change a result. It is withheld if they cannot.
func (s *EventSpec) HasResult() bool { return slices.Contains(s.Modify, "result") }

// Refusal returns the decision that stops what the event is about, ActionNone if none does.
func (s *EventSpec) Refusal() Action {
	for _, action := range []Action{ActionDeny, ActionAbort} {
		if slices.Contains(s.Actions, action) {
			return action
		}
	}
	return ActionNone
}

// Events returns the events of the host in the order of docs/events.md. A program adds events by
// [host.Options.AppEvents].
func Events() []EventSpec { return events }

var events = []EventSpec{
	{
		Name: "session_start", Fires: "a new session's first turn begins",
		Args:    []string{"session_id", "model", "platform", "workspace", "messages"},
		Actions: []Action{ActionContext},
	},
	{
		Name: "session_end", Fires: "a session that had begun is closed, by the program or by end_session",
		Args: []string{"session_id", "completed", "interrupted", "turns", "model", "platform"},
	},
	{
		Name: "session_reset", Fires: "the history is dropped; the session goes on",
		Args: []string{"session_id", "model", "platform"},
	},
	{
		Name: "turn_start", Fires: "a user message arrives, before anything is built",
		Args:    []string{"session_id", "user_message", "history", "is_first_turn", "model", "platform"},
		Actions: []Action{ActionContext, ActionModify, ActionAbort, ActionEnd},
		Modify:  []string{"user_message", "history"},
	},
	{
		Name: "turn_end", Fires: "the final answer is there, or the turn was cut",
		Args:    []string{"session_id", "user_message", "response", "completed", "tool_calls", "messages", "model", "duration_ms"},
		Actions: []Action{ActionEnd},
	},
	{
		Name: "pre_llm_call", Fires: "before each request is built",
		Args:    []string{"session_id", "user_message", "messages", "tools", "model", "options", "round", "is_first_turn", "platform"},
		Actions: []Action{ActionContext, ActionModify, ActionAbort, ActionEnd},
		Modify:  []string{"model", "options", "tools"},
	},
	{
		Name: "pre_send", Fires: "the request is complete, fragments merged",
		Args:    []string{"session_id", "system", "messages", "tools", "model", "options", "fragments", "round"},
		Actions: []Action{ActionModify, ActionAbort},
		Modify:  []string{"messages", "system", "tools", "model"},
	},
	{
		Name: "post_llm_call", Fires: "after each reply of the model",
		Args:    []string{"session_id", "response", "tool_calls", "usage", "model", "round", "duration_ms"},
		Actions: []Action{ActionModify, ActionAbort, ActionEnd},
		Modify:  []string{"response"},
	},
	{
		Name: "pre_tool_call", Fires: "the model asked for a tool",
		Args: []string{"session_id", "tool", "arguments", "call", "call_id", "plugin",
			"user_message", "platform", "roles", "round", "workspace"},
		Actions: []Action{ActionDeny, ActionAsk, ActionRespond, ActionModify, ActionAbort},
		Modify:  []string{"arguments", "command", "paths"},
		Guard:   true, Tool: true,
	},
	{
		Name: "approve_tool_call", Fires: "approval is needed",
		Args: []string{"session_id", "tool", "arguments", "call", "call_id", "plugin", "reason",
			"user_message", "platform", "roles", "round", "workspace"},
		Actions: []Action{ActionApprove, ActionDeny, ActionAsk},
		Guard:   true, Tool: true,
	},
	{
		Name: "post_tool_call", Fires: "the tool returned",
		Args: []string{"session_id", "tool", "arguments", "call", "call_id", "plugin", "result", "is_error", "duration_ms",
			"user_message", "platform", "roles", "round", "workspace"},
		Actions: []Action{ActionModify, ActionEnd},
		Modify:  []string{"result"},
		Tool:    true,
	},
	{
		Name: "pre_command", Fires: "a slash command is about to run",
		Args:    []string{"session_id", "command", "args"},
		Actions: []Action{ActionDeny, ActionModify},
		Modify:  []string{"args"},
		Guard:   true, Command: true,
	},
	{
		Name: "post_command", Fires: "a slash command ran",
		Args:    []string{"session_id", "command", "args", "result"},
		Actions: []Action{ActionModify},
		Modify:  []string{"result"},
		Command: true,
	},
	{
		Name: "pre_file_save", Fires: "the embedding program is about to write a file",
		Args:    []string{"session_id", "path", "content"},
		Actions: []Action{ActionDeny, ActionModify},
		Modify:  []string{"content"},
		Guard:   true,
	},
	{
		Name: "post_file_save", Fires: "the embedding program wrote a file",
		Args: []string{"session_id", "path", "content", "created"},
	},
	{
		Name: "error", Fires: "a handler failed; what fails in its own handlers is only logged",
		Args: []string{"plugin", "event", "message", "traceback"},
	},
}

// LookupEvent returns the description of an event, one of [Events] or one that the program
// declared, or an error with a suggestion. [host.Host.Events] returns both lists together.
func LookupEvent(name string, declared ...EventSpec) (*EventSpec, error) {
	for _, list := range [][]EventSpec{events, declared} {
		if i := slices.IndexFunc(list, func(e EventSpec) bool { return e.Name == name }); i >= 0 {
			return &list[i], nil
		}
	}
	var names []string
	for _, e := range slices.Concat(events, declared) {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if hint := near.DidYouMean(name, names); hint != "" {
		return nil, errtext.Errorf("unknown event %q%s", name, hint)
	}
	if strings.HasPrefix(name, AppPrefix) {
		return nil, errtext.Errorf("unknown event %q: events app.* are those that the program or a plugin declares", name)
	}
	return nil, errtext.Errorf("unknown event %q, want one of %s", name, strings.Join(names, ", "))
}

// AppPrefix starts the names of events that a program declares.
const AppPrefix = "app."

// An AppArg is an argument of an event that a program declares.
type AppArg struct {
	Name  string
	Value json.RawMessage // any JSON; empty means null

	view any // see SharedView
}

// SharedView returns the view that the first call made. The handlers of an event share it, so that
// a large value is decoded once and not once for each of a thousand handlers.
func (a *AppArg) SharedView(newView func() any) any {
	if a.view == nil {
		a.view = newView()
	}
	return a.view
}

// An Event is one firing of an event, with a field for every argument that any event has. A field
// has no meaning in an event whose EventSpec does not name it.
type Event struct {
	Name string

	// All events of a session set these. UserMessage and IsFirstTurn are about the running turn, and
	// between two turns about the one before.
	SessionID   string
	UserMessage string
	IsFirstTurn bool
	Model       string
	Platform    string
	Options     json.RawMessage
	Round       int      // number in the turn, from 1
	Workspace   string   // the absolute folder that the agent works in, "" if starhost does not know it
	Roles       []string // the roles of the session

	// A prompt: session_start, turn_start, pre_llm_call and pre_send.
	Messages  *Messages
	History   *Messages // the messages of earlier turns, as sent
	Tools     *Tools
	System    string
	Fragments *List[fragments.Row]

	// A tool's call: pre_tool_call, approve_tool_call and post_tool_call. Reason is the question of
	// approve_tool_call. Result, IsError and DurationMS are post_tool_call's, and Result is
	// post_command's, too.
	Tool       string
	ToolAlias  string   // the agent's name of the tool if Tool is another, "" else; hooks match both
	Foreign    bool     // Tool is an agent's tool, even if a plugin's tool has the same name
	Agent      string   // the agent that calls the tool, "" for none
	ToolKinds  []string // the kinds that a plugin's tool was registered with
	Arguments  json.RawMessage
	CallID     string
	Plugin     string // the tool's plugin; in an error event, the failed handler's plugin
	Reason     string
	Result     Result
	IsError    bool
	DurationMS int // also the model's, in post_llm_call and turn_end

	// A reply or the end: post_llm_call, turn_end and session_end.
	Response    string     // the model's answer
	ToolCalls   []ToolCall // the calls of the reply; at turn_end, of the whole turn
	Usage       Usage
	Completed   bool // the turn has its final answer; at session_end, the last turn has
	Interrupted bool // the context of the session's last turn ended it
	Turns       int  // number of the session's turns

	// A command: pre_command and post_command.
	Command string
	Args    []string // the command's arguments

	// A file: pre_file_save and post_file_save.
	Path    string
	Content string
	Created bool // the file is new

	// The event error.
	Handler   string // the failed handler: an event's name, or as in "tool page"
	Message   string // the failure's text
	Traceback string // the failure's traceback, or ""

	// App are the arguments of an event that the program declares.
	App []AppArg

	// Omitted are JSON pointers to values that a recorded event lacks: "/user_message" for an
	// argument, "/arguments/content" for a text in the arguments, in whose place another text
	// stands. OnOmitted receives the pointer of each such value that a handler of a .star file
	// names as a parameter or reads. The decision is then a guess.
	Omitted   []string
	OnOmitted func(pointer string)

	Describe    func(*Event) *CallInfo // see [host.Options.Describe]
	info        *CallInfo              // the description of the call with the arguments describedAs
	describedAs json.RawMessage
}

// The names of what [host.Options.Observe] receives beside events. No hook hears them.
const (
	EventApproval    = "approval"
	EventToolRun     = "tool_run"
	EventCommandRun  = "command_run"
	EventLoadRun     = "load_run"
	EventTemplateRun = "template_run"
)

// EventCallRan is the name of what [host.Host.ReportRun] passes to [host.Options.Observe].
const EventCallRan = "call_ran"

// IsTrace reports whether the host does not fire the event, but only passes it to
// [host.Options.Observe].
func (e *Event) IsTrace() bool {
	switch e.Name {
	case EventApproval, EventToolRun, EventCommandRun, EventLoadRun, EventTemplateRun, EventCallRan:
		return true
	}
	return false
}

// CallInfo describes the event's tool call with its current arguments. It returns nil for an event
// that is not about a tool, or without [host.Options.Describe].
func (e *Event) CallInfo() *CallInfo {
	if e.Describe == nil || e.Tool == "" {
		return nil
	}
	if e.info == nil || !bytes.Equal(e.describedAs, e.Arguments) {
		e.info, e.describedAs = e.Describe(e), e.Arguments
	}
	return e.info
}

// HasKind reports whether the event's call has one of the kinds. It reports true if the host cannot
// describe calls, because a guard must see too many calls rather than too few.
func (e *Event) HasKind(kinds []string) bool {
	if len(kinds) == 0 {
		return true
	}
	info := e.CallInfo()
	return info == nil || slices.ContainsFunc(kinds, func(k string) bool { return slices.Contains(info.Kinds, k) })
}

// eventArgs returns a pointer to an argument's field in an Event, by the argument's name.
var eventArgs = map[string]func(*Event) any{
	"session_id":    func(e *Event) any { return &e.SessionID },
	"user_message":  func(e *Event) any { return &e.UserMessage },
	"is_first_turn": func(e *Event) any { return &e.IsFirstTurn },
	"model":         func(e *Event) any { return &e.Model },
	"platform":      func(e *Event) any { return &e.Platform },
	"messages":      func(e *Event) any { return &e.Messages },
	"history":       func(e *Event) any { return &e.History },
	"tools":         func(e *Event) any { return &e.Tools },
	"options":       func(e *Event) any { return &e.Options },
	"round":         func(e *Event) any { return &e.Round },
	"system":        func(e *Event) any { return &e.System },
	"fragments":     func(e *Event) any { return &e.Fragments },
	"tool":          func(e *Event) any { return &e.Tool },
	"arguments":     func(e *Event) any { return &e.Arguments },
	"call":          func(e *Event) any { info := e.CallInfo(); return &info },
	"call_id":       func(e *Event) any { return &e.CallID },
	"roles":         func(e *Event) any { return &e.Roles },
	"workspace":     func(e *Event) any { return &e.Workspace },
	"plugin":        func(e *Event) any { return &e.Plugin },
	"reason":        func(e *Event) any { return &e.Reason },
	"result":        func(e *Event) any { return &e.Result },
	"is_error":      func(e *Event) any { return &e.IsError },
	"duration_ms":   func(e *Event) any { return &e.DurationMS },
	"response":      func(e *Event) any { return &e.Response },
	"tool_calls":    func(e *Event) any { return &e.ToolCalls },
	"usage":         func(e *Event) any { return &e.Usage },
	"completed":     func(e *Event) any { return &e.Completed },
	"interrupted":   func(e *Event) any { return &e.Interrupted },
	"turns":         func(e *Event) any { return &e.Turns },
	"command":       func(e *Event) any { return &e.Command },
	"args":          func(e *Event) any { return &e.Args },
	"path":          func(e *Event) any { return &e.Path },
	"content":       func(e *Event) any { return &e.Content },
	"created":       func(e *Event) any { return &e.Created },
	"event":         func(e *Event) any { return &e.Handler },
	"message":       func(e *Event) any { return &e.Message },
	"traceback":     func(e *Event) any { return &e.Traceback },
}

// Arg returns a pointer to the field of the named argument: *string, *bool, *int, *json.RawMessage
// (a JSON object), *Result, *Usage, *[]string, *[]ToolCall, **Messages, **Tools, **CallInfo (a
// copy), **List[fragments.Row], or *AppArg if the program declares the event. It returns nil for an
// unknown name. It reports an argument that the event lacks to OnOmitted.
func (e *Event) Arg(name string) any {
	if len(e.Omitted) > 0 {
		e.reportOmitted(name)
	}
	return e.arg(name)
}

// arg is Arg without the report.
func (e *Event) arg(name string) any {
	if strings.HasPrefix(e.Name, AppPrefix) {
		if i := slices.IndexFunc(e.App, func(a AppArg) bool { return a.Name == name }); i >= 0 {
			return &e.App[i]
		}
		return nil
	}
	if field := eventArgs[name]; field != nil {
		return field(e)
	}
	return nil
}

// Subject returns the name that hooks match: the tool's or the command's.
func (e *Event) Subject() string {
	if e.Tool != "" {
		return e.Tool
	}
	return e.Command
}

// reportOmitted reports that a handler names an argument that the event lacks. For texts in the
// arguments of a call and attachments of messages, the values that the handler gets report when it
// reads them.
func (e *Event) reportOmitted(name string) {
	whole, isCall := "/"+name, name == "arguments" || name == "call"
	if name == "call" {
		whole = "/arguments"
	}
	for _, pointer := range e.Omitted {
		rest, isPart := strings.CutPrefix(pointer, whole+"/")
		if pointer == whole || isPart && !isCall && !strings.HasSuffix(rest, "/attachments") {
			e.OnOmitted(pointer)
			return
		}
	}
}

// supply removes an argument, which has a new value, from the omitted ones.
func (e *Event) supply(name string) {
	whole := "/" + name
	e.Omitted = slices.DeleteFunc(slices.Clone(e.Omitted), func(pointer string) bool {
		return pointer == whole || strings.HasPrefix(pointer, whole+"/")
	})
}
