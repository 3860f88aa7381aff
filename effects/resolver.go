package effects

import (
	"encoding/json"

	"github.com/starhost/starhost/internal/jsontext"
)

// A RecordedEffect is one line of a journal: an effect of a plugin with its reply.
type RecordedEffect struct {
	// Plugin is the plugin that asked. Kind is the effect's name, as "http.get", and Request its
	// JSON object.
	Plugin, Kind string
	Request      json.RawMessage
	// Reply is JSON; nil if the effect failed, or if the line lacks the reply.
	Reply json.RawMessage
	// Failed says that the line has an error.
	Failed bool

	entry entry
}

// ReadEffect reads a line of a journal. It returns an error for a line that is no effect.
func ReadEffect(line json.RawMessage) (RecordedEffect, error) {
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return RecordedEffect{}, err
	}
	return RecordedEffect{e.Plugin, e.Kind, e.Request, e.Reply, e.Err != nil, e}, nil
}

// NewReply returns an effect without request, whose reply is JSON.
func NewReply(reply json.RawMessage) RecordedEffect {
	return RecordedEffect{Reply: reply, entry: entry{Reply: reply}}
}

// A Resolver is a World's Answers that asks a function about each effect. ok is false if the effect
// is to be done, and the error says why it must not be done. The function gets the plugin, the
// effect's kind and its request as JSON.
type Resolver func(plugin, kind string, request json.RawMessage) (reply RecordedEffect, ok bool, err error)

func (r Resolver) answer(_, plugin string, c effectCall) (entry, bool, error) {
	e, ok, err := r(plugin, c.kind, jsontext.EncodeOrNull(c.request))
	return e.entry, ok, err
}
