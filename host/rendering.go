// This file renders the parts of a prompt's transcript, which the host compares with the previous prompt's.

package host

import (
	"encoding/json"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
)

// A rendering is everything that a provider sees of a request. Its text is made piece by piece for each
// reader, because nobody reads that of a session's only prompt.
type rendering struct {
	tools    []starhost.Tool
	system   string
	messages []starhost.Message
}

// pieces yields the text in pieces.
func (r *rendering) pieces(yield func(string) bool) {
	c := cursor{of: r, idOf: (*fragments.Attachment).ID}
	for piece := c.next(); piece != "" && yield(piece); {
		piece = c.next()
	}
}

// An idFunc returns the id of an attachment.
type idFunc = func(*fragments.Attachment) fragments.Hash

// A cursor reads the text of a rendering.
type cursor struct {
	of   *rendering
	idOf idFunc
	part int      // the next part: a tool, the system text or a message
	room []string // pieces of the part before
	left []string // those that nobody has read
}

// next returns the next piece that is not empty, "" at the end.
func (c *cursor) next() (piece string) {
	for piece == "" {
		if len(c.left) == 0 {
			switch i := c.part - len(c.of.tools); {
			case i < 0:
				c.left = append(c.room[:0], toolPiece(c.of.tools[c.part]))
			case i == 0:
				c.left = append(c.room[:0], c.of.system, "\n")
			case i <= len(c.of.messages):
				c.left = appendPieces(c.room[:0], &c.of.messages[i-1], c.idOf)
			default:
				return ""
			}
			c.room, c.part = c.left, c.part+1
		}
		piece, c.left = c.left[0], c.left[1:]
	}
	return piece
}

// appendPieces appends a message's part of a rendering to dst: strings with everything that a provider sees
// of the message. The strings share memory with the contents.
func appendPieces(dst []string, m *starhost.Message, idOf idFunc) []string {
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

// toolPiece returns a tool's part of a rendering.
func toolPiece(t starhost.Tool) string {
	piece, _ := json.Marshal([]string{t.Name, t.Description}) // marshalling strings cannot fail
	return string(append(append(piece, t.Parameters...), '\n'))
}
