// This file renders the parts of a prompt's transcript, which the host compares with the previous prompt's.

package host

import (
	"encoding/json"

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

// toolPiece returns a tool's part of a transcript.
func toolPiece(t *starhost.Tool) string {
	head, _ := json.Marshal([]string{t.Name, t.Description}) // marshalling strings cannot fail
	return string(head) + string(t.Parameters) + "\n"
}
