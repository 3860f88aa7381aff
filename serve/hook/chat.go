package hook

import (
	"encoding/json"

	"github.com/starhost/starhost"
)

// A chatMessage is a message as OpenAI's chat completions have it, which PicoClaw
// and Hermes pass on.
type chatMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	CallID    string          `json:"tool_call_id"`
	ToolCalls []chatCall      `json:"tool_calls"`
}

// A chatCall is a tool call of such a message. The arguments are a text that is
// JSON.
type chatCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// message returns the message as plugins see it; ok is false for one of the
// system, which is none here.
func (m *chatMessage) message() (out starhost.Message, ok bool) {
	switch m.Role {
	case starhost.RoleUser, starhost.RoleAssistant, starhost.RoleTool:
	default:
		return out, false
	}
	return starhost.Message{Role: m.Role, Content: starhost.NewText(m.text()), ToolCalls: calls(m.ToolCalls), CallID: m.CallID, ToolName: m.Name}, true
}

// text returns what the message says.
func (m *chatMessage) text() string {
	if len(m.Content) == 0 || string(m.Content) == "null" {
		return ""
	}
	return textOf(m.Content)
}

func calls(list []chatCall) []starhost.ToolCall {
	var out []starhost.ToolCall
	for _, c := range list {
		args := json.RawMessage(c.Function.Arguments)
		var o object
		if json.Unmarshal(args, &o) != nil {
			args = json.RawMessage("{}")
		}
		out = append(out, starhost.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: args})
	}
	return out
}
