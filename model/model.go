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
	"slices"
	"time"

	"github.com/starhost/starhost"
	"github.com/starhost/starhost/host"
	"github.com/starhost/starhost/internal/jsontext"
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
	// Body returns the body of a request. from is the name of the endpoint and the model, as in
	// [Native].
	Body func(p *host.Prompt, from string, stream bool) ([]byte, error)
	// Decode returns a decoder of one answer that passes its pieces to emit.
	Decode func(from string, emit func(Piece)) Decoder
	// Relax returns the body of a request without the part that an endpoint refused with this
	// message, or nil if the endpoint means something else. Nil never relaxes.
	Relax func(body []byte, message string) []byte
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

func (l Limits) withDefaults() Limits {
	if l.Answer <= 0 {
		l.Answer = 4 << 20
	}
	if l.Timeout <= 0 {
		l.Timeout = 10 * time.Minute
	}
	if l.Silence <= 0 {
		l.Silence = time.Minute
	}
	return l
}

// MergeOptions adds the options of a prompt, a JSON object, to a request body. An option with one
// of the names that the prompt itself sets is an error.
func MergeOptions(body map[string]any, options json.RawMessage, own ...string) error {
	if len(options) == 0 {
		return nil
	}
	var set map[string]json.RawMessage
	if err := json.Unmarshal(options, &set); err != nil {
		return errorf("options: got %w, want a JSON object", err)
	}
	for _, key := range own {
		if _, ok := set[key]; ok {
			return errorf("options: %q is what the prompt itself sets", key)
		}
	}
	for key, value := range set {
		body[key] = value
	}
	return nil
}
