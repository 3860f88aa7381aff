package starhost

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/errtext"
)

// The roles of messages. System text is not a message: see [Prompt].
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// A ToolCall is the model's request to run a tool.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object; empty means {}
}

// A Result is the outcome of a tool call. The zero value is an empty success.
type Result struct {
	ForLLM      string                 // text for the model
	ForUser     string                 // the user sees it beside the call
	Silent      bool                   // the user sees nothing of it
	IsError     bool                   // the call failed; ForLLM says why
	Handled     bool                   // it is the turn's final answer: no further request
	Attachments []fragments.Attachment // sent to the model with the text
}

// shown returns the text for the user.
func (r *Result) shown() string {
	if r.Silent {
		return ""
	}
	return cmp.Or(r.ForUser, r.ForLLM)
}

// attribute returns the result with the origin of the attachments that do not name a plugin.
func (r Result) attribute(source, plugin string, pos Pos) Result {
	r.Attachments = Context{Attachments: r.Attachments}.attributeMissing(source, plugin, pos).Attachments
	return r
}

// A Usage counts the tokens of a request as the provider reports them. Zero means that the provider
// did not report the number.
type Usage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Cached int64 `json:"cached_tokens"` // part of Input from the provider's cache
}

// add returns the sum of both.
func (u Usage) add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.Cached + v.Cached}
}

// A Reply is the model's answer to a prompt. The ids of its calls should differ.
type Reply struct {
	Content   string
	ToolCalls []ToolCall
	// Usage counts the tokens of the request.
	Usage Usage
	// DurationMS is how long the answer took, in milliseconds; [Turn.Run] sets it.
	DurationMS int
	// Stop says why the model stopped before the end of its answer, such as "its limit of tokens";
	// "" for a whole answer.
	Stop string
	// Native is the reply in the form of its provider, for [Message.Native].
	Native json.RawMessage
}

// A Message is one entry of a conversation.
type Message struct {
	// Role is RoleUser, RoleAssistant or RoleTool.
	Role string `json:"role"`
	// Content is the text. In a request it is the text as sent; in the history that
	// plugins see before merging, a user's own words.
	Content fragments.Text `json:"content"`
	// Attachments stand behind the text.
	Attachments []fragments.Attachment `json:"-"`
	// ToolCalls are the calls of an assistant message.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// CallID and ToolName say which call a tool message answers.
	CallID   string `json:"tool_call_id,omitempty"`
	ToolName string `json:"name,omitempty"`
	// IsError marks the answer of a call that failed.
	IsError bool `json:"is_error,omitempty"`
	// Native is an assistant message in the form of its provider, with reasoning, signatures and
	// encrypted content, which the provider wants back unchanged. Only the package of that
	// provider reads it. Nil if Content and ToolCalls say all.
	Native json.RawMessage `json:"native,omitempty"`
	// Cut marks an answer that broke off, because of an error or the user.
	Cut bool `json:"cut,omitempty"`

	merged   mergeForm
	ownWords string           // the user's own words if merged is fragmentsBefore
	contents []fragments.Hash // contents that need not be sent again
}

// Messages is the list of messages that events carry.
type Messages = List[Message]

// A mergeForm says how merging changed a message.
type mergeForm uint8

const (
	notMerged       mergeForm = iota
	fragmentsBefore           // fragments stand before the user's own words
	fragmentsOnly             // only fragments: context of a later round
)

// typedMessages returns messages as plugins see them before merging: with the users' own words, and
// without the fragments that merging added.
func typedMessages(lists ...[]Message) []Message {
	n := 1
	for _, messages := range lists {
		n += len(messages)
	}
	typed := make([]Message, 0, n)
	for _, messages := range lists {
		for i := range messages {
			switch m := &messages[i]; m.merged {
			case fragmentsOnly:
			case fragmentsBefore:
				typed = append(typed, Message{Role: m.Role, Content: fragments.NewText(m.ownWords)})
			default:
				typed = append(typed, *m)
			}
		}
	}
	return typed
}

// checkHistory returns an error for a history that no provider accepts: each call of a tool needs
// one answer behind it.
func checkHistory(list []Message) error {
	waiting := map[string]int{} // calls without an answer, by id
	for i := range list {
		m := &list[i]
		if m.Role == RoleTool {
			if waiting[m.CallID]--; waiting[m.CallID] < 0 {
				return errtext.Errorf("modify: history: [%d]: got the answer to call %q, which no message before it makes", i, m.CallID)
			}
			continue
		}
		for id, n := range waiting {
			if n > 0 {
				return errtext.Errorf("modify: history: [%d]: got no answer to call %q before it", i, id)
			}
		}
		for _, c := range m.ToolCalls {
			waiting[c.ID]++
		}
	}
	for id, n := range waiting {
		if n > 0 {
			return errtext.Errorf("modify: history: got no answer to call %q", id)
		}
	}
	return nil
}

// contentsOf returns the contents that starhost need not send again, because messages already
// contain them: contents from merging, and attachments of messages from other sources. It counts
// their uses back from the current one, with one use for each message of the user.
func contentsOf(messages []Message, use int) map[fragments.Hash]int {
	all := map[fragments.Hash]int{}
	add := func(id fragments.Hash) {
		if _, newer := all[id]; !newer {
			all[id] = use - 1
		}
	}
	for i := range slices.Backward(messages) {
		m := &messages[i]
		for _, id := range m.contentIDs() {
			add(id)
		}
		if m.Role == RoleUser && m.merged != fragmentsOnly {
			use--
		}
	}
	return all
}

// contentIDs returns the contents of a message that need not be sent again. The caller must not
// change the list.
func (m *Message) contentIDs() []fragments.Hash {
	if m.contents != nil {
		return m.contents
	}
	var ids []fragments.Hash
	for i := range m.Attachments {
		ids = append(ids, m.Attachments[i].ID())
	}
	return ids
}

// emptyObject stands for empty arguments and options.
var emptyObject = json.RawMessage("{}")
