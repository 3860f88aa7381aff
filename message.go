package starhost

import (
	"encoding/json"
	"errors"

	"github.com/starhost/starhost/fragments"
)

// The roles of messages. System text is not a message: see [host.Prompt].
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

// A Usage counts the tokens of a request as the provider reports them. Zero means that the provider
// did not report the number.
type Usage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Cached int64 `json:"cached_tokens"` // part of Input from the provider's cache
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.Cached + v.Cached}
}

// A Reply is the model's answer to a prompt. The ids of its calls should differ.
type Reply struct {
	Content   string
	ToolCalls []ToolCall
	// Usage counts the tokens of the request.
	Usage Usage
	// DurationMS is how long the answer took, in milliseconds; [host.Turn.Run] sets it.
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

	// A host sets the fields below. Merged says how merging changed the message, OwnWords are the
	// user's own words if Merged is FragmentsBefore, and Contents are the ids of the contents that
	// need not be sent again.
	Merged   MergeForm        `json:"-"`
	OwnWords string           `json:"-"`
	Contents []fragments.Hash `json:"-"`
}

// Messages is the list of messages that events carry.
type Messages = List[Message]

// A MergeForm says how merging changed a message.
type MergeForm uint8

// The forms of merging. NotMerged is the zero value.
const (
	NotMerged       MergeForm = iota
	FragmentsBefore           // fragments stand before the user's own words
	FragmentsOnly             // only fragments: context of a later round
)

// mergeNames are the forms of merging in JSON.
var mergeNames = []string{"", "before", "only"}

// MarshalText implements [encoding.TextMarshaler].
func (f MergeForm) MarshalText() ([]byte, error) { return []byte(mergeNames[f]), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *MergeForm) UnmarshalText(text []byte) error {
	for i, name := range mergeNames {
		if string(text) == name {
			*f = MergeForm(i)
			return nil
		}
	}
	return errors.New("merged: want before or only")
}

// emptyObject stands for empty arguments and options.
var emptyObject = json.RawMessage("{}")
