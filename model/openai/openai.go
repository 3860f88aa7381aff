// Package openai speaks OpenAI's Chat Completions, an interface that most providers and local
// servers have.
//
// [Body] writes a prompt as the body of such a request. It is a function of the prompt alone:
// the same prompt gives the same bytes. [Dialect] is for [model.NewClient], which sends such bodies
// and reads the answers.
package openai

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
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

// Body returns the body of a Chat Completions request for p, as compact JSON with sorted keys,
// including the prompt's options. It returns an error for a prompt without a model, for an
// attachment of a type that a message cannot contain, and for an option that the prompt itself
// sets.
func Body(p *host.Prompt) ([]byte, error) {
	return requestBody(p, "", false)
}

// requestBody is Body for the model that from names, with its earlier answers as it wrote them.
func requestBody(p *host.Prompt, from string, stream bool) ([]byte, error) {
	if p.Model == "" {
		return nil, errors.New("got no model, want one: the interface has no default")
	}
	messages, err := messagesOf(p, from)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"model": p.Model, "messages": messages}
	if len(p.Tools) > 0 {
		body["tools"] = toolsOf(p.Tools)
	}
	if stream {
		body["stream"], body["stream_options"] = true, map[string]bool{"include_usage": true}
	}
	if err := model.MergeOptions(body, p.Options, "messages", "model", "tools", "stream"); err != nil {
		return nil, err
	}
	return jsontext.Encode(body)
}

func toolsOf(list []starhost.Tool) []tool {
	tools := make([]tool, len(list))
	for i, t := range list {
		tools[i] = tool{"function", toolSpec{t.Name, t.Description, list[i].Schema()}}
	}
	return tools
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
			out = append(out, message{Role: "tool", Content: toolText(m), CallID: m.CallID})
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
		arguments := string(c.Arguments)
		if arguments == "" {
			arguments = "{}"
		}
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
		return part{}, fmt.Errorf("attachment %s: got type %q, want an image: Chat Completions fetch nothing else by URL", a.URL, a.Type)
	case a.Type == "application/pdf":
		return part{Type: "file", File: &file{nameOf(a), mediatype.Address("", a.Type, a.Content)}}, nil
	case format != "":
		return part{Type: "input_audio", Audio: &audio{base64.StdEncoding.EncodeToString([]byte(a.Content)), format}}, nil
	case mediatype.IsText(a.Type, a.Content) && a.Content != "":
		return part{Type: "text", Text: a.Content}, nil
	}
	return part{}, fmt.Errorf("attachment %s: got type %q, want a GIF, JPEG, PNG or WebP image, PDF, WAV, MP3, or text that is not empty: Chat Completions carry nothing else", nameOf(a), a.Type)
}

// nameOf returns the name of an attachment for messages.
func nameOf(a *fragments.Attachment) string {
	return mediatype.Label(a.URL, a.Name, func() string { return a.ID().Short() })
}

// toolText returns the text of a tool's answer. The protocol has no field for a failure, so the
// text says it.
func toolText(m *starhost.Message) string {
	text := m.Content.String()
	if m.IsError {
		return strings.TrimSuffix("Error: "+text, ": ")
	}
	return text
}
