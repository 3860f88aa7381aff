package model

import (
	"bytes"
	"encoding/json"
)

// encodeJSON returns v as compact JSON without the escapes that only HTML needs. v must be a type
// that always has a JSON form, with valid raw parts.
func encodeJSON(v any) json.RawMessage {
	data, err := EncodeBody(v)
	if err != nil {
		return nil
	}
	return data
}

// EncodeBody returns v as compact JSON with sorted keys, without the escapes that only HTML needs.
func EncodeBody(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
