package hook

import (
	"encoding/json"

	"github.com/starhost/starhost"
)

// roleSystem is the role of system text, which is no message for plugins.
const roleSystem = "system"

// A conversation is an array of messages as OpenAI's chat completions have them, which
// PicoClaw and Hermes pass on.
type conversation struct {
	places []int // the values of the array in its document
	// messages are one for each of them, without a role where it is none. Those of
	// the system are among them.
	messages []starhost.Message
}

// conversation reads an array of messages.
func (d *document) conversation(array int) *conversation {
	places := d.elements(array)
	c := &conversation{places: places, messages: make([]starhost.Message, len(places))}
	for i, m := range places {
		c.messages[i] = d.message(m)
	}
	return c
}

// message returns one message.
func (d *document) message(i int) starhost.Message {
	switch role := d.stringAt(d.get(i, "role")); role {
	case roleSystem, starhost.RoleUser, starhost.RoleAssistant, starhost.RoleTool:
		return starhost.Message{
			Role: role, Content: starhost.NewText(d.said(i)), ToolCalls: d.calls(d.get(i, "tool_calls")),
			CallID: d.stringAt(d.get(i, "tool_call_id")), ToolName: d.stringAt(d.get(i, "name")),
		}
	}
	return starhost.Message{}
}

// chat returns the messages that plugins hear of.
func (c *conversation) chat() []starhost.Message {
	first, n := 0, 0
	for i := range c.messages {
		switch c.messages[i].Role {
		case "", roleSystem:
			if n == 0 {
				first++
			}
		default:
			n++
		}
	}
	if first+n == len(c.messages) { // as the system speaks first
		return c.messages[first:]
	}
	list := make([]starhost.Message, 0, n)
	for i := range c.messages {
		if role := c.messages[i].Role; role != "" && role != roleSystem {
			list = append(list, c.messages[i])
		}
	}
	return list
}

// said returns what a message says: its content, or the texts among its parts.
func (d *document) said(message int) string {
	content := d.get(message, "content")
	if d.is(content, isArray) {
		return textOf(d.raw(content))
	}
	return d.stringAt(content)
}

// calls returns the tool calls of a message. The arguments of each are a text that is
// JSON.
func (d *document) calls(array int) (list []starhost.ToolCall) {
	for _, c := range d.elements(array) {
		function := d.get(c, "function")
		args := d.stringAt(d.get(function, "arguments"))
		if text, ok := readDocument(args); !ok || !text.is(0, isObject) {
			args = "{}"
		}
		list = append(list, starhost.ToolCall{ID: d.stringAt(d.get(c, "id")), Name: d.stringAt(d.get(function, "name")), Arguments: json.RawMessage(args)})
	}
	return list
}
