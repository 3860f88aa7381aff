package trace

import (
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
)

// claudeLine reads a line of Claude Code, as 2.1.332 writes it. A subagent has a file of its own, with
// the session of the first agent. Lines about requests repeat earlier ones.
func claudeLine(f *file, d *document) bool {
	f.session, f.version, f.folder = d.text(0, "sessionId"), d.text(0, "version"), d.text(0, "cwd")
	switch d.text(0, "type") {
	case "assistant":
		for _, part := range d.Elements(d.at(0, "message.content")) {
			if d.text(part, "type") == "tool_use" {
				f.call(Call{
					ID: d.text(part, "id"), Time: d.time(0, "timestamp"), Tool: d.text(part, "name"), Arguments: d.object(part, "input"),
					Subagent: d.IsTrue(d.at(0, "isSidechain")),
				})
			}
		}
		return true
	case "user":
		for _, part := range d.Elements(d.at(0, "message.content")) {
			if d.text(part, "type") == "tool_result" {
				id, result := d.text(part, "tool_use_id"), claudeResult(d, part)
				if c := f.open[id]; c != nil && result == Refused && strings.HasPrefix(c.Tool, "mcp__") {
					result = Worded // a server may write these words, too
				}
				f.result(id, result, d.time(0, "timestamp"))
			}
		}
		return true
	}
	return strings.HasPrefix(d.text(0, "type"), "api-request") || d.HasKind(d.at(0, "data"), jsontext.Object) // progress of a subagent
}

// claudeResult returns the result of a call: its line says who denied it.
func claudeResult(d *document, part int) Result {
	isError := d.IsTrue(d.at(part, "is_error"))
	content := d.at(part, "content")
	switch {
	case d.text(0, "permissionDecision.decision") == "reject", d.text(0, "toolDenialKind") != "": // hooks are asked before
		return Denied
	case isError && d.HasKind(content, jsontext.String) && strings.HasPrefix(d.StringAt(content), "<tool_use_error>"):
		return Refused
	case !d.HasKind(content, jsontext.String) && !d.HasKind(content, jsontext.Array) && content != jsontext.NoNode:
		return Unknown
	case isError:
		return Failed
	}
	return Ran
}
