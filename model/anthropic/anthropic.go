// Package anthropic speaks Anthropic's Messages interface.
//
// [Dialect] is for [model.NewClient], which sends requests and reads the answers.
package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/mediatype"
	"github.com/starhost/starhost/model"
)

// defaultMaxTokens is the value of max_tokens for a prompt whose options have none, because the
// interface requires one.
const defaultMaxTokens = 4096

// A message is one entry of "messages".
type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"` // blocks, or JSON of blocks
}

// A block is a piece of a message's content. Type determines which fields are set.
type block struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`

	Source *source `json:"source,omitempty"` // in an image or document
	Title  string  `json:"title,omitempty"`  // in a document

	ID    string          `json:"id,omitempty"` // in a tool_use
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`

	ToolUseID string `json:"tool_use_id,omitempty"` // in a tool_result
	Content   []any  `json:"content,omitempty"`
	IsError   bool   `json:"is_error,omitempty"`
}

// A source says where the bytes of an image or document are.
type source struct {
	Type      string `json:"type"` // "base64" or "url"
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// fill adds a conversation to the body of a request for the model that from names.
func fill(body map[string]any, p *host.Prompt, from string) error {
	messages, err := messagesOf(p.Messages, from)
	body["max_tokens"], body["messages"] = defaultMaxTokens, messages
	if p.System != "" {
		body["system"] = p.System
	}
	return err
}

// messagesOf returns the conversation. A tool's result becomes a user message, and consecutive
// messages of one role become one message, because the interface requires both.
func messagesOf(list []starhost.Message, from string) ([]message, error) {
	var out []message
	for i := range list {
		role, blocks, err := list[i].Role, nativeBlocks(&list[i], from), error(nil)
		if blocks == nil {
			role, blocks, err = blocksOf(&list[i])
		}
		switch {
		case err != nil:
			return nil, err
		case len(blocks) == 0: // the interface refuses an empty message
		case len(out) > 0 && out[len(out)-1].Role == role:
			last := &out[len(out)-1]
			last.Content = append(last.Content, blocks...)
		default:
			out = append(out, message{role, blocks})
		}
	}
	if len(out) == 0 {
		return nil, errors.New("messages: the prompt is empty, and Messages want at least one that is not")
	}
	return out, nil
}

// blocksOf returns the role and the content of a message.
func blocksOf(m *starhost.Message) (role string, blocks []any, err error) {
	if m.Content.Len() > 0 {
		blocks = append(blocks, block{Type: "text", Text: m.Content.String()})
	}
	for i := range m.Attachments {
		b, err := blockOf(&m.Attachments[i])
		if err != nil {
			return "", nil, err
		}
		blocks = append(blocks, b)
	}
	for _, c := range m.ToolCalls {
		input := c.Arguments
		if !isObject(input) { // the model broke off in the middle
			input = json.RawMessage("{}")
		}
		blocks = append(blocks, block{Type: "tool_use", ID: c.ID, Name: c.Name, Input: input})
	}
	if m.Role != starhost.RoleTool {
		return m.Role, blocks, nil
	}
	answer := block{Type: "tool_result", ToolUseID: m.CallID, Content: blocks, IsError: m.IsError}
	return starhost.RoleUser, []any{answer}, nil
}

// isObject reports whether raw is a JSON object.
func isObject(raw json.RawMessage) bool {
	return json.Valid(raw) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{"))
}

// blockOf returns the block that contains an attachment.
func blockOf(a *fragments.Attachment) (block, error) {
	switch a.Type {
	case "image/gif", "image/jpeg", "image/png", "image/webp":
		return block{Type: "image", Source: sourceOf(a)}, nil
	case "application/pdf":
		return block{Type: "document", Source: sourceOf(a), Title: a.Name}, nil
	}
	if a.URL == "" && a.Content != "" && mediatype.IsText(a.Type, a.Content) {
		return block{Type: "text", Text: a.Content}, nil
	}
	return block{}, model.RefuseAttachment(a, "a GIF, JPEG, PNG or WebP image, PDF, or text that is not empty and not by URL: Messages carry nothing else")
}

func sourceOf(a *fragments.Attachment) *source {
	if a.URL != "" {
		return &source{Type: "url", URL: a.URL}
	}
	return &source{Type: "base64", MediaType: a.Type, Data: base64.StdEncoding.EncodeToString([]byte(a.Content))}
}
