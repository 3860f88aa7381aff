package starhost

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost/fragments"
)

// An EventSpec describes one hook event: when it fires, what it offers and what
// its handlers may return. [Events] lists them all; the host, the plugin
// vocabulary, the reference pages and the tests read nothing else.
type EventSpec struct {
	Name  string
	Fires string // when, as prose
	// Args are the arguments that handlers may name, in the order of the docs.
	Args []string
	// Actions are the decisions that handlers may return.
	Actions []Action
	// Modify are the arguments that a modify may replace.
	Modify []string
	// Guard: a handler that fails denies, unless its OnError says otherwise.
	Guard bool
	// Tool: the event is about one tool, so hooks may match on its name.
	Tool bool
}

// Events returns the table of all events, in the order of plugin-api.md.
func Events() []EventSpec { return events }

var events = []EventSpec{
	{
		Name: "session_start", Fires: "a new session's first turn begins",
		Args:    []string{"session_id", "model", "platform"},
		Actions: []Action{ActionContext},
	},
	{
		Name: "turn_start", Fires: "a user message arrives, before anything is built",
		Args:    []string{"session_id", "user_message", "is_first_turn", "model", "platform"},
		Actions: []Action{ActionContext, ActionModify, ActionAbort},
		Modify:  []string{"user_message"},
	},
	{
		Name: "pre_llm_call", Fires: "before each request is built",
		Args:    []string{"session_id", "user_message", "messages", "tools", "model", "options", "round", "is_first_turn", "platform"},
		Actions: []Action{ActionContext, ActionModify, ActionAbort},
		Modify:  []string{"model", "options", "tools"},
	},
	{
		Name: "pre_send", Fires: "the request is complete, fragments merged",
		Args:    []string{"session_id", "system", "messages", "tools", "model", "options", "fragments", "round"},
		Actions: []Action{ActionModify, ActionAbort},
		Modify:  []string{"messages", "system"},
	},
	{
		Name: "pre_tool_call", Fires: "the model asked for a tool",
		Args:    []string{"session_id", "tool", "arguments", "call_id", "plugin"},
		Actions: []Action{ActionDeny, ActionAsk, ActionRespond, ActionModify, ActionAbort},
		Modify:  []string{"arguments"},
		Guard:   true, Tool: true,
	},
	{
		Name: "approve_tool_call", Fires: "approval is needed",
		Args:    []string{"session_id", "tool", "arguments", "call_id", "plugin", "reason"},
		Actions: []Action{ActionApprove, ActionDeny, ActionAsk},
		Guard:   true, Tool: true,
	},
	{
		Name: "post_tool_call", Fires: "the tool returned",
		Args:    []string{"session_id", "tool", "arguments", "call_id", "plugin", "result", "is_error", "duration_ms"},
		Actions: []Action{ActionModify},
		Modify:  []string{"result"},
		Tool:    true,
	},
}

// foreignEvents maps the event names of other systems to ours, for suggestions.
var foreignEvents = []struct{ system, name, ours string }{
	{"PicoClaw", "before_llm", "pre_llm_call"},
	{"PicoClaw", "before_tool", "pre_tool_call"},
	{"PicoClaw", "after_tool", "post_tool_call"},
	{"PicoClaw", "approve_tool", "approve_tool_call"},
	{"gptme", "SESSION_START", "session_start"},
	{"gptme", "TURN_PRE", "turn_start"},
	{"gptme", "STEP_PRE", "pre_llm_call"},
	{"gptme", "GENERATION_PRE", "pre_llm_call"},
	{"gptme", "MESSAGE_PRE_PROCESS", "turn_start"},
	{"gptme", "TOOL_PRE_EXECUTE", "pre_tool_call"},
	{"gptme", "TOOL_EXECUTE_PRE", "pre_tool_call"},
	{"gptme", "TOOL_POST_EXECUTE", "post_tool_call"},
	{"gptme", "TOOL_EXECUTE_POST", "post_tool_call"},
	{"Hermes", "on_session_start", "session_start"},
	{"Hermes", "transform_tool_result", "post_tool_call"},
	{"Hermes", "pre_api_request", "pre_send"},
	{"Claude Code", "SessionStart", "session_start"},
	{"Claude Code", "UserPromptSubmit", "turn_start"},
	{"Claude Code", "PreToolUse", "pre_tool_call"},
	{"Claude Code", "PermissionRequest", "approve_tool_call"},
	{"Claude Code", "PostToolUse", "post_tool_call"},
}

// LookupEvent returns the event's description, or an error with a suggestion
// that knows other systems' names.
func LookupEvent(name string) (*EventSpec, error) {
	for i := range events {
		if events[i].Name == name {
			return &events[i], nil
		}
	}
	for _, f := range foreignEvents {
		if strings.EqualFold(f.name, name) {
			return nil, fmt.Errorf("unknown event %q (%s's %s is %s)", name, f.system, f.name, f.ours)
		}
	}
	names := make([]string, len(events))
	for i := range events {
		names[i] = events[i].Name
	}
	slices.Sort(names)
	if hint := didYouMean(name, names); hint != "" {
		return nil, fmt.Errorf("unknown event %q%s", name, hint)
	}
	return nil, fmt.Errorf("unknown event %q, want one of %s", name, strings.Join(names, ", "))
}

// An Event is one firing: the name and every argument that any event offers.
// Fields that its EventSpec does not name mean nothing.
type Event struct {
	Name string

	SessionID   string
	UserMessage string
	IsFirstTurn bool
	Model       string
	Platform    string
	Messages    *Messages
	Tools       *Tools
	Options     json.RawMessage
	Round       int
	System      string
	Fragments   *List[fragments.Row]
	Tool        string
	Arguments   json.RawMessage
	CallID      string
	Plugin      string // that registered the tool
	Reason      string
	Result      Result
	IsError     bool
	DurationMS  int
}

