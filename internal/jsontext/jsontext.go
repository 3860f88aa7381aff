// Package jsontext reads JSON text that others wrote: with offsets and repeated names, or part by
// part. It also clips and escapes text for messages.
package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// MaxClip is the most bytes of a text that [Clip] returns.
const MaxClip = 200

// Clip returns text for a message: at most [MaxClip] bytes of it, with "…" for the rest.
func Clip(text string) string {
	if len(text) <= MaxClip {
		return text
	}
	return strings.ToValidUTF8(text[:MaxClip], "") + "…"
}

// DecodeObject decodes one JSON object; empty text is an empty object.
func DecodeObject(raw json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, fmt.Errorf("not JSON: %s", Explain(err))
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("got %s, want an object", Clip(string(raw)))
	}
	return object, nil
}
