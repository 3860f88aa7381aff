package builtins

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// textField returns a field that is a string.
func textField[T any](name string, get func(*T) string) field[T] {
	return field[T]{name, func(x *T) starlark.Value { return starlark.String(get(x)) }}
}

var (
	roleField    = textField("role", func(m *starhost.Message) string { return m.Role })
	contentField = textField("content", func(m *starhost.Message) string { return m.Content.String() })
)

// messageKind describes how handlers see the messages of a conversation.
var messageKind = viewKind[starhost.Message]{
	item: "message_view", list: "messages_view",
	keys: []field[starhost.Message]{
		roleField,
		contentField,
		{"tool_calls", func(m *starhost.Message) starlark.Value { return callList(m.ToolCalls) }},
		textField("tool_call_id", func(m *starhost.Message) string { return m.CallID }),
		textField("name", func(m *starhost.Message) string { return m.ToolName }),
		{"is_error", func(m *starhost.Message) starlark.Value { return starlark.Bool(m.IsError) }},
	},
	always: 2,
	attrs: []field[starhost.Message]{
		{"attachments", func(m *starhost.Message) starlark.Value { return attachmentList(m.Attachments) }},
	},
	columns: []field[starhost.Message]{{"roles", roleField.get}, {"contents", contentField.get}},
	verbs:   []verb[starhost.Message]{{"last", lastMessage}},
	change:  changeMessage,
}

// callList converts tool calls to a frozen list of dicts.
func callList(calls []starhost.ToolCall) starlark.Value {
	elems := make([]starlark.Value, len(calls))
	for i, c := range calls {
		d := new(starlark.Dict)
		setKey(d, "id", starlark.String(c.ID))
		setKey(d, "name", starlark.String(c.Name))
		setKey(d, "arguments", objectOrText(c.Arguments))
		elems[i] = d
	}
	return freeze(starlark.NewList(elems))
}

// objectOrText converts a JSON object to a frozen dict. Arguments that are no valid JSON, because a model
// wrote them, become a string.
func objectOrText(raw json.RawMessage) starlark.Value {
	d, err := objectOf(raw)
	if err != nil {
		return starlark.String(raw)
	}
	return freeze(d)
}

// lastMessage implements messages.last.
func lastMessage(l *listView[starhost.Message], c call.Call) (starlark.Value, error) {
	var role string
	if err := c.Bind("role??", &role); err != nil {
		return nil, err
	}
	for i, m := range slices.Backward(l.items) {
		if role == "" || m.Role == role {
			return l.list.Index(i), nil
		}
	}
	return starlark.None, nil
}

// messageChanges are the fields of a message that a plugin may replace.
var messageChanges = []string{"attachments", "content", "role"}

func changeMessage(m starhost.Message, name string, v starlark.Value) (starhost.Message, error) {
	s, isText := starlark.AsString(v)
	switch {
	case name == "role" && isText:
		m.Role = s
		return m, checkRole(s)
	case name == "content" && isText:
		m.Content = fragments.NewText(s)
		return m, nil
	case name == "role", name == "content":
		return m, fmt.Errorf("%s: got %s, want string", name, v.Type())
	case name == "attachments":
		c, err := toContext(v)
		if err == nil && len(c.Fragments) > 0 {
			err = fmt.Errorf("got a fragment, want attachments")
		}
		m.Attachments = c.Attachments
		return m, err
	}
	return m, fmt.Errorf("%s cannot be changed%s, only %s", errtext.Quote(name), near.DidYouMean(name, messageChanges), strings.Join(messageChanges, ", "))
}

var roles = []string{starhost.RoleAssistant, starhost.RoleTool, starhost.RoleUser}

func checkRole(role string) error {
	if !slices.Contains(roles, role) {
		return fmt.Errorf("role: got %s, want %s%s", errtext.Quote(role), strings.Join(roles, ", "), near.DidYouMean(role, roles))
	}
	return nil
}

// toMessages converts a conversation that a handler returned. Its messages are views, which keep their
// attachments and state, or dicts.
func toMessages(v starlark.Value) (*starhost.Messages, error) {
	if l, ok := v.(*listView[starhost.Message]); ok {
		return starhost.NewList(l.items), nil
	}
	list, ok := elementsOf(v)
	if !ok {
		return nil, fmt.Errorf("got %s, want a list of messages", v.Type())
	}
	messages := make([]starhost.Message, len(list))
	for i, e := range list {
		m, err := toMessage(e)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		messages[i] = m
	}
	return starhost.NewList(messages), nil
}

func toMessage(v starlark.Value) (starhost.Message, error) {
	var m starhost.Message
	switch v := v.(type) {
	case *view[starhost.Message]:
		return *v.item, nil
	case *starlark.Dict:
		names := fieldNames(messageKind.keys)
		for _, k := range stringKeys(v) {
			if !slices.Contains(names, k) {
				return m, fmt.Errorf("unknown key %s%s, want %s", errtext.Quote(k), near.DidYouMean(k, names), strings.Join(names, ", "))
			}
		}
		raw, err := toJSON(v)
		if err != nil {
			return m, err
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return m, fmt.Errorf("got %s, want a message", errtext.Quote(string(raw)))
		}
		return m, checkRole(m.Role)
	}
	return m, fmt.Errorf("got %s, want a message (a dict with role and content)", v.Type())
}

