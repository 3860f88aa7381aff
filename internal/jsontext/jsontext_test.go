package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/internal/jsontext"
)

func TestDecodeObject(t *testing.T) {
	long := strings.Repeat("é", 200)
	tests := []struct {
		name, raw string
		want      map[string]any
		err       string
	}{
		{"empty text", " \n", map[string]any{}, ""},
		{"an object", `{"a":[1,null]}`, map[string]any{"a": []any{1.0, nil}}, ""},
		{"a list", `[1]`, nil, "got [1], want an object"},
		{"null", `null`, nil, "got null, want an object"},
		{"no JSON", `{"a":`, nil, "not JSON: unexpected end of JSON input"},
		{"two objects", `{} {}`, nil, "not JSON: invalid character '{' after top-level value"},
		{"a long text", `"` + long + `"`, nil, `got "` + strings.Repeat("é", 99) + "…, want an object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := jsontext.DecodeObject(json.RawMessage(tt.raw))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if text := errorText(err); text != tt.err {
				t.Errorf("got error %q, want %q", text, tt.err)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestAppendString checks that a character is written in one way, whatever else its text has, and
// that encoding/json reads the text back.
func TestAppendString(t *testing.T) {
	for text, want := range map[string]string{
		"":              `""`,
		"a<b>&c":        `"a<b>&c"`,
		"a<b>&ü\u2028":  "\"a<b>&ü\u2028\"",
		"\"\\\n\x01<":   `"\"\\\n\u0001<"`,
		"a\xffb\ufffd<": "\"a\ufffdb\ufffd<\"",
	} {
		got := string(jsontext.AppendString(nil, text))
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
		var back string
		if err := json.Unmarshal([]byte(got), &back); err != nil || back != strings.ToValidUTF8(text, "\ufffd") {
			t.Errorf("%q: read back as %q, %v", text, back, err)
		}
	}
}
