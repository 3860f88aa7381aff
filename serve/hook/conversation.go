package hook

import (
	"encoding/json"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// roleSystem is the role of system text. Plugins do not see such messages in the history.
const roleSystem = "system"

// A conversation is an array of messages in the format of OpenAI's chat completions, which PicoClaw
// and Hermes use.
type conversation struct {
	places []int // the nodes of the messages in the document
	// messages has one entry for each node, also for system messages. The role is "" if plugins do not know
	// the role that the node names.
	messages []starhost.Message
}

// conversation decodes an array of messages.
func (d *document) conversation(array int) *conversation {
	places := d.Elements(array)
	c := &conversation{places: places, messages: make([]starhost.Message, len(places))}
	for i, m := range places {
		c.messages[i] = d.message(m)
	}
	return c
}

// message decodes one message.
func (d *document) message(i int) starhost.Message {
	switch role := d.StringAt(d.Member(i, "role")); role {
	case roleSystem, starhost.RoleUser, starhost.RoleAssistant, starhost.RoleTool:
		return starhost.Message{
			Role: role, Content: fragments.NewText(d.messageText(i)), ToolCalls: d.toolCalls(d.Member(i, "tool_calls")),
			CallID: d.StringAt(d.Member(i, "tool_call_id")), ToolName: d.StringAt(d.Member(i, "name")),
		}
	}
	return starhost.Message{}
}

// chatMessages returns the messages that plugins see: all except system text and unknown roles.
func (c *conversation) chatMessages() []starhost.Message {
	isHidden := func(m starhost.Message) bool { return m.Role == "" || m.Role == roleSystem }
	return slices.DeleteFunc(slices.Clone(c.messages), isHidden)
}

// messageText returns the text of a message: its content, or the text parts of its content.
func (d *document) messageText(message int) string {
	content := d.Member(message, "content")
	if d.HasKind(content, arrayNode) {
		return resultText(d.CopyAt(content))
	}
	return d.StringAt(content)
}

// toolCalls decodes the tool calls of a message. Each call's arguments are a string that contains
// JSON.
func (d *document) toolCalls(array int) (list []starhost.ToolCall) {
	for _, c := range d.Elements(array) {
		function := d.Member(c, "function")
		args := d.StringAt(d.Member(function, "arguments"))
		if text, ok := readDocument(args); !ok || !text.HasKind(0, objectNode) {
			args = "{}"
		}
		list = append(list, starhost.ToolCall{
			ID: d.StringAt(d.Member(c, "id")), Name: d.StringAt(d.Member(function, "name")), Arguments: json.RawMessage(args),
		})
	}
	return list
}
