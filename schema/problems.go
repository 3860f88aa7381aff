package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
)

// maxProblems is the most problems that Validate returns for one call's arguments.
const maxProblems = 50

// Validate returns the problems of args, at most 50 and then "and more", one line each, sorted by
// argument. It returns nil if args are valid. The library reports only the first problem, so
// Validate asks it about each value by itself. Validate reports a rule about several values at once
// only if each of the values is valid.
//
// A null that the schema refuses counts as an optional argument that is left out, because models
// write it for one. fit are the arguments without such nulls.
//
// Validate refuses arguments whose validation could take more than about 100 ms, and returns only
// the first problem if finding all of them could take longer. steps is a bound of the work, which
// callers charge to the plugin that caused the validation.
func (s *Schema) Validate(args json.RawMessage) (fit json.RawMessage, problems []string, steps uint64) {
	c, err := s.compile()
	if err != nil {
		return args, []string{err.Error()}, 0
	}
	fit, problems, work := c.validate(args)
	return fit, problems, uint64(1 + work/stepWork)
}

func (s *compiledSchema) validate(args json.RawMessage) (fit json.RawMessage, problems []string, work int) {
	if work := decodingWork(args); work > maxWork {
		return args, []string{errtext.Format("arguments: decoding %d bytes would take too long: want fewer", len(args))}, len(args) / stepWork
	}
	values, err := jsontext.DecodeObject(args)
	if err != nil {
		return args, []string{"arguments: " + err.Error()}, len(args) * byteWork
	}
	size := sizeOf(values)
	work, largest := s.plan.validationWork(&size)
	if work > maxWork {
		problem := errtext.Format("%q: checking %d bytes of arguments by the schema would take too long: want fewer",
			largest, len(args))
		return args, []string{problem}, work
	}
	broken := validateSafely(s.whole, values)
	if broken == nil {
		return args, nil, work
	}
	if left := s.withoutNulls(args, values); left != nil {
		fit, problems, more := s.validate(left)
		return fit, problems, work + more
	}
	if all := s.plan.detailsWork(work, &size); all <= maxWork {
		return args, s.problems(values, broken), all
	}
	return args, []string{"arguments: " + problemOf(broken, nil, nil)}, work
}

// withoutNulls returns args without the optional arguments that are null though the schema wants
// another value, or nil if there are none. values are the decoded args.
func (s *compiledSchema) withoutNulls(args json.RawMessage, values map[string]any) json.RawMessage {
	single, err := s.single()
	if err != nil || !bytes.Contains(args, []byte("null")) {
		return nil
	}
	left := map[string]bool{}
	for _, name := range s.names {
		value, given := values[name]
		if given && value == nil && !slices.Contains(s.root.Required, name) {
			left[name] = validateSafely(single, map[string]any{name: nil}) != nil
		}
	}
	doc, err := jsontext.Parse(string(args), decoderDepth)
	if err != nil {
		return nil
	}
	edits := jsontext.NewEdits(&doc)
	for key, value := range doc.Members(0) { // also each of two members of one name
		if left[doc.StringAt(key)] {
			edits.Remove(value)
		}
	}
	if edits.IsEmpty() {
		return nil
	}
	return json.RawMessage(edits.String())
}

// decoderDepth is the deepest nesting that encoding/json decodes.
const decoderDepth = 10_000

// problems returns the problems of values that the whole schema refuses.
func (s *compiledSchema) problems(values map[string]any, broken error) []string {
	problems := missingIn(s.root, values, "")
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(problems) > maxProblems {
			break
		}
		problems = append(problems, s.argument(name, values[name])...)
	}
	if len(problems) == 0 {
		problems = []string{problemOf(broken, nil, nil)}
	}
	slices.Sort(problems)
	if len(problems) > maxProblems {
		problems = append(problems[:maxProblems], "and more")
	}
	return problems
}

// missingIn returns the required properties that object lacks; at is the path to its properties.
func missingIn(s *jsonschema.Schema, object map[string]any, at string) []string {
	var problems []string
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			problems = append(problems, errtext.Format("%q: missing", at+name))
		}
	}
	return problems
}

