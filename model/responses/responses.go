// Package responses speaks OpenAI's Responses interface.
//
// The endpoint stores no request: each contains the whole conversation, with the model's reasoning
// in encrypted form. [Dialect] is for [model.NewClient], which sends requests and reads the answers.
package responses

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/mediatype"
	"github.com/starhost/starhost/model"
)

// An item is one entry of "input". Type determines which fields are set.
type item struct {
	Type      string `json:"type"`
	Role      string `json:"role,omitempty"`
	Content   []part `json:"content,omitempty"` // for a message
	CallID    string `json:"call_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"` // for a function_call
	Output    any    `json:"output,omitempty"`    // for a function_call_output: string or []part
}

// A part is a piece of a message's content.
type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	FileName string `json:"filename,omitempty"`
	FileData string `json:"file_data,omitempty"`
	FileURL  string `json:"file_url,omitempty"`
}

type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// encrypted is the value of "include" that asks for encrypted reasoning.
const encrypted = "reasoning.encrypted_content"

// fill adds a conversation to the body of a request for the model that from names.
func fill(body map[string]any, p *host.Prompt, from string) error {
	input, err := itemsOf(p.Messages, from)
	body["input"], body["store"], body["include"] = input, false, []string{encrypted}
	if p.System != "" {
		body["instructions"] = p.System
	}
	return err
}

// refuses reports whether a message refuses encrypted reasoning, as models without reasoning do.
func refuses(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "encrypted content") || strings.Contains(message, encrypted)
}

// itemsOf returns the conversation.
func itemsOf(list []starhost.Message, from string) ([]any, error) {
	var out []any
	for i := range list {
		m := &list[i]
		if own := nativeItems(m, from); own != nil {
			out = append(out, own...)
			continue
		}
		items, err := messageItems(m)
		if err != nil {
			return nil, err
		}
		out = append(out, items...)
	}
	if len(out) == 0 {
		return nil, errors.New("input: the prompt is empty, and Responses want at least one message that is not")
	}
	return out, nil
}

// messageItems returns the items of a message.
func messageItems(m *starhost.Message) ([]any, error) {
	kind := "input_text"
	if m.Role == starhost.RoleAssistant {
		kind = "output_text"
	}
	var parts []part
	if m.Content.Len() > 0 {
		parts = append(parts, part{Type: kind, Text: m.Content.String()})
	}
	for i := range m.Attachments {
		p, err := partOf(&m.Attachments[i])
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	if m.Role == starhost.RoleTool {
		return []any{outputOf(m, parts)}, nil
	}
	var out []any
	if len(parts) > 0 {
		out = append(out, item{Type: "message", Role: m.Role, Content: parts})
	}
	for _, c := range m.ToolCalls {
		arguments := cmp.Or(string(c.Arguments), "{}")
		out = append(out, item{Type: "function_call", CallID: c.ID, Name: c.Name, Arguments: arguments})
	}
	return out, nil
}

// outputOf returns the result of a call: a text, or parts if it has attachments.
func outputOf(m *starhost.Message, parts []part) item {
	text := model.ToolText(m)
	out := item{Type: "function_call_output", CallID: m.CallID, Output: text}
	if len(m.Attachments) > 0 {
		parts = parts[len(parts)-len(m.Attachments):]
		if text != "" {
			parts = append([]part{{Type: "input_text", Text: text}}, parts...)
		}
		out.Output = parts
	}
	return out
}

// partOf returns the part that contains an attachment.
func partOf(a *fragments.Attachment) (part, error) {
	switch a.Type {
	case "image/gif", "image/jpeg", "image/png", "image/webp":
		return part{Type: "input_image", ImageURL: mediatype.Address(a.URL, a.Type, a.Content)}, nil
	case "application/pdf":
		if a.URL != "" {
			return part{Type: "input_file", FileURL: a.URL}, nil
		}
		return part{Type: "input_file", FileName: model.NameOf(a), FileData: mediatype.Address("", a.Type, a.Content)}, nil
	}
	if a.URL == "" && a.Content != "" && mediatype.IsText(a.Type, a.Content) {
		return part{Type: "input_text", Text: a.Content}, nil
	}
	return part{}, model.RefuseAttachment(a, "a GIF, JPEG, PNG or WebP image, PDF, or text that is not empty and not by URL: Responses carry nothing else")
}
