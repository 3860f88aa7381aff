package trace

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
)

// codexFirst reads the first line of a rollout of Codex, as 0.169.0 writes it. A subagent has a
// rollout of its own, with the session of the first agent.
func codexFirst(f *file, d *document) {
	meta := d.at(0, "payload")
	f.session = cmp.Or(d.text(meta, "session_id"), d.text(meta, "id"))
	f.version, f.folder = d.text(meta, "cli_version"), d.text(meta, "cwd")
	f.subagent = d.HasKind(d.at(meta, "source.subagent"), jsontext.Object) || d.text(meta, "thread_source") == "subagent"
}

// codexLine reads another line of a rollout.
func codexLine(f *file, d *document) bool {
	item := d.at(0, "payload")
	kind := d.text(item, "type")
	if d.text(0, "type") == "turn_context" {
		f.folder = cmp.Or(d.text(item, "cwd"), f.folder)
		return true
	}
	if d.text(0, "type") != "response_item" {
		return true // its events repeat the items
	}
	c := Call{ID: d.text(item, "call_id"), Time: d.time(0, "timestamp"), Tool: d.text(item, "name")}
	switch kind {
	case "function_call":
		if arguments := d.text(item, "arguments"); json.Valid([]byte(arguments)) {
			c.Arguments = json.RawMessage(arguments)
		}
		if space := d.text(item, "namespace"); strings.HasPrefix(space, "mcp__") {
			c.Tool = space + "__" + c.Tool
		}
		codexShell(&c)
	case "custom_tool_call":
		c.Arguments, _ = jsontext.Encode(map[string]string{"command": d.text(item, "input")})
	case "local_shell_call":
		var words []string
		for _, word := range d.Elements(d.at(item, "action.command")) {
			words = append(words, d.StringAt(word))
		}
		c.Tool, c.Arguments = "local_shell", jsontext.Must(map[string]any{"command": words})
		codexShell(&c)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		f.result(c.ID, codexResult(d, d.at(item, "output")), c.Time)
		return true
	case "web_search_call", "image_generation_call", "tool_search_call", "tool_search_output", "message", "reasoning":
		return true // OpenAI's servers do it
	default:
		return false
	}
	f.call(c)
	return true
}

// codexShell gives a call of a shell tool the name and the argument that hooks get.
func codexShell(c *Call) {
	var args struct {
		Cmd     string `json:"cmd"`
		Command any    `json:"command"`
	}
	switch c.Tool {
	case "exec_command", "shell", "shell_command", "local_shell":
		if json.Unmarshal(c.Arguments, &args) != nil {
			return
		}
	default:
		return
	}
	command := args.Cmd
	switch v := args.Command.(type) {
	case string:
		command = v
	case []any:
		words := []string{}
		for _, word := range v {
			text, _ := word.(string)
			words = append(words, text)
		}
		command = strings.Join(words, " ")
		if len(words) == 3 && strings.HasSuffix(words[0], "sh") && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
			command = words[2]
		}
	}
	if command != "" {
		c.Tool, c.Arguments = "Bash", jsontext.Must(map[string]string{"command": command})
	}
}

// codexRefusals begin the outputs of calls that Codex itself refused.
const codexRefusals = "failed to parse|unsupported call|unsupported custom tool|unknown tool|missing field"

// codexResult returns the result of a call. The outputs of programs begin with other words: Codex
// writes the time that they took in front.
func codexResult(d *document, output int) Result {
	if !d.HasKind(output, jsontext.String) {
		if d.HasKind(output, jsontext.Array) || d.HasKind(output, jsontext.Object) {
			return Ran
		}
		return Unknown
	}
	text := d.StringAt(output)
	first, _, _ := strings.Cut(text, ":")
	if strings.HasSuffix(first, " blocked by PreToolUse hook") || strings.HasSuffix(first, " blocked by PermissionRequest hook") {
		return Denied
	}
	if text == "aborted" || strings.HasPrefix(text, "aborted by user") || strings.HasPrefix(text, "Wall time: ") && strings.HasSuffix(text, " seconds\naborted by user") {
		return None // the turn ended before: the call may have run, or not yet been asked about
	}
	for refusal := range strings.SplitSeq(codexRefusals, "|") {
		if strings.HasPrefix(text, refusal) {
			return Refused
		}
	}
	head, _, _ := strings.Cut(text, "\nOutput:")
	if _, code, ok := strings.Cut(head, "exited with code "); ok && !strings.HasPrefix(code, "0") {
		return Failed
	}
	return Ran
}