// argument returns the problems of one argument by itself.
func (s *compiledSchema) argument(name string, value any) []string {
	if s.closed && s.root.Properties[name] == nil {
		return []string{errtext.Format("%q: unknown argument%s", name, near.DidYouMean(name, s.names))}
	}
	single, err := s.single()
	if err != nil { // a $ref leads to a rule that compileSingle leaves out
		return nil
	}
	err = validateSafely(single, map[string]any{name: value})
	if err == nil {
		return nil
	}
	if inside := s.inside(name, value); len(inside) > 0 {
		return inside
	}
	return []string{errtext.Format("%q: %s", name, problemOf(err, s.root.Properties[name], value))}
}

// inside returns the problems of the values inside one argument, each checked by itself. It
// returns nil if the schema does not allow that.
func (s *compiledSchema) inside(name string, value any) []string {
	if !opensObject(s.root) || s.root.Properties[name] == nil {
		return nil
	}
	loose, err := s.loose()
	if err != nil { // a $ref leads to a rule that compileLoose leaves out
		return nil
	}
	d := descent{loose: loose, root: map[string]any{}, at: name}
	d.value(s.root.Properties[name], value, func(v any) { d.root[name] = v })
	return d.problems
}

// A descent checks the values inside one argument one after another.
type descent struct {
	loose    *jsonschema.Resolved
	root     map[string]any // the arguments, reduced to the value that is checked
	at       string         // the path to that value
	problems []string
}

// value checks a value and the values inside it. put replaces the value in d.root.
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
			d.problems = append(d.problems, errtext.Format("%q: %s", d.at, problemOf(err, s, value)))
		}
	}
}

func (d *descent) object(s *jsonschema.Schema, object map[string]any, put func(any)) {
	d.problems = append(d.problems, missingIn(s, object, d.at+".")...)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if len(d.problems) > maxProblems {
			return
		}
		if s.Properties[name] == nil && isClosed(s) {
			hint := near.DidYouMean(name, slices.Sorted(maps.Keys(s.Properties)))
			d.problems = append(d.problems, errtext.Format("%q: unknown property%s", d.at+"."+name, hint))
			continue
		}
		place := map[string]any{}
		put(place)
		d.inside("."+name, s.Properties[name], object[name], func(v any) { place[name] = v })
	}
}

// inside checks a value that is one step further down.
func (d *descent) inside(step string, s *jsonschema.Schema, value any, put func(any)) {
	at := d.at
	d.at += step
	d.value(s, value, put)
	d.at = at
}

// opensObject reports whether a descent can check the properties of an object by themselves.
func opensObject(s *jsonschema.Schema) bool {
	return s != nil && s.Type == "object" && s.Ref == "" && len(s.Properties) > 0
}

// opensList reports whether a descent can check the items of a list by themselves.
func opensList(s *jsonschema.Schema) bool {
	return s != nil && s.Type == "array" && s.Ref == "" && s.Items != nil && s.PrefixItems == nil
}

// compileSingle compiles a schema without its rules about more than one argument.
func compileSingle(raw json.RawMessage) (*jsonschema.Resolved, error) {
	root, err := parse(raw) // again, because a resolved schema must not be shared
	if err != nil {
		return nil, err
	}
	return resolve(&jsonschema.Schema{
		ID: root.ID, Schema: root.Schema, Defs: root.Defs, Definitions: root.Definitions,
		Properties: root.Properties, PatternProperties: root.PatternProperties,
		AdditionalProperties: root.AdditionalProperties,
	})
}

// compileLoose compiles a schema without its rules about more than one value.
func compileLoose(raw json.RawMessage) (*jsonschema.Resolved, error) {
	root, err := parse(raw)
	if err != nil {
		return nil, err
	}
	loosened := loosen(root)
	loosened.ID, loosened.Schema = root.ID, root.Schema
	loosened.Defs, loosened.Definitions = root.Defs, root.Definitions
	return resolve(loosened)
}

// loosen returns a schema with the rules about single values only.
func loosen(s *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case opensObject(s):
		loose := &jsonschema.Schema{
			Type: s.Type, Properties: s.Properties, PatternProperties: s.PatternProperties,
			AdditionalProperties: s.AdditionalProperties,
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
