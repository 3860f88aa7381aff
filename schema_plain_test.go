package starhost

import (
	"bytes"
	"encoding/json"
	"testing"
)

var schemas = []struct {
	name, raw string
	plain     bool
}{
	{"derived", `{"type":"object","properties":{"team":{"type":"string","description":"Whose.","default":"ops"}},"additionalProperties":false}`, true},
	{"nested", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":["x","y"]}}},"required":["a"]}`, true},
	{"nothing", `{"type":"object"}`, true},
	{"no object", `{"type":"string"}`, false},
	{"unknown type", `{"type":"object","properties":{"a":{"type":"strnig"}}}`, false},
	{"required without a property", `{"type":"object","properties":{},"required":["a"]}`, false},
	{"other keyword", `{"type":"object","properties":{"a":{"pattern":"("}}}`, false},
	{"keyword in capitals", `{"type":"object","Properties":{"a":{"type":"strnig"}}}`, false},
	{"property without a schema", `{"type":"object","properties":{"a":null}}`, false},
	{"no JSON", `{"type":"object"`, false},
}

func TestIsPlain(t *testing.T) {
	for _, tt := range schemas {
		t.Run(tt.name, func(t *testing.T) {
			if got := decodePlain(json.RawMessage(tt.raw)) != nil; got != tt.plain {
				t.Errorf("decodePlain: got %v, want %v", got, tt.plain)
			}
		})
	}
}

// The law: what is plain compiles, so that it need not be compiled to be accepted.
func FuzzIsPlain(f *testing.F) {
	for _, s := range schemas {
		f.Add([]byte(s.raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var last any // of each member that is given twice
		if decodePlain(raw) == nil || json.Unmarshal(raw, &last) != nil {
			return
		}
		raw, _ = json.Marshal(last)
		if _, err := compileSchema(raw); err != nil {
			t.Errorf("%s: plain, but %v", raw, err)
		}
	})
}

// The law: arguments that are accepted without the library are valid for it; and as they
// are commonly written, those that are valid are accepted, but for lists and objects in an
// enum.
func FuzzAccepts(f *testing.F) {
	for _, args := range []string{`{}`, `{"a":["x"]}`, `{"a":["z"]}`, `{"team":"ops"}`, `{"team":1}`, `{"other":true}`, `{"a":null}`, `{"n":2.0,"x":[1.5],"b":false}`, ` `, `[]`, `{"n":1e999}`, `{"n":1,"n":"x"}`, `{"\u006e":1}`, "{\"\xff\":1}", `{"b":[1],"n":-0}`, `{"a" : [ ] , "n":3}`} {
		for _, s := range schemas {
			f.Add([]byte(s.raw), []byte(args))
		}
		f.Add([]byte(`{"type":"object","properties":{"n":{"type":"integer"},"x":{"items":{"type":"number"}},"b":{"enum":[false,[1]]}},"required":["n"]}`), []byte(args))
	}
	f.Fuzz(func(t *testing.T, raw, args []byte) {
		var last map[string]any // of each member that is given twice
		if decodePlain(raw) == nil || json.Unmarshal(raw, &last) != nil {
			return
		}
		values, err := decodeObject(args)
		if err != nil {
			return
		}
		raw, _ = json.Marshal(last)
		c, err := compileSchema(raw)
		if err != nil {
			t.Fatalf("%s: plain, but %v", raw, err)
		}
		err = check(c.whole, values)
		if err != nil && accepts(last, args) {
			t.Errorf("%s: %s: accepted, the library says %v", raw, args, err)
		}
		var common bytes.Buffer
		enc := json.NewEncoder(&common)
		enc.SetEscapeHTML(false)
		if enc.Encode(values) != nil || bytes.Contains(common.Bytes(), []byte(`\`)) || bytes.Contains(raw, []byte(`"enum"`)) {
			return
		}
		if err == nil && !accepts(last, common.Bytes()) {
			t.Errorf("%s: %s: not accepted, the library says it is valid", raw, &common)
		}
	})
}
