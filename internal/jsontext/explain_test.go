package jsontext

import (
	"encoding/json"
	"errors"
	"testing"
	"time"
)

func TestExplain(t *testing.T) {
	var into struct {
		Lane  string          `json:"lane"`
		Count uint32          `json:"count"`
		Args  []string        `json:"args"`
		Set   map[string]bool `json:"set"`
		In    struct {
			On bool `json:"on"`
		} `json:"in"`
	}
	for text, want := range map[string]string{
		`{"lane":1}`:          "lane: got number, want a string",
		`{"count":"x"}`:       "count: got string, want a number",
		`{"count":-1}`:        "count: the number -1 is out of range",
		`{"args":{}}`:         "args: got object, want a list",
		`{"args":[1]}`:        "args: got number, want a string",
		`{"set":[]}`:          "set: got array, want an object",
		`{"in":{"on":"yes"}}`: "in.on: got string, want true or false",
		`[]`:                  "got array, want an object",
		`{"x":`:               "unexpected end of JSON input",
	} {
		if err := json.Unmarshal([]byte(text), &into); err == nil || Explain(err) != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if got := Explain(errors.New("json: x")); got != "x" {
		t.Errorf("got %s", got)
	}
}

func TestNameOf(t *testing.T) {
	for want, v := range map[string]any{
		"null": nil, "a time": time.Time{}, "a list": []any{}, "an object": map[string]any{}, "a string": "", "a number": 1.5,
		"true or false": true,
	} {
		if got := NameOf(v); got != want {
			t.Errorf("%v: got %s, want %s", v, got, want)
		}
	}
}