var toolName = textField("name", func(t *starhost.Tool) string { return t.Name })

// toolKind describes how handlers see the offered tools.
var toolKind = viewKind[starhost.Tool]{
	item: "tool_view", list: "tools_view",
	keys: []field[starhost.Tool]{
		toolName,
		textField("description", func(t *starhost.Tool) string { return t.Description }),
		{"parameters", func(t *starhost.Tool) starlark.Value { return objectOrText(t.Parameters) }},
		textField("plugin", (*starhost.Tool).PluginName),
	},
	always:  3,
	columns: []field[starhost.Tool]{{"names", toolName.get}},
}

// toTools converts the tools that a handler chose: names, views, or dicts with a name and a new description.
// It returns []string if there are no dicts, and else []starhost.Tool.
func toTools(v starlark.Value) (any, error) {
	list, ok := elementsOf(v)
	if !ok {
		return nil, fmt.Errorf("got %s, want a list of tools or of their names", v.Type())
	}
	names := make([]string, len(list))
	var tools []starhost.Tool
	for i, e := range list {
		var tool starhost.Tool
		var err error
		switch e := e.(type) {
		case starlark.String:
			tool.Name = string(e)
		case *view[starhost.Tool]:
			tool.Name = e.item.Name
		case *starlark.Dict:
			tool, err = describedTool(e)
		default:
			err = fmt.Errorf("got %s, want a tool, its name, or a dict of name and description", e.Type())
		}
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if tool.Description != "" && tools == nil {
			tools = make([]starhost.Tool, i, len(list))
			for k, name := range names[:i] {
				tools[k].Name = name
			}
		}
		if names[i] = tool.Name; tools != nil {
			tools = append(tools, tool)
		}
	}
	if tools != nil {
		return tools, nil
	}
	return names, nil
}

// describedTool converts a dict with the name of a tool and its new description.
func describedTool(d *starlark.Dict) (tool starhost.Tool, err error) {
	fields := map[string]*string{"name": &tool.Name, "description": &tool.Description}
	for k, v := range d.Entries() {
		name, _ := starlark.AsString(k)
		field := fields[name]
		text, ok := starlark.AsString(v)
		switch {
		case field == nil:
			return tool, fmt.Errorf("got the key %s, want name and description, as parameters stay", errtext.Quote(name))
		case !ok || text == "":
			return tool, fmt.Errorf("%s: got %s, want a text that is not empty", name, v.Type())
		}
		if err := textError(text); err != nil {
			return tool, fmt.Errorf("%s: %w", name, err)
		}
		*field = text
	}
	if tool.Name == "" || tool.Description == "" {
		return tool, fmt.Errorf("got a dict without name or description, want both")
	}
	return tool, nil
}

var (
	rowSource  = textField("source", func(r *fragments.Row) string { return r.Source })
	rowContent = textField("content", func(r *fragments.Row) string { return r.Content })
	rowID      = textField("id", func(r *fragments.Row) string { return r.ID.String() })
)

// rowKind describes how handlers see a request's fragments, as the report of a prompt lists them.
var rowKind = viewKind[fragments.Row]{
	item: "fragment_view", list: "fragments_view",
	keys: []field[fragments.Row]{
		rowID,
		rowContent,
		rowSource,
		textField("plugin", func(r *fragments.Row) string { return r.Plugin }),
		textField("target", func(r *fragments.Row) string { return r.Target.String() }),
		{"priority", func(r *fragments.Row) starlark.Value { return starlark.MakeInt(r.Priority) }},
		textField("title", func(r *fragments.Row) string { return r.Title }),
		textField("status", func(r *fragments.Row) string { return string(r.Status) }),
		textField("reason", func(r *fragments.Row) string { return r.Reason }),
		{"offset", func(r *fragments.Row) starlark.Value { return starlark.MakeInt(r.Offset) }},
		{"length", func(r *fragments.Row) starlark.Value { return starlark.MakeInt(r.Length) }},
		{"provenance", func(r *fragments.Row) starlark.Value { return originList(r.Provenance()) }},
	},
	always:  12,
	columns: []field[fragments.Row]{{"ids", rowID.get}, {"contents", rowContent.get}, {"sources", rowSource.get}},
}

// originList converts the origins of a content to a list of dicts.
func originList(origins []fragments.Origin) starlark.Value {
	elems := make([]starlark.Value, len(origins))
	for i, o := range origins {
		d := new(starlark.Dict)
		setKey(d, "source", starlark.String(o.Source))
		setKey(d, "plugin", starlark.String(o.Plugin))
		elems[i] = d
	}
	return freeze(starlark.NewList(elems))
}
