package starhost

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/starhost/starhost/fragments"
)

// A LogLine is one line that a handler logged or printed.
type LogLine struct {
	Plugin string
	Level  string // "debug", "info", "warn" or "error"
	Text   string
	Fields json.RawMessage // a JSON object, nil for none
	Pos    Pos             // of the call
}

// An Entry is one effect of a handler, or an [Input]: something from outside of
// the plugins that the turn depends on.
type Entry struct {
	Session string // its id
	Turn    int    // its number, from 1
	// Line is a JSON object: it as the layer that did it writes it down.
	Line json.RawMessage
}

// The kinds of [Input].
const (
	InputModel    = "model"    // what the model replied
	InputApproval = "approval" // what became of the question to a person
)

// An Input is what a turn asked for that is neither in its files nor an effect of
// a handler. It has a lane of its own, of the plugin [HostPlugin].
type Input struct {
	// Lane is the path of the lane: see [Lane].
	Lane string
	// Kind is InputModel or InputApproval.
	Kind string
	// Request is a JSON object that says what was asked. Of a prompt it has the
	// SHA-256, as whoever runs the turn again has the prompt.
	Request json.RawMessage
}

// line returns the input as effects are written down, with "error" in place of
// "reply" if there was none:
//
//	{"lane":"3","plugin":"host","model":{...},"reply":{...}}
func (in *Input) line(answer any, err error) json.RawMessage {
	member, value := "reply", answer
	if err != nil {
		member, value = "error", map[string]string{"message": err.Error()}
	}
	var b bytes.Buffer
	b.WriteString(`{"lane":` + strconv.Quote(in.Lane) + `,"plugin":"` + HostPlugin + `","` + in.Kind + `":`)
	b.Write(in.Request)
	b.WriteString(`,"` + member + `":`)
	b.Write(encodeCompact(value))
	b.WriteByte('}')
	return b.Bytes()
}

// encodeCompact returns v as JSON, without the escapes that only HTML needs.
func encodeCompact(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return json.RawMessage("null") // options or arguments that are no JSON
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// A modelRequest is what the model was asked.
type modelRequest struct {
	Name    string          `json:"name"`
	Options json.RawMessage `json:"options"`
	Prompt  fragments.Hash  `json:"prompt"` // [Prompt.Sum]
}

// A modelReply is a [Reply] as it is written down.
type modelReply struct {
	Content   string      `json:"content"`
	ToolCalls []modelCall `json:"tool_calls,omitempty"`
	Usage     Usage       `json:"usage"`
}

type modelCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // byte for byte as they came, which may be no JSON
}

// newModelReply returns a reply as it is written down. What of it is not UTF-8
// becomes U+FFFD, which is all that JSON can say of it.
func newModelReply(r Reply) modelReply {
	w := modelReply{Content: validText(r.Content), Usage: r.Usage}
	for _, c := range r.ToolCalls {
		w.ToolCalls = append(w.ToolCalls, modelCall{validText(c.ID), validText(c.Name), validText(string(c.Arguments))})
	}
	return w
}

func (w *modelReply) reply() Reply {
	r := Reply{Content: w.Content, Usage: w.Usage}
	for _, c := range w.ToolCalls {
		r.ToolCalls = append(r.ToolCalls, ToolCall{c.ID, c.Name, json.RawMessage(c.Arguments)})
	}
	return r
}

func validText(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// An approvalRequest is what a person was asked.
type approvalRequest struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	CallID    string          `json:"call_id,omitempty"`
	Plugin    string          `json:"plugin"`
	Reasons   []string        `json:"reasons"`
}

// An approval is what became of the question to a person.
type approval struct {
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"` // why not
}
