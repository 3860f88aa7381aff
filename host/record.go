// This file records inputs from outside, such as a model's reply, for journals and replays.

package host

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/jsontext"
)

// An Entry records an effect of a handler or an [Input]: something from outside of the plugins that the turn
// depends on.
type Entry struct {
	Session string // the session's id
	Turn    int    // the turn's number, from 1
	// Line is the JSON object that the recording package wrote.
	Line json.RawMessage
}

// The kinds of [Input].
const (
	InputModel    = "model"    // the model's reply
	InputApproval = "approval" // a person's approval
)

// An Input is a question that the turn asks the model or a person. It has a lane of its own, with the plugin
// [starhost.HostPlugin].
type Input struct {
	// Lane is the path of the input's own lane: see [Lane.Path].
	Lane string
	// Kind is InputModel or InputApproval.
	Kind string
	// Request is a JSON object that describes the question. It has the SHA-256 of a prompt in place of the
	// prompt, because a program that replays the turn builds the prompt again.
	Request json.RawMessage
}

// line returns the input as a line of the journal, with "error" in place of "reply" if there was no
// reply:
//
//	{"lane":"3","plugin":"host","model":{...},"reply":{...}}
func (in *Input) line(answer any, err error) json.RawMessage {
	member, value := "reply", answer
	if err != nil {
		member, value = "error", map[string]string{"message": err.Error()}
	}
	var b bytes.Buffer
	b.WriteString(`{"lane":` + strconv.Quote(in.Lane) + `,"plugin":"` + starhost.HostPlugin + `","` + in.Kind + `":`)
	b.Write(in.Request)
	b.WriteString(`,"` + member + `":`)
	b.Write(jsontext.EncodeOrNull(value))
	b.WriteByte('}')
	return b.Bytes()
}

// A modelRequest identifies a request to the model in the journal.
type modelRequest struct {
	Name    string          `json:"name"`
	Options json.RawMessage `json:"options"`
	Prompt  fragments.Hash  `json:"prompt"` // [Prompt.Sum]
}

// A modelReply is the form of a [starhost.Reply] in the journal.
type modelReply struct {
	Content   string         `json:"content"`
	ToolCalls []modelCall    `json:"tool_calls,omitempty"`
	Usage     starhost.Usage `json:"usage"`
	Stop      string         `json:"stop,omitempty"`
	// Native is JSON as a string, so that the journal preserves its bytes.
	Native string `json:"native,omitempty"`
}

type modelCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // the bytes from the model, which may be invalid JSON
}

// newModelReply returns a reply in the form of the journal. It replaces bytes that are not UTF-8 by
// U+FFFD, because JSON cannot contain them.
func newModelReply(r starhost.Reply) modelReply {
	w := modelReply{
		Content: validText(r.Content), Usage: r.Usage, Stop: validText(r.Stop), Native: validText(string(r.Native)),
	}
	for _, c := range r.ToolCalls {
		w.ToolCalls = append(w.ToolCalls, modelCall{validText(c.ID), validText(c.Name), validText(string(c.Arguments))})
	}
	return w
}

func (w *modelReply) reply() starhost.Reply {
	r := starhost.Reply{Content: w.Content, Usage: w.Usage, Stop: w.Stop}
	if json.Valid([]byte(w.Native)) {
		r.Native = json.RawMessage(w.Native)
	}
	for _, c := range w.ToolCalls {
		r.ToolCalls = append(r.ToolCalls, starhost.ToolCall{ID: c.ID, Name: c.Name, Arguments: json.RawMessage(c.Arguments)})
	}
	return r
}

func validText(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// An approvalRequest is the form of a question to a person in the journal.
type approvalRequest struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	CallID    string          `json:"call_id,omitempty"`
	Plugin    string          `json:"plugin"`
	Reasons   []string        `json:"reasons"`
}

// An approval is the form of a person's answer in the journal.
type approval struct {
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"` // why the host denies although a person was asked

	by           string    // see [Answer]
	asked, given time.Time // zero means now
}
