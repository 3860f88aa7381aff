package effects

import (
	"encoding/json"

	"github.com/starhost/starhost/internal/jsontext"
)

// A RecordedEffect is one line of a journal: an effect of a plugin with its reply.
type RecordedEffect struct {
	// Plugin is the name of the plugin that asked for the effect. Kind is the effect's name, as "http.get",
	// and Request a JSON object.
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

// A Resolver is a function that can be the Answers of a World. It gets the plugin, the kind of an effect and
// its request as JSON. If ok is false, the World does the effect. If err is not nil, the World must not do
// it.
type Resolver func(plugin, kind string, request json.RawMessage) (reply RecordedEffect, ok bool, err error)

func (r Resolver) answer(_, plugin string, c effectCall) (entry, bool, error) {
	e, ok, err := r(plugin, c.kind, jsontext.EncodeOrNull(c.request))
	return e.entry, ok, err
}
