package jsontext

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/starhost/starhost/internal/texttable"
)

// Must returns v as compact JSON. It panics for a value that JSON cannot express.
func Must(v any) []byte {
	var b bytes.Buffer
	if err := Write(&b, v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Write writes v as JSON on one line, without the escapes that only HTML needs, but with
// escapes for the characters that terminals obey.
func Write(w io.Writer, v any) error {
	text, err := Encode(v)
	if err == nil {
		_, err = io.WriteString(w, texttable.Escape(string(text))+"\n")
	}
	return err
}

// List returns the results of convert as a list that is never null.
func List[T, J any](items []T, convert func(*T) J) []J {
	out := make([]J, len(items))
	for i := range items {
		out[i] = convert(&items[i])
	}
	return out
}

// A Text is a text of any bytes. In JSON it is a string or, if it is not UTF-8, an object with its bytes in
// base64.
type Text string

type base64Text struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON implements [json.Marshaler].
func (t Text) MarshalJSON() ([]byte, error) {
	if !utf8.ValidString(string(t)) {
		return json.Marshal(base64Text{[]byte(t)})
	}
	return EncodeOrNull(string(t)), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var b base64Text
		err := json.Unmarshal(data, &b)
		*t = Text(b.Base64)
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}
