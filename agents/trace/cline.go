package trace

import (
	"io"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
)

// clineFile reads the messages of a session of Cline's program, as 3.0.65 writes them: one document,
// which it rewrites. A call that a hook denied has no result.
func clineFile(f *file) {
	if f.size > maxLine {
		f.spoil("a document of more than 64 MiB")
		return
	}
	text, err := io.ReadAll(io.LimitReader(f.File, f.size))
	f.Bytes += int64(len(text))
	if err != nil {
		f.spoil(reason(err))
		return
	}
	d, err := parse(string(text))
	if err != nil {
		f.spoil("a document that is no JSON")
		return
	}
	messages := d.at(0, "messages")
	if !d.HasKind(messages, jsontext.Array) {
		f.spoil("a document of an unknown form")
		return
	}
	f.session, f.version, f.subagent = d.text(0, "sessionId"), d.text(0, "origin.version"), d.text(0, "agent") != "lead"
	f.folder = clineFolder(f)
	line, counted := 1, 0
	for _, m := range d.Elements(messages) {
		start, _ := d.Span(m)
		line += strings.Count(d.Text[counted:start], "\n")
		counted, f.offset, f.row = start, int64(start), line
		if f.began.IsZero() {
			f.began = d.time(m, "ts")
		}
		for _, part := range d.Elements(d.at(m, "content")) {
			switch d.text(part, "type") {
			case "tool_use":
				f.call(Call{ID: d.text(part, "id"), Time: d.time(m, "ts"), Tool: d.text(part, "name"), Arguments: d.CopyAt(d.at(part, "input"))})
			case "tool_result":
				f.result(d.text(part, "tool_use_id"), clineResult(d, part), d.time(m, "ts"))
			case "text", "thinking", "redacted_thinking", "image", "file", "document", "":
			default: // it may be the result of any open call
				f.spoil("a part of an unknown form")
			}
		}
	}
}

// clineResult returns the result of a call: each part of it says whether it worked.
func clineResult(d *document, part int) Result {
	if d.IsTrue(d.at(part, "is_error")) {
		return Failed
	}
	for _, piece := range d.Elements(d.at(part, "content")) {
		if d.TextAt(d.at(piece, "success")) == "false" {
			return Failed
		}
	}
	return Ran
}

// clineFolder returns the folder of a session, from the file beside its messages.
func clineFolder(f *file) string {
	const most = 1 << 20
	d, err := parse(readOwn(strings.TrimSuffix(f.path, ".messages.json")+".json", most))
	if err != nil {
		return ""
	}
	return d.text(0, "cwd")
}
