package hook

import (
	"encoding/json"

	"github.com/starhost/starhost"
)

// chat returns the messages of an array as OpenAI's chat completions have them, which
// PicoClaw and Hermes pass on. Those of the system, and what is none, are not among
// them: at says where in the array each one is.
func (d *document) chat(array int) (list []starhost.Message, at []int) {
	messages := d.elements(array)
	list, at = make([]starhost.Message, 0, len(messages)), make([]int, 0, len(messages))
	for i, m := range messages {
		role := d.stringAt(d.get(m, "role"))
		if role != starhost.RoleUser && role != starhost.RoleAssistant && role != starhost.RoleTool {
			continue
		}
		at = append(at, i)
		list = append(list, starhost.Message{
			Role: role, Content: starhost.NewText(d.said(m)), ToolCalls: d.calls(d.get(m, "tool_calls")),
			CallID: d.stringAt(d.get(m, "tool_call_id")), ToolName: d.stringAt(d.get(m, "name")),
		})
	}
	return list, at
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
		if text, ok := readDocument(args, nil); !ok || !text.is(0, isObject) {
			args = "{}"
		}
		list = append(list, starhost.ToolCall{ID: d.stringAt(d.get(c, "id")), Name: d.stringAt(d.get(function, "name")), Arguments: json.RawMessage(args)})
	}
	return list
}
