package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/starhost/starhost/internal/errtext"

	"github.com/starhost/starhost/internal/jsontext"
)

// A document is a JSON text with the offsets of its values. A request of PicoClaw contains a whole
// conversation, and the answer repeats most of it unchanged. So a document decodes a value only when a caller
// asks for it.
type document struct {
	jsontext.Document
	tooLarge error // the text is nested deeper than maxNesting, or has more than maxValues values
}

const (
	objectNode = jsontext.Object
	arrayNode  = jsontext.Array
	noNode     = jsontext.NoNode
)

// maxNesting is the deepest nesting of values that starhost reads.
const maxNesting = 512

// maxValues is the most values and names in an event. A million of them, decoded for a handler, take 100 MB.
const maxValues = 1_000_000

// readDocument parses a text. ok is false if the text is not one JSON value.
func readDocument(text string) (*document, bool) {
	d, err := jsontext.ParseFew(text, maxNesting, maxValues)
	out := &document{Document: d}
	switch {
	case errors.Is(err, jsontext.ErrTooDeep):
		out.tooLarge = fmt.Errorf("values more than %d deep in each other", maxNesting)
	case errors.Is(err, jsontext.ErrTooMany):
		out.tooLarge = fmt.Errorf("more than %d values", maxValues)
	}
	return out, err == nil
}

// A guard must see the call that the agent runs. JSON readers differ in three points: two members
// with one name, names in another letter case (encoding/json takes TOOL_INPUT for tool_input), and
// bytes that are not UTF-8. So starhost refuses such input instead of choosing one reading: see
// [jsontext.Document.Ambiguity].

// checkNames returns an error if a member of an object, or of an object in it, has the name of a field of the
// struct in other letter case.
func (d *document) checkNames(object int, fields reflect.Type) error {
	var names []string
	inside := map[string]reflect.Type{}
	for i := range fields.NumField() {
		f := fields.Field(i)
		name := f.Tag.Get("json")
		names = append(names, name)
		if f.Type.Kind() == reflect.Struct {
			inside[name] = f.Type
		}
	}
	if err := d.checkCase(object, names); err != nil {
		return err
	}
	for key, value := range d.Members(object) {
		if t := inside[d.StringAt(key)]; t != nil {
			if err := d.checkNames(value, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCase returns an error if a member of an object has one of the names in other letter case.
func (d *document) checkCase(object int, names []string) error {
	for key := range d.Members(object) {
		got := d.StringAt(key)
		for _, want := range names {
			if got != want && strings.EqualFold(got, want) {
				return fmt.Errorf("got %q, want %q", errtext.Clip(got), want)
			}
		}
	}
	return nil
}

// skimObject returns the members of an object that starhost cannot read as a whole, up to the first mistake.
// A string, number or word keeps its value; any other value becomes {}. If a name occurs twice, or in two
// letter cases, its value becomes {}, too.
func skimObject(text string) object {
	all := object{}
	seen := map[string]string{} // how each name was spelt first
	r := jsontext.Reader{Text: text, IsStrict: true}
	for depth := 0; r.At < len(text); {
		switch text[r.At] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			quoted, err := r.Quoted()
			if err != nil {
				return all
			}
			if c, _ := r.Peek(); depth != 1 || c != ':' {
				continue
			}
			name, _ := quoted.Decode() // no error, because it is a valid string
			same := strings.ToLower(strings.ToUpper(name))
			if first, twice := seen[same]; twice {
				all[first], all[name] = json.RawMessage("{}"), json.RawMessage("{}")
			} else {
				seen[same], all[name] = name, firstScalar(text[r.At+1:])
			}
		}
		r.At++
	}
	return all
}

// firstScalar returns the string, number or word at the beginning of a text. For any other value it returns
// {}.
func firstScalar(text string) json.RawMessage {
	r := jsontext.Reader{Text: text, IsStrict: true}
	if c, _ := r.Peek(); c == '"' {
		if quoted, err := r.Quoted(); err == nil {
			return json.RawMessage(quoted.Text)
		}
		return json.RawMessage("{}")
	}
	word := text[r.At:]
	if i := strings.IndexAny(word, " \t\r\n,:]}"); i >= 0 {
		word = word[:i]
	}
	if !json.Valid([]byte(word)) {
		word = "{}"
	}
	return json.RawMessage(word)
}
