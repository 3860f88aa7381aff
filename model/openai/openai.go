// Package openai speaks OpenAI's Chat Completions, an interface that most providers and local
// servers have.
//
// [Dialect] is for [model.NewClient], which sends requests and reads the answers.
package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/mediatype"
	"github.com/starhost/starhost/model"
)

// A message is one entry of "messages".
type message struct {
	Role      string     `json:"role"`
	Content   any        `json:"content"` // string or []part
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
	CallID    string     `json:"tool_call_id,omitempty"`
}

// A part is a piece of a message's content. Type determines which field is set.
type part struct {
	Type  string    `json:"type"`
	Text  string    `json:"text,omitempty"`
	Image *imageURL `json:"image_url,omitempty"`
	Audio *audio    `json:"input_audio,omitempty"`
	File  *file     `json:"file,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type audio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type file struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string   `json:"type"`
	Function toolSpec `json:"function"`
}

type toolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// fill adds a conversation to the body of a request for the model that from names.
func fill(body map[string]any, p *host.Prompt, from string) error {
	messages, err := messagesOf(p, from)
	body["messages"] = messages
	return err
}

// messagesOf returns the conversation. A tool's message can contain only text, so a user
// message with the tools' attachments follows their results.
func messagesOf(p *host.Prompt, from string) ([]any, error) {
	var out []any
	if p.System != "" {
		out = append(out, message{Role: "system", Content: p.System})
	}
	var attached []part // by tools, since the last message of another role
	flush := func() {
		if len(attached) > 0 {
			out = append(out, message{Role: "user", Content: attached})
			attached = nil
		}
	}
	for i := range p.Messages {
		m := &p.Messages[i]
		parts, err := partsOf(m.Attachments)
		if err != nil {
			return nil, err
		}
		if m.Role == starhost.RoleTool {
			out = append(out, message{Role: "tool", Content: model.ToolText(m), CallID: m.CallID})
			attached = append(attached, parts...)
			continue
		}
		flush()
		if own := nativeMessage(m, from); own != nil && len(parts) == 0 {
			out = append(out, own)
			continue
		}
		text := content(m.Content.String(), parts)
		out = append(out, message{Role: m.Role, Content: text, ToolCalls: callsOf(m.ToolCalls)})
	}
	flush()
	return out, nil
}

// content returns text and parts, or only the text if there are no parts.
func content(text string, parts []part) any {
	if len(parts) == 0 {
		return text
	}
	if text != "" {
		parts = append([]part{{Type: "text", Text: text}}, parts...)
	}
	return parts
}

func callsOf(calls []starhost.ToolCall) []toolCall {
	var out []toolCall
	for _, c := range calls {
		arguments := cmp.Or(string(c.Arguments), "{}")
		out = append(out, toolCall{ID: c.ID, Type: "function", Function: function{c.Name, arguments}})
	}
	return out
}

func partsOf(list []fragments.Attachment) ([]part, error) {
	var parts []part
	for i := range list {
		p, err := partOf(&list[i])
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// imageTypes are the pictures that a message can contain.
var imageTypes = []string{"image/gif", "image/jpeg", "image/png", "image/webp"}

// audioFormats are the sounds that a message can contain, by type.
var audioFormats = map[string]string{"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}

// partOf returns the part that contains an attachment.
func partOf(a *fragments.Attachment) (part, error) {
	format := audioFormats[a.Type]
	switch {
	case slices.Contains(imageTypes, a.Type):
		return part{Type: "image_url", Image: &imageURL{mediatype.Address(a.URL, a.Type, a.Content)}}, nil
	case a.URL != "":
		return part{}, model.RefuseAttachment(a, "an image: Chat Completions fetch nothing else by URL")
	case a.Type == "application/pdf":
		return part{Type: "file", File: &file{model.NameOf(a), mediatype.Address("", a.Type, a.Content)}}, nil
	case format != "":
		return part{Type: "input_audio", Audio: &audio{base64.StdEncoding.EncodeToString([]byte(a.Content)), format}}, nil
	case mediatype.IsText(a.Type, a.Content) && a.Content != "":
		return part{Type: "text", Text: a.Content}, nil
	}
	return part{}, model.RefuseAttachment(a, "a GIF, JPEG, PNG or WebP image, PDF, WAV, MP3, or text that is not empty: Chat Completions carry nothing else")
}
