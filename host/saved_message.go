// This file stores messages as JSON, exactly to the byte.

package host

import (
	"encoding/json"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/jsontext"
)

// A savedMessage is a [starhost.Message] that JSON restores exactly.
type savedMessage struct {
	Role        string            `json:"role"`
	Content     []jsontext.Text   `json:"content"` // parts; their boundaries say which contents they are
	Attachments []savedAttachment `json:"attachments,omitempty"`
	ToolCalls   []savedCall       `json:"tool_calls,omitempty"`
	CallID      jsontext.Text     `json:"tool_call_id,omitempty"`
	ToolName    jsontext.Text     `json:"name,omitempty"`
	IsError     bool              `json:"is_error,omitempty"`
	Native      jsontext.Text     `json:"native,omitempty"` // JSON in a string, which keeps its bytes
	Cut         bool              `json:"cut,omitempty"`
	// Merged says how merging changed the message. Words are the user's own words, or nil if the last part of
	// the content has them.
	Merged   starhost.MergeForm `json:"merged,omitempty"`
	Words    *jsontext.Text     `json:"words,omitempty"`
	Contents []fragments.Hash   `json:"contents,omitempty"`
}

// A savedAttachment is an attachment whose content is in Bytes, because the content may be no text.
type savedAttachment struct {
	fragments.Attachment
	Bytes []byte `json:"bytes,omitempty"`
}

// ID returns the id of the attachment, which depends on its bytes.
func (s *savedAttachment) ID() fragments.Hash { return s.attachment().ID() }

// A savedCall is a [starhost.ToolCall] that JSON restores exactly, also if the arguments are invalid JSON.
type savedCall struct {
	ID        jsontext.Text `json:"id"`
	Name      jsontext.Text `json:"name"`
	Arguments jsontext.Text `json:"arguments"`
}

func saveMessage(m *starhost.Message) savedMessage {
	saved := savedMessage{
		Role: m.Role, CallID: jsontext.Text(m.CallID), ToolName: jsontext.Text(m.ToolName), IsError: m.IsError,
		Merged: m.Merged, Contents: m.Contents, Native: jsontext.Text(m.Native), Cut: m.Cut,
	}
	parts := m.Content.Parts()
	for _, part := range parts {
		saved.Content = append(saved.Content, jsontext.Text(part))
	}
	if words := jsontext.Text(m.OwnWords); m.Merged == starhost.FragmentsBefore && parts[len(parts)-1] != m.OwnWords {
		saved.Words = &words
	}
	for i := range m.Attachments {
		saved.Attachments = append(saved.Attachments, saveAttachment(m.Attachments[i]))
	}
	for i := range m.ToolCalls {
		saved.ToolCalls = append(saved.ToolCalls, saveCall(&m.ToolCalls[i]))
	}
	return saved
}

func saveCall(c *starhost.ToolCall) savedCall {
	return savedCall{jsontext.Text(c.ID), jsontext.Text(c.Name), jsontext.Text(c.Arguments)}
}

func (c *savedCall) call() starhost.ToolCall {
	return starhost.ToolCall{ID: string(c.ID), Name: string(c.Name), Arguments: json.RawMessage(c.Arguments)}
}

func (s *savedMessage) message() starhost.Message {
	m := starhost.Message{
		Role: s.Role, CallID: string(s.CallID), ToolName: string(s.ToolName), IsError: s.IsError,
		Merged: s.Merged, Contents: s.Contents, Cut: s.Cut,
	}
	if s.Native != "" {
		m.Native = json.RawMessage(s.Native)
	}
	if m.Merged != starhost.NotMerged && m.Contents == nil {
		m.Contents = []fragments.Hash{}
	}
	parts := make([]string, len(s.Content))
	for i, part := range s.Content {
		parts[i] = string(part)
	}
	m.Content = fragments.NewText(parts...)
	switch {
	case s.Words != nil:
		m.OwnWords = string(*s.Words)
	case m.Merged == starhost.FragmentsBefore && len(parts) > 0:
		m.OwnWords = parts[len(parts)-1]
	}
	for i := range s.Attachments {
		m.Attachments = append(m.Attachments, s.Attachments[i].attachment())
	}
	for i := range s.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, s.ToolCalls[i].call())
	}
	return m
}

func saveAttachment(a fragments.Attachment) savedAttachment {
	content := []byte(a.Content)
	a.Content = ""
	return savedAttachment{a, content}
}

func (s *savedAttachment) attachment() fragments.Attachment {
	a := s.Attachment
	a.Content = string(s.Bytes)
	return a
}
