package trace

import (
	"cmp"
	"hash/maphash"
	"path/filepath"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
)

// geminiFirst reads the first line of a chat of Gemini CLI, as 0.61.0 writes it. A subagent's file is
// in a folder with the name of the session.
func geminiFirst(f *file, d *document) {
	f.session = d.text(0, "sessionId")
	f.began = d.time(0, "startTime")
	dir := filepath.Dir(f.path)
	if d.text(0, "kind") == "subagent" || filepath.Base(dir) != "chats" {
		f.subagent, f.session, dir = true, filepath.Base(dir), filepath.Dir(dir)
	}
	f.folder = strings.TrimSpace(readOwn(filepath.Join(filepath.Dir(dir), ".project_root"), 4096))
	if f.folder == "" {
		for _, folder := range d.Elements(d.at(0, "directories")) {
			f.folder = cmp.Or(f.folder, d.StringAt(folder))
		}
	}
}

var seed = maphash.MakeSeed()

// geminiLine reads a message with calls. A resumed chat repeats its messages.
func geminiLine(f *file, d *document) bool {
	messages := []int{0}
	if all := d.at(0, "$set.messages"); all != jsontext.NoNode {
		messages = d.Elements(all)
	}
	for _, m := range messages {
		for _, call := range d.Elements(d.at(m, "toolCalls")) {
			key := maphash.String(seed, d.text(m, "id")+" "+d.text(call, "id"))
			switch {
			case f.seen[key]:
				continue
			case len(f.seen) == maxSeen:
				f.spoil("more calls than a chat has")
				return true
			}
			f.seen[key] = true
			f.call(Call{
				ID: d.text(call, "id"), Time: d.time(m, "timestamp"), Ended: d.time(call, "timestamp"), Tool: d.text(call, "name"),
				Arguments: d.object(call, "args"), Result: geminiResult(d, call),
			})
		}
	}
	return true
}

// geminiResult returns the result of a call, which is in the same line.
func geminiResult(d *document, call int) Result {
	failure := ""
	for _, part := range d.Elements(d.at(call, "result")) {
		failure = cmp.Or(failure, d.text(part, "functionResponse.response.error"))
	}
	switch status := d.text(call, "status"); {
	case status == "success":
		return Ran
	case status == "cancelled": // by a person, before it began or while it ran
		return None
	case status != "error":
		return Unknown
	case strings.HasPrefix(failure, "Tool execution blocked: "):
		return Denied
	case strings.HasPrefix(failure, "params"), strings.HasPrefix(failure, `Tool "`) && strings.Contains(failure, `" not found`):
		return Refused
	}
	return Failed
}
