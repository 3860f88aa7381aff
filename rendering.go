package starhost

import (
	"encoding/json"
	"sync"

	"github.com/starhost/starhost/fragments"
)

// appendPieces appends the message's part of a transcript to dst: strings for everything that a
// provider sees of the message. They share memory with the contents. idOf returns an attachment's
// id.
func (m *Message) appendPieces(dst []string, idOf func(*fragments.Attachment) fragments.Hash) []string {
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

// A toolPiece is a tool's part of a transcript. The first prompt that needs it renders it.
type toolPiece struct {
	once sync.Once
	text string

	name, description, parameters string // identify the tool if a request brought it
}

// piecesOf returns a piece for each tool of a request. It returns a piece of the previous request
// again if the same tool is in the same place.
func piecesOf(tools []Tool, before []*toolPiece) []*toolPiece {
	pieces := make([]*toolPiece, len(tools))
	for i := range tools {
		t := &tools[i]
		if i < len(before) && before[i].matches(t) {
			pieces[i] = before[i]
			continue
		}
		pieces[i] = &toolPiece{name: t.Name, description: t.Description, parameters: string(t.Parameters)}
	}
	return pieces
}

// matches reports whether p is the piece of a tool like t.
func (p *toolPiece) matches(t *Tool) bool {
	return p.name == t.Name && p.description == t.Description && p.parameters == string(t.Parameters)
}

// rendering returns the tool's part of a transcript.
func (t *Tool) rendering() string {
	if t.piece == nil { // a handler of a Go program put the tool into an event
		return t.render()
	}
	t.piece.once.Do(func() { t.piece.text = t.render() })
	return t.piece.text
}

func (t *Tool) render() string {
	if isPlain(t.Name) && isPlain(t.Description) {
		return `["` + t.Name + `","` + t.Description + `"]` + string(t.Parameters) + "\n"
	}
	head, _ := json.Marshal([]string{t.Name, t.Description}) // marshalling strings cannot fail
	return string(head) + string(t.Parameters) + "\n"
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
