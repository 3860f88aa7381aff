package trace

import (
	"cmp"
	"strings"
)

// copilotFirst reads the first line of a session of Copilot CLI, as 1.0.102 writes it.
func copilotFirst(f *file, d *document) {
	f.session, f.version = d.text(0, "data.sessionId"), d.text(0, "data.copilotVersion")
	f.folder = d.text(0, "data.context.cwd")
}

// copilotLine reads the beginning or the end of a call.
func copilotLine(f *file, d *document) bool {
	data := d.at(0, "data")
	switch d.text(0, "type") {
	case "tool.execution_start":
		f.call(Call{
			ID: d.text(data, "toolCallId"), Time: d.time(0, "timestamp"), Tool: d.text(data, "toolName"), Arguments: d.object(data, "arguments"),
			Session: d.text(0, "agentId"), Subagent: d.text(0, "agentId") != "", // hooks get a subagent's id as the session's
		})
		return true
	case "tool.execution_complete":
		result := Ran
		switch success, code := d.TextAt(d.at(data, "success")), d.text(data, "error.code"); {
		case success == "false" && (code == "denied" || code == "rejected"):
			result = Denied
		case success == "false":
			result = Failed
		case success != "true":
			result = Unknown
		}
		f.result(d.text(data, "toolCallId"), result, d.time(0, "timestamp"))
		return true
	case "session.start", "session.resume":
		f.folder = cmp.Or(d.text(data, "context.cwd"), f.folder)
		return true
	case "tool.execution_partial_result", "tool.execution_progress":
		return true
	}
	return d.text(0, "type") != "" && !strings.HasPrefix(d.text(0, "type"), "tool.execution_")
}
