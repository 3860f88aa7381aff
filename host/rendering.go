// This file renders the parts of a prompt's transcript, which the host compares with the previous prompt's.

package host

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// appendPieces appends a message's part of a transcript to dst: strings with everything that a provider sees
// of the message. The strings share memory with the contents. idOf returns the id of an attachment.
func appendPieces(dst []string, m *starhost.Message, idOf func(*fragments.Attachment) fragments.Hash) []string {
	dst = append(dst, "\n<|", m.Role, "|>\n")
	dst = append(dst, m.Content.Parts()...)
	for i := range m.Attachments {
		dst = append(dst, "\n<|attachment ", idOf(&m.Attachments[i]).String(), "|>")
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		dst = append(dst, "\n<|call ", c.ID, " ", c.Name, " ", string(c.Arguments), "|>")
	}
	if m.Role == starhost.RoleTool {
		dst = append(dst, "\n<|answers ", m.CallID, "|>")
	}
	if m.IsError {
		dst = append(dst, "\n<|error|>")
	}
	return append(dst, "\n")
}

// A toolPiece is a tool's part of a transcript. It is rendered when a prompt first needs it.
type toolPiece struct {
	once sync.Once
	text string

	name, description string // these fields and the parameters identify the tool
	parameters        []byte
}

func newToolPiece(t *starhost.Tool) *toolPiece {
	return &toolPiece{name: t.Name, description: t.Description, parameters: t.Parameters}
}

// pieceOf returns the piece for a tool of a prompt. It is the piece of the registered tool, which all
// sessions share, or the piece that the same tool had at the same place of the session's previous prompt.
func pieceOf(t *Turn, tool *starhost.Tool, i int) *toolPiece {
	if p := t.registry.pieces[tool.Name]; p.matches(tool) {
		return p
	}
	if before := t.session.toolPieces; i < len(before) && before[i].matches(tool) {
		return before[i]
	}
	piece := newToolPiece(tool)
	piece.parameters = bytes.Clone(piece.parameters) // copied, because the program may change its request later
	return piece
}

// matches reports whether p is the piece of a tool like t.
func (p *toolPiece) matches(t *starhost.Tool) bool {
	return p != nil && p.name == t.Name && p.description == t.Description && bytes.Equal(p.parameters, t.Parameters)
}

// rendering returns the tool's part of a transcript.
func (p *toolPiece) rendering() string {
	p.once.Do(func() { p.text = p.render() })
	return p.text
}

func (p *toolPiece) render() string {
	if isPlain(p.name) && isPlain(p.description) {
		return `["` + p.name + `","` + p.description + `"]` + string(p.parameters) + "\n"
	}
	head, _ := json.Marshal([]string{p.name, p.description}) // marshalling strings cannot fail
	return string(head) + string(p.parameters) + "\n"
}

// isPlain reports whether JSON writes a text without escapes.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}
