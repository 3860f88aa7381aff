package decision

import (
	"bytes"
	"encoding/json"
	"strings"
)

// askedFields are the names of arguments that say what a call is about, the most telling first. A record has
// the arguments under the names that the agent uses, and this package may import no table of agents. Nearly
// all agents use these names.
var askedFields = []string{
	"command", "cmd", "commands", "command_line", "CommandLine", "script", "code", "chars",
	"url", "urls", "uri", "file_path", "filePath", "path", "paths", "filename", "dirPath", "notebook_path",
	"pattern", "query", "q", "prompt", "task",
}

// Asked says in one line of at most limit bytes what the event was about: the command, the address or the
// path of a call, or else all its arguments; a plugin's command; a reference; the user's words of a prompt.
// It returns "" if the record does not have that.
func (r *Record) Asked(limit int) string {
	var text string
	var words []string
	if args, ok := r.Input["arguments"]; ok {
		text = askedOf(args)
	} else if json.Unmarshal(r.Input["command"], &text) == nil {
		_ = json.Unmarshal(r.Input["args"], &words) // the log may have cut them
		text = "/" + text + " " + strings.Join(words, " ")
	} else if ref := r.Input["ref"]; ref != nil && json.Unmarshal(ref, &text) == nil {
		// text is now the reference of a loader's run
	} else if json.Unmarshal(r.Input["user_message"], &text) != nil {
		text = "" // the record has only a digest of the words
	}
	if text = strings.Join(strings.Fields(text), " "); len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:max(0, limit-len("…"))], "") + "…"
}

// askedOf returns the text of the most telling member of a call's arguments, or else all arguments.
func askedOf(args json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(args, &members) != nil {
		return string(args)
	}
	for _, name := range askedFields {
		var one string
		var many []string
		switch raw := members[name]; {
		case raw == nil:
		case json.Unmarshal(raw, &one) == nil && one != "":
			return one
		case json.Unmarshal(raw, &many) == nil && len(many) > 0:
			return strings.Join(many, " ")
		}
	}
	if len(members) == 0 {
		return ""
	}
	var b bytes.Buffer
	_ = json.Compact(&b, args) // no error, because args was valid just now
	return b.String()
}
