package trace

import "github.com/starhost/starhost/internal/jsontext"

// qwenLine reads a message of Qwen Code, as 0.24.4 writes it. A subagent's file has the session of
// the first agent.
func qwenLine(f *file, d *document) bool {
	if d.HasKind(d.at(0, "forkedFrom"), jsontext.Object) {
		return true // the session that it was copied from has the line, too
	}
	f.session, f.version, f.folder = d.text(0, "sessionId"), d.text(0, "version"), d.text(0, "cwd")
	for _, part := range d.Elements(d.at(0, "message.parts")) {
		if call := d.at(part, "functionCall"); call != jsontext.NoNode {
			f.call(Call{ID: d.text(call, "id"), Time: d.time(0, "timestamp"), Tool: d.text(call, "name"), Arguments: d.object(call, "args"),
				Subagent: d.IsTrue(d.at(0, "isSidechain"))})
		}
		if response := d.at(part, "functionResponse"); response != jsontext.NoNode {
			f.result(d.text(response, "id"), qwenResult(d, response), d.time(0, "timestamp"))
		}
	}
	return true
}

// qwenResult returns the result of the call of a line. The line of a subagent does not say why a call
// failed.
func qwenResult(d *document, response int) Result {
	switch status := d.text(0, "toolCallResult.executionStatus"); {
	case status == "success":
		return Ran
	case status == "error":
		return Failed
	case status == "not_started" && d.text(0, "toolCallResult.errorType") == "execution_denied":
		return Denied
	case status == "not_started":
		return Refused
	case status == "cancelled": // by a person, before it began or while it ran
		return None
	case status == "" && d.HasKind(d.at(response, "response.output"), jsontext.String):
		return Ran
	case status == "" && d.HasKind(d.at(response, "response.error"), jsontext.String):
		return wordedAs(d.text(response, "response.error"), Unknown)
	}
	return Unknown
}
