package hook

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/starhost/starhost/internal/jsontext"
)

// decoded returns a value of a document as encoding/json decodes it.
func (d *document) decoded(i int) any {
	switch d.Kind(i) {
	case objectNode:
		o := map[string]any{}
		for key, value := range d.Members(i) {
			o[d.StringAt(key)] = d.decoded(value)
		}
		return o
	case arrayNode:
		list := []any{}
		for _, e := range d.Elements(i) {
			list = append(list, d.decoded(e))
		}
		return list
	case jsontext.String:
		return d.StringAt(i)
	}
	var v any
	_ = json.Unmarshal(d.CopyAt(i), &v)
	return v
}

// FuzzDocument checks that readDocument accepts a text if and only if encoding/json does, and that
// both decode the same values.
func FuzzDocument(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,-2.5e3,true,null,"x\n\u00e9\ud83d\ude00"],"b":{},"a":[]}`, ` [ ] `, `{"a" : 1 , "b":2}`, `[1,]`, `{,}`, `{"a"}`, `"\x"`, `"\u12"`, "\"a\x01\"", `01`, `nul`, `[1 2]`, `{"a":1}}`,
		`"` + strings.Repeat("long text ", 9) + `\"`, `"` + strings.Repeat("é", 20) + `"`, "\"\xff\"", ``, `{"\u0061":7}`, "\t\"\x7f\"\r\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, ok := readDocument(text)
		if deep := strings.Count(text, "[")+strings.Count(text, "{") > maxNesting; ok != json.Valid([]byte(text)) && !deep {
			t.Fatalf("%q: read %v, encoding/json says %v", text, ok, !ok)
		}
		var want any
		if !ok || json.Unmarshal([]byte(text), &want) != nil { // encoding/json refuses too large numbers
			return
		}
		if got := d.decoded(0); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %#v, want %#v", text, got, want)
		}
	})
}

// TestLawDocumentSet checks that edits change the given members and no other one.
func TestLawDocumentSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]any{}
		name := rapid.SampledFrom([]string{"a", "b", `"\`, "é"})
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			want[name.Draw(t, "name")] = rapid.String().Draw(t, "value")
		}
		text, _ := json.Marshal(want)
		d, ok := readDocument(string(text))
		if !ok {
			t.Fatalf("%s is not read", text)
		}
		edits := jsontext.NewEdits(&d.Document)
		seen := map[string]bool{}
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			n := name.Draw(t, "set")
			if seen[n] {
				continue
			}
			seen[n] = true
			want[n] = rapid.String().Draw(t, "to")
			edits.SetMember(0, n, string(jsontext.Must(want[n])))
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(edits.String()), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: got %v (%v), want %v", text, got, err, want)
		}
	})
}

func TestDocumentDeep(t *testing.T) {
	for depth, want := range map[int]bool{maxNesting: true, maxNesting + 2: false, 1_000_000: false} {
		if _, ok := readDocument(strings.Repeat("[", depth) + strings.Repeat("]", depth)); ok != want {
			t.Errorf("%d values within each other: got %v, want %v", depth, ok, want)
		}
	}
}

// TestFailureOfAnyForm checks that plugins see the message of a failed call in each form that a result may have.
func TestFailureOfAnyForm(t *testing.T) {
	for failure, want := range map[string]string{`"no"`: "no", `null`: "", `{"code":1}`: `{"code":1}`, `[{"type":"text","text":"no"}]`: "no"} {
		e, err := readClaude(claudeCode, []byte(`{"hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{},"error":`+failure+`}`))
		if err != nil || e.result != want || !e.isError {
			t.Errorf("%s: got %q, %v, %v, want %q", failure, e.result, e.isError, err, want)
		}
	}
}
