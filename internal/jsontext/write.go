package jsontext

import (
	"bytes"
	"io"

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
