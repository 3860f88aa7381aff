package jsontext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/starhost/starhost/internal/jsontext"
)

// TestEdits checks that edits change values and leave all other bytes.
func TestEdits(t *testing.T) {
	const text = ` { "a" : 1 , "b":[ 1 ,2, {"c" : "x"} ] ,"d":{}, "e":[] } `
	tests := []struct {
		name string
		edit func(d *jsontext.Document, e *jsontext.Edits)
		want string
	}{
		{"nothing", func(*jsontext.Document, *jsontext.Edits) {}, ` { "a" : 1 , "b":[ 1 ,2, {"c" : "x"} ] ,"d":{}, "e":[] } `},
		{"set", func(d *jsontext.Document, e *jsontext.Edits) { e.Set(d.Member(0, "a"), "true") }, `{ "a" : true , "b":[ 1 ,2, {"c" : "x"} ] ,"d":{}, "e":[] }`},
		{"the first element", func(d *jsontext.Document, e *jsontext.Edits) { e.Remove(d.Elements(d.Member(0, "b"))[0]) },
			`{ "a" : 1 , "b":[2, {"c" : "x"} ] ,"d":{}, "e":[] }`},
		{"the last element", func(d *jsontext.Document, e *jsontext.Edits) { e.Remove(d.Elements(d.Member(0, "b"))[2]) },
			`{ "a" : 1 , "b":[ 1 ,2 ] ,"d":{}, "e":[] }`},
		{"two elements", func(d *jsontext.Document, e *jsontext.Edits) {
			for _, i := range d.Elements(d.Member(0, "b"))[:2] {
				e.Remove(i)
			}
		}, `{ "a" : 1 , "b":[ {"c" : "x"} ] ,"d":{}, "e":[] }`},
		{"all elements", func(d *jsontext.Document, e *jsontext.Edits) {
			for _, i := range d.Elements(d.Member(0, "b")) {
				e.Remove(i)
			}
			e.Add(d.Member(0, "b"), "9")
		}, `{ "a" : 1 , "b":[9 ] ,"d":{}, "e":[] }`},
		{"members", func(d *jsontext.Document, e *jsontext.Edits) {
			e.Remove(d.Member(0, "a"))
			e.SetMember(0, "d", "2")
			e.SetMember(0, "\"", "3")
			e.SetMember(d.Elements(d.Member(0, "b"))[2], "n", "4")
		}, `{ "b":[ 1 ,2, {"c" : "x","n":4} ] ,"d":2, "e":[],"\"":3 }`},
		{"empty ones", func(d *jsontext.Document, e *jsontext.Edits) {
			e.SetMember(d.Member(0, "d"), "x", "1")
			e.SetMember(d.Member(0, "d"), "y", "2")
			e.AddFirst(d.Member(0, "e"), "1")
			e.Add(d.Member(0, "e"), "2")
			e.AddFirst(d.Member(0, "b"), "0")
		}, `{ "a" : 1 , "b":[0, 1 ,2, {"c" : "x"} ] ,"d":{"x":1,"y":2}, "e":[1,2] }`},
		{"an edit inside", func(d *jsontext.Document, e *jsontext.Edits) {
			list := d.Member(0, "b")
			e.Set(d.Member(d.Elements(list)[2], "c"), `"y"`)
			e.Add(list, "3")
		}, `{ "a" : 1 , "b":[ 1 ,2, {"c" : "y"},3 ] ,"d":{}, "e":[] }`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := jsontext.Parse(text, 9)
			if err != nil {
				t.Fatal(err)
			}
			e := jsontext.NewEdits(&d)
			tt.edit(&d, e)
			got := e.String()
			if tt.name != "nothing" {
				got = strings.TrimSpace(got)
			}
			if got != tt.want || !json.Valid([]byte(got)) {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestAmbiguity checks the texts that two readers could decode differently.
func TestAmbiguity(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,"b":{"a":1}}`:      "",
		`{"a":1,"\u0061":2}`:       `"a" stands twice in one object`,
		`[{"x":[{"b":1,"b":1}]}]`:  `"b" stands twice in one object`,
		"\"\xff\"":                 "it is not UTF-8",
		`["a","a",{"a":"a"},1,1]`:  "",
		`{"a":{},"c":[],"b":null}`: "",
	} {
		d, err := jsontext.Parse(text, 9)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := d.Ambiguity(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
