// Package model calls the endpoints of language models over net/http and raw JSON.
//
// A protocol is a [Dialect]: the path of its requests, their bodies, and a [Decoder] of its
// answers. The folders of this package have one each. Everything else is here, once for all of
// them: keys, tries, time-outs, limits and the framing of server-sent events ([Client]), and the
// choice of the endpoint for a prompt with its fallbacks ([Caller]).
//
// The clients use raw JSON, because a typed client would drop the fields that it does not know. A
// provider wants some of these back unchanged: see [Native].
package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/mediatype"
)

// The kinds of a [Piece].
const (
	PieceText      = "text"      // a part of the answer's text
	PieceReasoning = "reasoning" // a part of the model's thoughts, or of their summary
	PieceTool      = "tool"      // a part of the arguments of a tool call
)

// A Piece is a part of an answer that arrived.
type Piece struct {
	Kind string
	Text string
	// Call is the number of the tool call in the answer, from 0, and Name is its tool. They are
	// for PieceTool only.
	Call int
	Name string
}

// A Dialect is the part of a protocol that differs from the other protocols.
type Dialect struct {
	// API is the dialect's name in [starhost.Endpoint].
	API string
	// Path is the path of requests behind the base URL.
	Path string
	// SetKey adds a key to the headers of a request. Nil adds a bearer token.
	SetKey func(set func(name, value string), key string)
	// Fill adds the conversation to the body of a request. from is the name of the endpoint and the
	// model, as in [Native]; the earlier answers of that model are added as it wrote them.
	Fill func(body map[string]any, p *host.Prompt, from string) error
	// Own are the members of a body that the prompt itself sets, so that no option may.
	Own []string
	// Tool returns the JSON object that offers a tool.
	Tool func(t *starhost.Tool) any
	// Streamed are the members that a request for a stream has besides "stream". Nil is for none.
	Streamed map[string]any
	// Decode returns a decoder of one answer that passes its pieces to emit.
	Decode func(from string, emit func(Piece)) Decoder
	// Optional is a member of the body that some endpoints refuse, "" for none. Refuses reports
	// whether the message of an endpoint says so.
	Optional string
	Refuses  func(message string) bool
}

// Body returns the body of a request for p, as compact JSON with sorted keys, including the
// prompt's options. It is a function of its arguments alone. It returns an error for a prompt
// without a model, for an attachment of a type that a message cannot contain, and for an option
// that the prompt itself sets. If from is "", all answers are written as if other models wrote them.
func (d *Dialect) Body(p *host.Prompt, from string, stream bool) ([]byte, error) {
	if p.Model == "" {
		return nil, errors.New("got no model, want one: the interface has no default")
	}
	body := map[string]any{"model": p.Model}
	if err := d.Fill(body, p, from); err != nil {
		return nil, err
	}
	if len(p.Tools) > 0 {
		tools := make([]any, len(p.Tools))
		for i := range p.Tools {
			tools[i] = d.Tool(&p.Tools[i])
		}
		body["tools"] = tools
	}
	if stream {
		body["stream"] = true
		maps.Copy(body, d.Streamed)
	}
	if err := d.addOptions(body, p.Options); err != nil {
		return nil, err
	}
	return jsontext.Encode(body)
}

// relax returns the body of a request without the part that an endpoint refused with a message, or
// nil if the endpoint means something else.
func (d *Dialect) relax(body []byte, message string) []byte {
	var set map[string]json.RawMessage
	if d.Optional == "" || !d.Refuses(message) || json.Unmarshal(body, &set) != nil {
		return nil
	}
	delete(set, d.Optional)
	return jsontext.EncodeOrNull(set)
}

// A Decoder reads one answer.
type Decoder struct {
	// Event reads an event of a stream. done says that no further event matters.
	Event func(name string, data []byte) (done bool, err error)
	// Whole reads an answer that is no stream.
	Whole func(data []byte) error
	// Reply returns the answer so far, and whether it is complete.
	Reply func() (reply starhost.Reply, complete bool)
	// Size returns the bytes of the answer so far.
	Size func() int
}

// A Native is the content of [starhost.Message.Native]: the parts of an answer as its provider
// wrote them.
type Native struct {
	// API is the dialect, and From is the endpoint and the model as NAME/MODEL. No other model
	// can read encrypted reasoning or check signatures.
	API  string `json:"api"`
	From string `json:"from"`
	// Items are the parts in order.
	Items []json.RawMessage `json:"items"`
}