// eventArgs gives each argument's place in an Event, as a pointer.
var eventArgs = map[string]func(*Event) any{
	"session_id":    func(e *Event) any { return &e.SessionID },
	"user_message":  func(e *Event) any { return &e.UserMessage },
	"is_first_turn": func(e *Event) any { return &e.IsFirstTurn },
	"model":         func(e *Event) any { return &e.Model },
	"platform":      func(e *Event) any { return &e.Platform },
	"messages":      func(e *Event) any { return &e.Messages },
	"tools":         func(e *Event) any { return &e.Tools },
	"options":       func(e *Event) any { return &e.Options },
	"round":         func(e *Event) any { return &e.Round },
	"system":        func(e *Event) any { return &e.System },
	"fragments":     func(e *Event) any { return &e.Fragments },
	"tool":          func(e *Event) any { return &e.Tool },
	"arguments":     func(e *Event) any { return &e.Arguments },
	"call_id":       func(e *Event) any { return &e.CallID },
	"plugin":        func(e *Event) any { return &e.Plugin },
	"reason":        func(e *Event) any { return &e.Reason },
	"result":        func(e *Event) any { return &e.Result },
	"is_error":      func(e *Event) any { return &e.IsError },
	"duration_ms":   func(e *Event) any { return &e.DurationMS },
}

// Arg returns a pointer to the field that holds the named argument: *string,
// *bool, *int, *json.RawMessage, *Result, **Messages, **Tools or
// **List[fragments.Row]. It returns nil for a name that no event has.
func (e *Event) Arg(name string) any {
	if field := eventArgs[name]; field != nil {
		return field(e)
	}
	return nil
}

// set replaces an argument by a value of a modify. It refuses a value that the
// argument cannot have.
func (e *Event) set(name string, value any) error {
	switch p := e.Arg(name).(type) {
	case *string:
		if v, ok := value.(string); ok {
			*p = v
			return nil
		}
	case *json.RawMessage:
		if v, ok := value.(json.RawMessage); ok {
			if len(v) == 0 {
				v = emptyObject
			}
			if _, err := decodeObject(v); err != nil {
				return fmt.Errorf("modify: %s: %w", name, err)
			}
			*p = v
			return nil
		}
	case **Messages:
		if v, ok := value.(*Messages); ok {
			*p = v
			return nil
		}
	case *Result:
		switch v := value.(type) {
		case Result:
			*p, e.IsError = v, v.IsError
			return nil
		case string:
			p.ForLLM = v
			return nil
		}
	case **Tools:
		if v, ok := value.([]string); ok {
			kept, err := keepTools(*p, v)
			if err == nil {
				*p = kept
			}
			return err
		}
	}
	return fmt.Errorf("modify: %s: got %T, want %s", name, value, wants(e.Arg(name)))
}

// wants says in words what the field that p points to holds.
func wants(p any) string {
	switch p.(type) {
	case *string, *Result:
		return "a string"
	case *bool:
		return "true or false"
	case *int:
		return "an integer"
	case *json.RawMessage:
		return "an object"
	}
	return "a list"
}

// keepTools returns the tools of the given names, in their own order.
func keepTools(tools *Tools, names []string) (*Tools, error) {
	all := toolNames(tools)
	for _, n := range names {
		if !slices.Contains(all, n) {
			return nil, fmt.Errorf("modify: tools: %q is not on offer%s", n, didYouMean(n, all))
		}
	}
	var kept []Tool
	for _, t := range tools.Items() {
		if slices.Contains(names, t.Name) {
			kept = append(kept, t)
		}
	}
	return NewList(kept), nil
}

func toolNames(tools *Tools) []string {
	names := make([]string, tools.Len())
	for i := range names {
		names[i] = tools.At(i).Name
	}
	return names
}

// NewEvent builds an event from arguments by name, as JSON: for firing one by
// hand. Arguments that are not given are zero; unknown ones are an error.
func NewEvent(name string, args map[string]json.RawMessage) (*Event, error) {
	spec, err := LookupEvent(name)
	if err != nil {
		return nil, err
	}
	e := &Event{Name: name}
	for _, arg := range sortedKeys(args) {
		if !slices.Contains(spec.Args, arg) {
			return nil, fmt.Errorf("%s: unknown argument %q%s, it offers %s", name, arg, didYouMean(arg, spec.Args), strings.Join(spec.Args, ", "))
		}
		p := e.Arg(arg)
		if decodeArg(p, args[arg]) != nil {
			return nil, fmt.Errorf("%s: argument %q: got %s, want %s", name, arg, clip(string(args[arg])), wants(p))
		}
	}
	e.Result.IsError = e.IsError
	return e, nil
}

// decodeArg decodes JSON into the field that p points to. What its error says is
// not for people.
func decodeArg(p any, raw json.RawMessage) error {
	switch p := p.(type) {
	case **Messages:
		return decodeList(p, raw)
	case **Tools:
		return decodeList(p, raw)
	case **List[fragments.Row]:
		return decodeList(p, raw)
	case *Result:
		return json.Unmarshal(raw, &p.ForLLM)
	case *json.RawMessage:
		*p = slices.Clone(raw)
		_, err := decodeObject(raw)
		return err
	}
	return json.Unmarshal(raw, p)
}

func decodeList[T any](p **List[T], raw json.RawMessage) error {
	var items []T
	if err := json.Unmarshal(raw, &items); err != nil {
		return err
	}
	*p = NewList(items)
	return nil
}
