package starhost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A schema is a tool's parameters, ready to validate arguments.
type schema struct {
	whole    *jsonschema.Resolved
	optional *jsonschema.Resolved // the same without required: for one property alone
	root     *jsonschema.Schema
	names    []string // of the properties, sorted
}

// newSchema checks and compiles a JSON Schema for a tool's arguments.
func newSchema(raw json.RawMessage) (*schema, error) {
	root, err := parseSchema(raw)
	if err != nil {
		return nil, err
	}
	if root.Type != "object" {
		return nil, fmt.Errorf("type: got %q, want \"object\"", root.Type)
	}
	for _, r := range root.Required {
		if root.Properties[r] == nil && root.AdditionalProperties != nil && isFalse(root.AdditionalProperties) {
			return nil, fmt.Errorf("required: %q is no property%s", r, didYouMean(r, sortedKeys(root.Properties)))
		}
	}
	s := &schema{root: root, names: sortedKeys(root.Properties)}
	if s.whole, err = resolveSchema(root); err != nil {
		return nil, err
	}
	loose, err := parseSchema(raw)
	if err != nil {
		return nil, err
	}
	loose.Required, loose.DependentRequired, loose.MinProperties, loose.AdditionalProperties = nil, nil, nil, nil
	s.optional, err = resolveSchema(loose)
	return s, err
}

// parseSchema decodes a schema, refusing what the library would accept silently.
func parseSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	var root jsonschema.Schema
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	return &root, checkTypes(&root, "")
}

var schemaTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// checkTypes reports the first type name, by path, that JSON Schema does not have.
func checkTypes(s *jsonschema.Schema, at string) error {
	types := s.Types
	if s.Type != "" {
		types = append(slices.Clone(types), s.Type)
	}
	for _, t := range types {
		if !slices.Contains(schemaTypes, t) {
			return fmt.Errorf("%stype: got %q, want one of %s%s", at, t, strings.Join(schemaTypes, ", "), didYouMean(t, schemaTypes))
		}
	}
	for _, name := range sortedKeys(s.Properties) {
		if p := s.Properties[name]; p != nil {
			if err := checkTypes(p, at+name+": "); err != nil {
				return err
			}
		}
	}
	if s.Items != nil {
		return checkTypes(s.Items, at+"items: ")
	}
	return nil
}

func resolveSchema(s *jsonschema.Schema) (r *jsonschema.Resolved, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("not a JSON Schema: %v", p)
		}
	}()
	return s.Resolve(nil)
}

// isFalse reports whether s is the schema that nothing satisfies.
func isFalse(s *jsonschema.Schema) bool {
	raw, err := json.Marshal(s)
	return err == nil && (string(raw) == "false" || string(raw) == `{"not":{}}` || string(raw) == `{"not":true}`)
}

// maxProblem is the most bytes of one problem's text: it quotes the argument.
const maxProblem = 300

// validate returns every problem of args, one line each, sorted by argument;
// nil if args are valid.
func (s *schema) validate(args json.RawMessage) []string {
	values, err := decodeObject(args)
	if err != nil {
		return []string{err.Error()}
	}
	if check(s.whole, values) == nil {
		return nil
	}
	var problems []string
	for _, name := range s.root.Required {
		if _, ok := values[name]; !ok {
			problems = append(problems, fmt.Sprintf("%q: missing", name))
		}
	}
	for _, name := range sortedKeys(values) {
		if p := s.property(name, values[name]); p != "" {
			problems = append(problems, p)
		}
	}
	if len(problems) == 0 { // a rule about several arguments at once
		problems = []string{clean(check(s.whole, values))}
	}
	slices.Sort(problems)
	return problems
}

// property returns what is wrong with one argument alone, "" for nothing.
func (s *schema) property(name string, value any) string {
	if s.root.Properties[name] == nil && len(s.root.PatternProperties) == 0 && s.root.AdditionalProperties != nil && isFalse(s.root.AdditionalProperties) {
		return fmt.Sprintf("%q: unknown argument%s", name, didYouMean(name, s.names))
	}
	if err := check(s.optional, map[string]any{name: value}); err != nil {
		return fmt.Sprintf("%q: %s", name, clean(err))
	}
	return ""
}

// check validates and turns a panic of the library into an error.
func check(r *jsonschema.Resolved, values map[string]any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return r.Validate(values)
}

// clean drops the library's "validating X: " prefixes and bounds the text.
func clean(err error) string {
	msg := err.Error()
	for {
		rest, ok := strings.CutPrefix(msg, "validating ")
		if !ok {
			break
		}
		_, msg, _ = strings.Cut(rest, ": ")
	}
	if len(msg) > maxProblem {
		msg = strings.ToValidUTF8(msg[:maxProblem], "") + "…"
	}
	return msg
}

// decodeObject decodes one JSON object; empty text is an empty object.
func decodeObject(raw json.RawMessage) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	var values map[string]any
	if err := dec.Decode(&values); err != nil {
		return nil, fmt.Errorf("arguments are not a JSON object: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("arguments are not one JSON object: text follows it")
	}
	if values == nil {
		return nil, errors.New("arguments are not a JSON object: got null")
	}
	return values, nil
}
