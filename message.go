package starhost

import (
	"cmp"
	"encoding/json"

	"github.com/starhost/starhost/fragments"
)

// The roles of messages. System text is not a message: see [Prompt].
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// A ToolCall is a request of the model to run a tool.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object; empty means {}
}

// A Result is what a tool call gives. The zero value is an empty success.
type Result struct {
	ForLLM      string                 // what the model reads
	ForUser     string                 // shown to the user beside it
	Silent      bool                   // nothing of it is shown to the user
	IsError     bool                   // the call failed; ForLLM says why
	Handled     bool                   // it is the turn's final answer: no further request
	Attachments []fragments.Attachment // sent to the model with the text
}

// shown returns what the user is told of the result.
func (r *Result) shown() string {
	if r.Silent {
		return ""
	}
	return cmp.Or(r.ForUser, r.ForLLM)
}

// attribute fills in who made the attachments that say nothing of it.
func (r Result) attribute(source, plugin string, pos Pos) Result {
	r.Attachments = Context{Attachments: r.Attachments}.attributeMissing(source, plugin, pos).Attachments
	return r
}

// A Usage is what a request cost, in tokens as the provider counts them. Zero
// means unknown.
type Usage struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Cached int64 `json:"cached_tokens"` // of Input, from the provider's cache
}

// add returns the sum of two.
func (u Usage) add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.Cached + v.Cached}
}

// A Reply is what the model answered to a prompt. The ids of its calls should
// differ.
type Reply struct {
	Content   string
	ToolCalls []ToolCall
	// Usage is what the request cost.
	Usage Usage
	// DurationMS is how long the answer took, in milliseconds; [Turn.Run] sets it.
	DurationMS int
}

// A Message is one entry of a conversation.
type Message struct {
	// Role is RoleUser, RoleAssistant or RoleTool.
	Role string `json:"role"`
	// Content is the text. In a request it is the text as sent; in the history that
	// plugins see before merging, a user's own words.
	Content fragments.Text `json:"content"`
	// Attachments follow the text.
	Attachments []fragments.Attachment `json:"-"`
	// ToolCalls are the calls an assistant message asks for.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// CallID and ToolName say which call a tool message answers.
	CallID   string `json:"tool_call_id,omitempty"`
	ToolName string `json:"name,omitempty"`
	// IsError marks the answer of a call that failed.
	IsError bool `json:"is_error,omitempty"`

	merged   mergeForm
	ownWords string           // the user's own words, where merged is fragmentsBefore
	contents []fragments.Hash // what it brings that need not be sent again
}

// Messages is the list of messages that events carry.
type Messages = List[Message]

// mergeForm says what merging did to a message.
type mergeForm uint8

const (
	notMerged       mergeForm = iota
	fragmentsBefore           // fragments stand in front of the user's own words
	fragmentsOnly             // nothing but fragments: context of a later round
)

// typedMessages returns messages as plugins see them before merging: with users' own
// words, without what was merged in front of them or between.
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

// contentsOf returns what messages bring that need not be sent again: what merging put
// there, and the attachments of messages that come from elsewhere.
func contentsOf(messages []Message) map[fragments.Hash]int {
	all := map[fragments.Hash]int{}
	for i := range messages {
		for _, id := range messages[i].contents {
			all[id] = 0
		}
		if messages[i].contents != nil {
			continue
		}
		for j := range messages[i].Attachments {
			all[messages[i].Attachments[j].ID()] = 0
		}
	}
	return all
}

// emptyObject is what empty arguments and options stand for.
var emptyObject = json.RawMessage("{}")
