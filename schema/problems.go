package schema

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
)

// maxProblems is the most problems that validate returns for one call's arguments.
const maxProblems = 50

// Validate returns every problem of args, up to maxProblems, one line each, sorted by
// argument; nil if args are valid. The library tells the first problem only, so that
// each value is validated by itself. A rule about several values at once is told only
// if each of them is valid.
func (s *Schema) Validate(args json.RawMessage) []string {
	c, err := s.compile()
	if err != nil {
		return []string{err.Error()}
	}
	return c.validate(args)
}

func (s *compiledSchema) validate(args json.RawMessage) []string {
	values, err := jsontext.DecodeObject(args)
	if err != nil {
		return []string{"arguments: " + err.Error()}
	}
	broken := validateSafely(s.whole, values)
	if broken == nil {
		return nil
	}
	problems := missingIn(s.root, values, "")
	for _, name := range sortedKeys(values) {
		if len(problems) > maxProblems {
			break
		}
		problems = append(problems, s.argument(name, values[name])...)
	}
	if len(problems) == 0 {
		problems = []string{problemOf(broken)}
	}
	slices.Sort(problems)
	if len(problems) > maxProblems {
		problems = append(problems[:maxProblems], "and more") // which were not looked for
	}
	return problems
}

// missingIn returns what an object lacks; at is the path to its properties.
func missingIn(s *jsonschema.Schema, object map[string]any, at string) []string {
	var problems []string
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			problems = append(problems, fmt.Sprintf("%q: missing", at+name))
		}
	}
	return problems
}

// argument returns what is wrong with one argument alone.
func (s *compiledSchema) argument(name string, value any) []string {
	if s.closed && s.root.Properties[name] == nil {
		return []string{fmt.Sprintf("%q: unknown argument%s", name, near.DidYouMean(name, s.names))}
	}
	single, err := s.single()
	if err != nil { // because a $ref leads to a rule that was left out
		return nil
	}
	err = validateSafely(single, map[string]any{name: value})
	if err == nil {
		return nil
	}
	if inside := s.inside(name, value); len(inside) > 0 {
		return inside
	}
	return []string{fmt.Sprintf("%q: %s", name, problemOf(err))}
}

// inside returns what is wrong with an argument, or with what it holds, where that can
// be told by itself.
func (s *compiledSchema) inside(name string, value any) []string {
	if !opensObject(s.root) || s.root.Properties[name] == nil {
		return nil
	}
	loose, err := s.loose()
	if err != nil { // as the rest referred to what is left out
		return nil
	}
	d := descent{loose: loose, root: map[string]any{}, at: name}
	d.value(s.root.Properties[name], value, func(v any) { d.root[name] = v })
	return d.problems
}

// A descent looks for what is wrong inside one argument.
type descent struct {
	loose    *jsonschema.Resolved
	root     map[string]any // the arguments, of which all but the value looked at is taken away
	at       string         // the path to it
	problems []string
}

// value looks at a value and at what is in it. put places another in its stead.
func (d *descent) value(s *jsonschema.Schema, value any, put func(any)) {
	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	switch {
	case isObject && opensObject(s):
		d.object(s, object, put)
	case isList && opensList(s):
		place := []any{nil}
		put(place)
		for i, item := range list {
			if len(d.problems) > maxProblems {
				return
			}
			d.inside(fmt.Sprintf("[%d]", i), s.Items, item, func(v any) { place[0] = v })
		}
	default:
		put(value)
		if err := validateSafely(d.loose, d.root); err != nil {
			d.problems = append(d.problems, fmt.Sprintf("%q: %s", d.at, problemOf(err)))
		}
	}
}

func (d *descent) object(s *jsonschema.Schema, object map[string]any, put func(any)) {
	d.problems = append(d.problems, missingIn(s, object, d.at+".")...)
	for _, name := range sortedKeys(object) {
		if len(d.problems) > maxProblems {
			return
		}
		if s.Properties[name] == nil && isClosed(s) {
			d.problems = append(d.problems, fmt.Sprintf("%q: unknown property%s", d.at+"."+name, near.DidYouMean(name, sortedKeys(s.Properties))))
			continue
		}
		place := map[string]any{}
		put(place)
		d.inside("."+name, s.Properties[name], object[name], func(v any) { place[name] = v })
	}
}

// inside looks at a value one step further down.
func (d *descent) inside(step string, s *jsonschema.Schema, value any, put func(any)) {
	at := d.at
	d.at += step
	d.value(s, value, put)
	d.at = at
}

// opensObject reports whether the properties of an object can be looked at by
// themselves, opensList likewise for the items of a list.
func opensObject(s *jsonschema.Schema) bool {
	return s != nil && s.Type == "object" && s.Ref == "" && len(s.Properties) > 0
}

func opensList(s *jsonschema.Schema) bool {
	return s != nil && s.Type == "array" && s.Ref == "" && s.Items != nil && s.PrefixItems == nil
}

// compileSingle compiles a schema without its rules about more than one argument.
func compileSingle(raw json.RawMessage) (*jsonschema.Resolved, error) {
	root, err := parse(raw) // again, as a resolved schema must not be shared
	if err != nil {
		return nil, err
	}
	return resolve(&jsonschema.Schema{
		ID: root.ID, Schema: root.Schema, Defs: root.Defs, Definitions: root.Definitions,
		Properties: root.Properties, PatternProperties: root.PatternProperties, AdditionalProperties: root.AdditionalProperties,
	})
}

// compileLoose compiles a schema without its rules about more than one value.
func compileLoose(raw json.RawMessage) (*jsonschema.Resolved, error) {
	root, err := parse(raw)
	if err != nil {
		return nil, err
	}
	loosened := loosen(root)
	loosened.ID, loosened.Schema, loosened.Defs, loosened.Definitions = root.ID, root.Schema, root.Defs, root.Definitions
	return resolve(loosened)
}

// loosen returns what of a schema holds for each value in it by itself.
func loosen(s *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case opensObject(s):
		loose := &jsonschema.Schema{
			Type: s.Type, Properties: s.Properties, PatternProperties: s.PatternProperties, AdditionalProperties: s.AdditionalProperties,
		}
		for name, p := range s.Properties {
			loose.Properties[name] = loosen(p)
		}
		return loose
	case opensList(s):
		return &jsonschema.Schema{Type: s.Type, Items: loosen(s.Items)}
	}
	return s
}
