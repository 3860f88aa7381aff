package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// A guard must see the call that the agent runs. JSON readers differ in three points: two members
// with one name, names in another letter case (encoding/json takes TOOL_INPUT for tool_input), and
// bytes that are not UTF-8. So starhost refuses such input instead of choosing one reading.

// findAmbiguity returns an error if two readers could decode the document differently.
func (d *document) findAmbiguity() error {
	if !utf8.Valid(d.text) {
		return errors.New("it is not UTF-8")
	}
	for i := range d.nodes {
		if name, twice := d.findDuplicate(i); twice {
			return fmt.Errorf("%s stands twice in one object", quoteShort(name))
		}
	}
	return nil
}

// findDuplicate returns a name that two members of an object have.
func (d *document) findDuplicate(object int) (name string, twice bool) {
	var few [16]string
	names := few[:0]
	for key := range d.members(object) {
		names = append(names, d.stringAt(key))
	}
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			return names[i], true
		}
	}
	return "", false
}

// checkNames returns an error if a member of an object, or of an object inside it, differs from a
// field of the struct by letter case alone.
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
	for key, value := range d.members(object) {
		if t := inside[d.stringAt(key)]; t != nil {
			if err := d.checkNames(value, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCase returns an error if a member of an object differs from one of the names by letter case
// alone.
func (d *document) checkCase(object int, names []string) error {
	for key := range d.members(object) {
		got := d.stringAt(key)
		for _, want := range names {
			if got != want && strings.EqualFold(got, want) {
				return fmt.Errorf("got %s, want %q", quoteShort(got), want)
			}
		}
	}
	return nil
}

// quoteShort quotes at most 200 bytes of a text.
func quoteShort(s string) string {
	if len(s) > 200 {
		return fmt.Sprintf("%q...", strings.ToValidUTF8(s[:200], ""))
	}
	return fmt.Sprintf("%q", s)
}

// skimObject returns the members of an object that starhost cannot read as a whole, up to the first
// mistake. A string, number or word keeps its value; any other value becomes {}. A name that
// appears twice, or in two letter cases, has the value {} too.
func (d *document) skimObject() object {
	all := object{}
	seen := map[string]string{} // the first spelling of each name
	depth := 0
	for i := 0; i < len(d.text); i++ {
		switch d.text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end, _, whole := d.readString(i)
			if !whole {
				return all
			}
			if colon := d.skipSpace(end); depth == 1 && colon < len(d.text) && d.text[colon] == ':' {
				var name string
				_ = json.Unmarshal(d.text[i:end], &name) // it is a valid string
				same := strings.ToLower(strings.ToUpper(name))
				if first, twice := seen[same]; twice {
					all[first], all[name] = json.RawMessage("{}"), json.RawMessage("{}")
				} else {
					seen[same], all[name] = name, d.scalarAt(d.skipSpace(colon+1))
				}
				end = colon + 1
			}
			i = end - 1
		}
	}
	return all
}

// scalarAt returns the string, number or word at an offset, {} for any other value.
func (d *document) scalarAt(i int) json.RawMessage {
	if i < len(d.text) && d.text[i] == '"' {
		if end, _, whole := d.readString(i); whole {
			return slices.Clone(d.text[i:end])
		}
	} else if end, ok := d.readScalar(min(i, len(d.text))); ok {
		return slices.Clone(d.text[i:end])
	}
	return json.RawMessage("{}")
}
