package process

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
)

// A meta names the turn of a request. PicoClaw spells its members so.
type meta struct {
	AgentID      string
	TurnID       string
	ParentTurnID string
	SessionKey   string
	Iteration    int
	TracePath    string
	Source       string
}

// newMeta returns the meta of an event. source names the moment in PicoClaw's words.
func newMeta(t *host.Turn, e *starhost.Event, source string) meta {
	return meta{
		AgentID: "starhost", TurnID: fmt.Sprintf("%s-turn-%d", e.SessionID, t.Number()), SessionKey: e.SessionID,
		Iteration: e.Round, TracePath: "runTurn", Source: source,
	}
}

// toolParams are the parameters of the methods about a tool.
type toolParams struct {
	Meta      meta            `json:"meta"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Result    *result         `json:"result,omitempty"`
	Duration  int64           `json:"duration,omitempty"` // nanoseconds
	Channel   string          `json:"channel"`
	ChatID    string          `json:"chat_id"`
}

// A result is the result of a tool.
type result struct {
	ForLLM          string `json:"for_llm"`
	ForUser         string `json:"for_user,omitempty"`
	Silent          bool   `json:"silent"`
	IsError         bool   `json:"is_error"`
	Async           bool   `json:"async"`
	ResponseHandled bool   `json:"response_handled,omitempty"`
}

func newResult(r *starhost.Result) *result {
	return &result{
		ForLLM: r.ForLLM, ForUser: r.ForUser, Silent: r.Silent, IsError: r.IsError, ResponseHandled: r.Handled,
	}
}

// apply returns a host's result with the texts and flags of r.
func (r *result) apply(to starhost.Result) starhost.Result {
	to.ForLLM, to.ForUser = r.ForLLM, r.ForUser
	to.Silent, to.IsError, to.Handled = r.Silent, r.IsError, r.ResponseHandled
	return to
}

// requestParams are the parameters of hook.before_llm, and the request in its answer.
type requestParams struct {
	Meta     *meta           `json:"meta,omitempty"`
	Model    string          `json:"model"`
	Messages []chatMessage   `json:"messages"`
	Tools    []toolDef       `json:"tools,omitempty"`
	Options  json.RawMessage `json:"options,omitempty"`
	Channel  string          `json:"channel,omitempty"`
	ChatID   string          `json:"chat_id,omitempty"`
}

// A chatMessage is a message of a conversation.
type chatMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// equal reports whether two messages are the same.
func (m *chatMessage) equal(o *chatMessage) bool {
	return m.Role == o.Role && m.Content == o.Content && m.ToolCallID == o.ToolCallID &&
		slices.Equal(m.ToolCalls, o.ToolCalls)
}

// A toolCall is a call in a message of the model.
type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

// A function is the tool of a call, with its arguments as text.
type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func newToolCalls(calls []starhost.ToolCall) (list []toolCall) {
	for _, c := range calls {
		list = append(list, toolCall{c.ID, "function", function{c.Name, string(c.Arguments)}})
	}
	return list
}

// A toolDef is a tool on offer.
type toolDef struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func newToolDefs(tools []starhost.Tool) (list []toolDef) {
	for i := range tools {
		d := toolDef{Type: "function"}
		d.Function.Name, d.Function.Description = tools[i].Name, tools[i].Description
		if d.Function.Parameters = tools[i].Parameters; len(d.Function.Parameters) == 0 {
			d.Function.Parameters = json.RawMessage(`{"type":"object"}`)
		}
		list = append(list, d)
	}
	return list
}

// responseParams are the parameters of hook.after_llm, and the response in its answer.
type responseParams struct {
	Meta     *meta     `json:"meta,omitempty"`
	Model    string    `json:"model"`
	Response *response `json:"response"`
	Channel  string    `json:"channel,omitempty"`
	ChatID   string    `json:"chat_id,omitempty"`
}

// A response is an answer of the model.
type response struct {
	Role         string     `json:"role,omitempty"`
	Content      string     `json:"content"`
	ToolCalls    []toolCall `json:"tool_calls,omitempty"`
	FinishReason string     `json:"finish_reason"`
	Usage        *usage     `json:"usage,omitempty"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// runtimeEvent are the parameters of hook.runtime_event.
type runtimeEvent struct {
	Kind    string            `json:"kind"`
	Source  map[string]string `json:"source"`
	Scope   map[string]string `json:"scope"`
	Payload map[string]any    `json:"payload"`
}

// An answer is the result of any method.
type answer struct {
	Action   string          `json:"action"`
	Reason   string          `json:"reason"`
	Approved bool            `json:"approved"`
	Request  *requestParams  `json:"request"`
	Response *responseParams `json:"response"`
	Call     *struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"call"`
	Result json.RawMessage `json:"result"`
}
