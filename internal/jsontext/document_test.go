package jsontext_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/internal/jsontext"
)

func TestParse(t *testing.T) {
	text := ` {"b": [1, "x\n"], "a": {}, "b": -2.5e3, "\u0063": true} `
	d, err := jsontext.Parse(text, 9)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for key, value := range d.Members(0) {
		got = append(got, d.StringAt(key)+" "+d.TextAt(value))
	}
	if diff := cmp.Diff([]string{`b [1, "x\n"]`, `a {}`, `b -2.5e3`, `c true`}, got); diff != "" {
		t.Error(diff)
	}
	if start, end := d.Span(d.Member(0, "a")); text[start:end] != "{}" {
		t.Errorf("got the span %d to %d", start, end)
	}
	list := d.Elements(2)
	if len(list) != 2 || d.IntegerAt(list[0]) != 1 || d.StringAt(list[1]) != "x\n" || string(d.CopyAt(list[1])) != `"x\n"` {
		t.Errorf("got the elements %v", list)
	}
	if !d.IsTrue(d.Member(0, "c")) || d.TextAt(d.Member(0, "b")) != "-2.5e3" || d.Member(0, "d") != jsontext.NoNode {
		t.Error("Member finds another value")
	}
	none := jsontext.NoNode
	if d.Kind(none) != 0 || d.TextAt(none)+d.StringAt(none) != "" || d.CopyAt(none) != nil || d.IntegerAt(none) != 0 {
		t.Error("a missing value has a value")
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{
		"", " ", `{"a":`, `{"a"`, `{1:2}`, `{"a" 1}`, `[1,]`, `{"a":1,}`, `[1 2]`, `{"a":1]`, `{} {}`, `nul`, `nullx`, `'a'`, `]`,
		"\"\n\"", `"a`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, `-`, `01`, `-01`, `+1`, `.5`, `1.`, `1.e5`, `1e`, `1e+`, `1+2`, `1e5.0`, "\ufeff1",
	} {
		if _, err := jsontext.Parse(text, 9); err == nil || json.Valid([]byte(text)) {
			t.Errorf("%s: got no error", text)
		}
	}
	for depth, want := range map[int]error{9: nil, 10: nil, 11: jsontext.ErrTooDeep, 1_000_000: jsontext.ErrTooDeep} {
		if _, err := jsontext.Parse(strings.Repeat("[", depth)+strings.Repeat("]", depth), 9); !errors.Is(err, want) {
			t.Errorf("%d arrays within each other: got %v, want %v", depth, err, want)
		}
	}
}

// FuzzParse checks that Parse accepts the texts that encoding/json accepts, and that StringAt
// decodes a string as encoding/json does.
func FuzzParse(f *testing.F) {
	for _, text := range []string{`{"a":[1,-2.5e3,0.1E-7,true,null,"x\n\u00e9\ud83d\ude00\ud800"]}`, "\"\xff\"", "\"12345678\x01\"", `"1234567\"é12345678é"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := jsontext.Parse(text, math.MaxInt32)
		if strings.Count(text, "[")+strings.Count(text, "{") < 9999 && (err == nil) != json.Valid([]byte(text)) {
			t.Fatalf("%q: got error %v", text, err)
		}
		for i := range d.Len() {
			if d.HasKind(i, jsontext.String) {
				var want string
				if err := json.Unmarshal(d.CopyAt(i), &want); err != nil || d.StringAt(i) != want {
					t.Errorf("%q: got %q, want %q (%v)", d.TextAt(i), d.StringAt(i), want, err)
				}
			}
		}
	})
}

// FuzzDecodeValue checks that DecodeValue returns the value that encoding/json returns.
func FuzzDecodeValue(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-2.5e3,true,false,null,"x\n\u00e9\ud800"],"b":{},"a":[],"\u0061":{"":[[]]}}`, "{\"\xff\":\"\xfe\"}", ` 1 2`, `{"a":1}x`, `{"a":`,
		"", `nul`, `"a" `, strings.Repeat("[", 300) + strings.Repeat("]", 300), strings.Repeat(`{"a":`, 20_000),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		wantErr := decoder.Decode(&want)
		got, err := jsontext.DecodeValue(text)
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %#v, %v, want %#v, %v", text, got, err, want, wantErr)
		}
	})
}

// A Reader that is not strict accepts more than JSON, so that its users can accept it too.
func TestReader(t *testing.T) {
	r := jsontext.Reader{Text: " \t1.-e+2,\"\x01\\q\" nullx"}
	if c, err := r.Peek(); c != '1' || err != nil {
		t.Errorf("got %q, %v", c, err)
	}
	if text, isInteger, err := r.Number(); text != "1.-e+2" || isInteger || err != nil {
		t.Errorf("got the number %s, %v", text, err)
	}
	if more, err := r.More(']', false); !more || err != nil {
		t.Errorf("got %v, %v", more, err)
	}
	quoted, err := r.Quoted()
	if err != nil || quoted.Text != "\"\x01\\q\"" || !quoted.HasEscapes || !quoted.IsASCII {
		t.Errorf("got %+v, %v", quoted, err)
	}
	r.SkipSpace()
	if word, err := r.Word(); word != "null" || err != nil {
		t.Errorf("got the word %s, %v", word, err)
	}
	for want, err := range map[string]error{
		`unexpected character 'x' after value`:        r.End(),
		`unexpected character 'x'`:                    second(r.Word()),
		`got 'x', want ',' or ']'`:                    second(r.More(']', false)),
		`in object, got 'x', want ',' or '}'`:         second(r.More('}', false)),
		`after object key, got 'x', want ':' `:        r.Colon(),
		`unclosed string literal`:                     second(r.Quoted()),
		`unexpected end of file`:                      second((&jsontext.Reader{Text: " "}).Peek()),
		`invalid character 'q' in string escape code`: second((jsontext.Quoted{Text: `"\q"`, HasEscapes: true}).Decode()),
	} {
		if err == nil || err.Error() != want || r.At != len(r.Text)-1 {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }
