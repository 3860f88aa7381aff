// Package jsontext reads JSON text that others wrote: with offsets and repeated names, or part by
// part. It also encodes values and escapes text.
package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/starhost/starhost/internal/errtext"
)

// Encode returns the JSON of a value on one line, without the escapes that only HTML needs.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// EncodeOrNull is [Encode] for a value that may contain a json.RawMessage that is not JSON: then it
// returns null.
func EncodeOrNull(v any) json.RawMessage {
	raw, err := Encode(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
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
		return nil, fmt.Errorf("got %s, want an object", errtext.Clip(string(raw)))
	}
	return object, nil
}
