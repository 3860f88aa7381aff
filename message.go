package starhost

import (
	"encoding/json"
	"sync"

	"github.com/starhost/starhost/fragments"
)

// The roles of messages. System text is not a message: see [Prompt].
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

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

	merged merging
	own    string           // the user's own words, where merged is inFront
	holds  []fragments.Hash // what it brings that need not be sent again
}

// merging says what merging did to a message.
type merging uint8

const (
	untouched merging = iota
	inFront           // fragments stand in front of the user's own words
	alone             // nothing but fragments: context of a later round
)

// asTyped returns messages as plugins see them before merging: with users' own
// words, without what was merged in front of them or between.
func asTyped(lists ...[]Message) []Message {
	n := 1
	for _, messages := range lists {
		n += len(messages)
	}
	typed := make([]Message, 0, n)
	for _, messages := range lists {
		for i := range messages {
			switch m := &messages[i]; m.merged {
			case alone:
			case inFront:
				typed = append(typed, Message{Role: m.Role, Content: fragments.NewText(m.own)})
			default:
				typed = append(typed, *m)
			}
		}
	}
	return typed
}

// held returns what messages bring that need not be sent again: what merging put
// there, and the attachments of messages that come from elsewhere.
func held(messages []Message) map[fragments.Hash]int {
	all := map[fragments.Hash]int{}
	for i := range messages {
		for _, id := range messages[i].holds {
			all[id] = 0
		}
		if messages[i].holds != nil {
			continue
		}
		for j := range messages[i].Attachments {
			all[messages[i].Attachments[j].ID()] = 0
		}
	}
	return all
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

// pieces appends the message's part of a transcript to dst: strings that say all
// that a provider would see of it, without copying contents. The id of each
// attachment comes from idOf.
func (m *Message) pieces(dst []string, idOf func(*fragments.Attachment) fragments.Hash) []string {
	dst = append(dst, "\n<|", m.Role, "|>\n")
	dst = append(dst, m.Content.Parts()...)
	for i := range m.Attachments {
		dst = append(dst, "\n<|attachment ", idOf(&m.Attachments[i]).String(), "|>")
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		dst = append(dst, "\n<|call ", c.ID, " ", c.Name, " ", string(c.Arguments), "|>")
	}
	if m.Role == RoleTool {
		dst = append(dst, "\n<|answers ", m.CallID, "|>")
	}
	if m.IsError {
		dst = append(dst, "\n<|error|>")
	}
	return append(dst, "\n")
}

// A toolPiece is a tool's part of a transcript, made when the first prompt needs it.
type toolPiece struct {
	once sync.Once
	text string

	name, description, parameters string // of a request's tool
}

// piecesOf returns a piece for each of a request's tools: the one before, if the request
// before had the same tool in this place.
func piecesOf(tools []Tool, before []*toolPiece) []*toolPiece {
	pieces := make([]*toolPiece, len(tools))
	for i := range tools {
		t := &tools[i]
		if i < len(before) && before[i].isOf(t) {
			pieces[i] = before[i]
			continue
		}
		pieces[i] = &toolPiece{name: t.Name, description: t.Description, parameters: string(t.Parameters)}
	}
	return pieces
}

// isOf reports whether this is the part that a tool has.
func (p *toolPiece) isOf(t *Tool) bool {
	return p.name == t.Name && p.description == t.Description && p.parameters == string(t.Parameters)
}

// rendering returns the tool's part of a transcript.
func (t *Tool) rendering() string {
	if t.piece == nil { // a Go program's handler put it into an event
		return t.render()
	}
	t.piece.once.Do(func() { t.piece.text = t.render() })
	return t.piece.text
}

func (t *Tool) render() string {
	if isPlain(t.Name) && isPlain(t.Description) {
		return `["` + t.Name + `","` + t.Description + `"]` + string(t.Parameters) + "\n"
	}
	head, _ := json.Marshal([]string{t.Name, t.Description}) // strings always marshal
	return string(head) + string(t.Parameters) + "\n"
}

// isPlain reports whether a text is in JSON as it is, between quotes.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