// Encode returns n as the Native of a reply, nil if its items are no JSON.
func (n *Native) Encode() json.RawMessage {
	if slices.ContainsFunc(n.Items, func(item json.RawMessage) bool { return !json.Valid(item) }) {
		return nil
	}
	return jsontext.EncodeOrNull(n)
}

// ItemsFor returns the items of an assistant message that the given dialect and model wrote, nil
// if another model wrote them or there are none.
func ItemsFor(m *starhost.Message, api, from string) []json.RawMessage {
	var n Native
	if len(m.Native) == 0 || json.Unmarshal(m.Native, &n) != nil || n.API != api || n.From != from {
		return nil
	}
	return n.Items
}

// A NativeItem is an item of an assistant message, as a dialect reads it.
type NativeItem struct {
	Text   string
	IsText bool
	Call   *starhost.ToolCall // nil for an item that is no call
	Drop   bool               // the endpoint refuses the item in a request
}

// NativeItems returns the items of an assistant message as the model wrote them. If a plugin changed the
// text of m, one item that text makes stands in place of all texts. It returns nil if another model wrote
// them or their calls are not those of m. between separates the texts of two items, and arguments returns
// what two equal arguments share.
func NativeItems(
	m *starhost.Message, api, from, between string, read func(json.RawMessage) (NativeItem, error),
	arguments func(json.RawMessage) string, text func(string) any,
) (out []any) {
	var texts []string
	var calls []starhost.ToolCall
	var isText []bool // for each element of out
	for _, raw := range ItemsFor(m, api, from) {
		item, err := read(raw)
		if err != nil {
			return nil
		}
		if item.Call != nil {
			calls = append(calls, *item.Call)
		}
		if item.Text != "" {
			texts = append(texts, item.Text)
		}
		if !item.Drop {
			out, isText = append(out, raw), append(isText, item.IsText)
		}
	}
	same := slices.EqualFunc(calls, m.ToolCalls, func(c, own starhost.ToolCall) bool {
		return c.ID == own.ID && c.Name == own.Name && arguments(c.Arguments) == arguments(own.Arguments)
	})
	changed := m.Content.String()
	switch {
	case len(out) == 0 || !same:
		return nil
	case strings.Join(texts, between) == changed:
		return out
	}
	return replaceTexts(out, isText, changed, text)
}

// replaceTexts returns items with one text in place of all texts.
func replaceTexts(items []any, isText []bool, changed string, text func(string) any) (out []any) {
	isPending := changed != ""
	for i, item := range items {
		switch {
		case !isText[i]:
			out = append(out, item)
		case isPending:
			out, isPending = append(out, text(changed)), false
		}
	}
	if isPending {
		out = append(out, text(changed))
	}
	return out
}

// Limits bound one answer. The zero value means the defaults.
type Limits struct {
	// Answer is the most bytes of an answer: text, reasoning, arguments and encrypted content.
	// Zero or less means 4 MiB.
	Answer int64
	// Timeout is the most time of an answer with all tries. Zero or less means 10 minutes.
	Timeout time.Duration
	// Silence is the most time before the first byte of a stream and between two bytes of an
	// answer. Zero or less means 60 seconds.
	Silence time.Duration
}

// addOptions adds the options of a prompt, a JSON object, to a request body.
func (d *Dialect) addOptions(body map[string]any, options json.RawMessage) error {
	if len(options) == 0 {
		return nil
	}
	var set map[string]json.RawMessage
	if err := json.Unmarshal(options, &set); err != nil {
		return errorf("options: got %w, want a JSON object", err)
	}
	for _, key := range d.Own {
		if _, ok := set[key]; ok {
			return errorf("options: %q is what the prompt itself sets", key)
		}
	}
	for key, value := range set {
		body[key] = value
	}
	return nil
}

// NameOf returns the name of an attachment for messages.
func NameOf(a *fragments.Attachment) string {
	return mediatype.Label(a.URL, a.Name, func() string { return a.ID().Short() })
}

// RefuseAttachment returns the error for an attachment that a message cannot contain. want says
// what it can.
func RefuseAttachment(a *fragments.Attachment, want string) error {
	return fmt.Errorf("attachment %s: got type %q, want %s", NameOf(a), a.Type, want)
}

// ToolText returns the text of a tool's answer, for protocols that have no field for a failure, so
// that the text says it.
func ToolText(m *starhost.Message) string {
	text := m.Content.String()
	if m.IsError {
		return strings.TrimSuffix("Error: "+text, ": ")
	}
	return text
}
