package report

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/starhost/starhost/internal/jsontext"
)

// FuzzDecodeJSON checks that mistakes have a place, and that valid texts decode as
// encoding/json decodes them.
func FuzzDecodeJSON(f *testing.F) {
	for _, text := range []string{
		`{"messages":[{"role":"user","content":"hi","tool_calls":[{"id":"1","name":"x","arguments":{"a":[1]}}]}]}`,
		`{"messages":[{"rle":1}]}`, `{"session":{"roles":["a"]},"options":{},"tools":null}`, "{\"messages\":\n [1,]}", `{"a`, `[`, "\ufeff{}", `{"é":'x'}`,
		`{"session":{"id":"\q"}}`, `{"messages":1e}`, "", `{"tools":[{"name":"a","parameters":{"type":"object"}}]} x`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got, want requestInput
		err := DecodeJSON("in.json", text, &got)
		var usage *UsageError
		if err != nil && !errors.As(err, &usage) {
			t.Fatalf("got %v, want a UsageError", err)
		}
		if err != nil && strings.Contains(err.Error(), "invalid character") {
			t.Errorf("got %v, want our own words", err)
		}
		dec := json.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
		if dec.Decode(&want) != nil && err == nil {
			t.Errorf("got no error for what the library refuses")
		}
		if err == nil && string(jsontext.Must(got)) != string(jsontext.Must(want)) {
			t.Errorf("got %s, want %s", jsontext.Must(got), jsontext.Must(want))
		}
	})
}
