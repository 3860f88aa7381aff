package effects

import (
	"encoding/json"

	"github.com/starhost/starhost/internal/jsontext"
)

// A Resolver is a function that can be the Answers of a World. It gets the plugin, the kind of an effect and
// its request as JSON. If ok is false, the World does the effect. If err is not nil, the World must not do
// it.
type Resolver func(plugin, kind string, request json.RawMessage) (reply RecordedEffect, ok bool, err error)

func (r Resolver) answer(_, plugin string, c effectCall) (RecordedEffect, bool, error) {
	return r(plugin, c.kind, jsontext.EncodeOrNull(c.request))
}
