// Package schema validates the arguments of tools by JSON Schemas.
//
// Plugins write the schemas and language models the arguments, so this package bounds the
// time of both: see [Compile]. It knows nothing of tools and turns.
package schema

import (
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/starhost/starhost/internal/cache"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// A Schema validates a tool's arguments. It compiles its text once, at the latest with the first
// validation. It is safe for concurrent use.
type Schema struct {
	compile func() (*compiledSchema, error)
}

// Compile checks a JSON Schema for a tool's arguments and compiles it.
func Compile(raw json.RawMessage) (*Schema, error) {
	s := Defer(raw)
	_, err := s.compile()
	return s, err
}

// Defer returns a schema that its first validation compiles. It is for schemas that were derived
// from a signature, so that nothing can be wrong with them. To compile a schema takes as long as to
// evaluate a small plugin, and most tools are never called: without Defer a hook process with 20
// plugins takes 16 % longer.
func Defer(raw json.RawMessage) *Schema {
	return &Schema{sync.OnceValues(func() (*compiledSchema, error) { return compileCached(raw) })}
}

// compiledSchemas serves all hosts of the process, because golden cases and reloads add the
// same tools to one host after another. Without it, 1,000 cases that call a tool take 25 %
// longer.
var compiledSchemas cache.Cache[string, *compiledSchema]

// maxCachedSchemas is the most bytes of schema text, and of the programs of their patterns, in the
// cache. The compiled schemas take some forty times as many bytes.
const maxCachedSchemas = 256 << 10

// compileCached returns the cached schema of a text, or compiles the text and caches the result.
func compileCached(raw json.RawMessage) (*compiledSchema, error) {
	if s, ok := compiledSchemas.Get(string(raw)); ok {
		return s, nil
	}
	s, err := compileText(raw)
	if err != nil {
		return nil, err
	}
	return compiledSchemas.Add(string(raw), s, len(raw)+s.plan.patterns, maxCachedSchemas), nil
}

// A compiledSchema is ready to validate arguments.
type compiledSchema struct {
	root   *jsonschema.Schema
	plan   *workPlan
	whole  *jsonschema.Resolved
	names  []string // the sorted names of the properties
	closed bool     // no other argument is allowed

	// single has the rules about each argument by itself, and loose the rules about each nested
	// value by itself. Both are compiled when arguments turn out to be invalid.
	single, loose func() (*jsonschema.Resolved, error)
}

// compileText checks and compiles a JSON Schema for a tool's arguments.
func compileText(raw json.RawMessage) (*compiledSchema, error) {
	root, err := parse(raw)
	if err != nil {
		return nil, err
	}
	if root.Type != "object" {
		return nil, errtext.Errorf("type: got %q, want \"object\"", root.Type)
	}
	s := &compiledSchema{root: root, names: slices.Sorted(maps.Keys(root.Properties)), closed: isClosed(root)}
	s.single = sync.OnceValues(func() (*jsonschema.Resolved, error) { return compileSingle(raw) })
	s.loose = sync.OnceValues(func() (*jsonschema.Resolved, error) { return compileLoose(raw) })
	for _, r := range root.Required {
		if s.closed && root.Properties[r] == nil {
			return nil, errtext.Errorf("required: %q is no property%s", r, near.DidYouMean(r, s.names))
		}
	}
	if err := checkSize(raw, root); err != nil {
		return nil, err
	}
	if s.plan, err = planWork(root); err != nil {
		return nil, err
	}
	if s.whole, err = resolve(root); err != nil {
		return nil, err
	}
	return s, nil
}

// parse decodes a schema. It refuses mistakes that the library would accept silently.
func parse(raw json.RawMessage) (*jsonschema.Schema, error) {
	if err := checkText(raw); err != nil {
		return nil, err
	}
	var root jsonschema.Schema
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, errtext.Errorf("not a JSON Schema: %s", describeProblem(err))
	}
	return &root, checkTypes(&root, "")
}

// describeProblem returns why a text is no schema, without the Go types in err that mean
// nothing to a plugin's author.
func describeProblem(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	if _, field, ok := strings.Cut(wrong.Field, "."); ok { // the first part names a type of the library
		return field + ": got " + wrong.Value
	}
	return "got " + wrong.Value
}

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// checkTypes reports the first unknown type name, with the path to it.
func checkTypes(s *jsonschema.Schema, at string) error {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	for _, t := range types {
		if !slices.Contains(typeNames, t) {
			return errtext.Errorf("%stype: got %q, want one of %s%s", at, t, strings.Join(typeNames, ", "), near.DidYouMean(t, typeNames))
		}
	}
	for name, sub := range subschemas(s) {
		if sub == nil {
			return errtext.Errorf("%s%s: got null, want a schema", at, name)
		}
		if err := checkTypes(sub, at+name+": "); err != nil {
			return err
		}
	}
	return nil
}

// subschemas returns the schemas directly in s in a fixed order: properties by their names, others
// by their keywords.
func subschemas(s *jsonschema.Schema) iter.Seq2[string, *jsonschema.Schema] {
	return func(yield func(string, *jsonschema.Schema) bool) {
		for _, m := range []map[string]*jsonschema.Schema{
			s.Properties, s.PatternProperties, s.Defs, s.Definitions, s.DependentSchemas,
		} {
			for _, name := range slices.Sorted(maps.Keys(m)) {
				if !yield(name, m[name]) {
					return
				}
			}
		}
		for _, k := range []struct {
			keyword string
			schemas []*jsonschema.Schema
		}{
			{"items", listOf(s.Items)}, {"items", s.ItemsArray}, {"prefixItems", s.PrefixItems}, {"contains", listOf(s.Contains)},
			{"additionalProperties", listOf(s.AdditionalProperties)}, {"propertyNames", listOf(s.PropertyNames)},
			{"allOf", s.AllOf}, {"anyOf", s.AnyOf}, {"oneOf", s.OneOf}, {"not", listOf(s.Not)},
			{"if", listOf(s.If)}, {"then", listOf(s.Then)}, {"else", listOf(s.Else)},
		} {
			for _, sub := range k.schemas {
				if !yield(k.keyword, sub) {
					return
				}
			}
		}
	}
}

// listOf returns a list of s, or an empty list if s is nil.
func listOf(s *jsonschema.Schema) []*jsonschema.Schema {
	if s == nil {
		return nil
	}
	return []*jsonschema.Schema{s}
}

// resolve resolves the references of s. It returns panics of the library as errors.
func resolve(s *jsonschema.Schema) (r *jsonschema.Resolved, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errtext.Errorf("not a JSON Schema: %v", p)
		}
	}()
	return s.Resolve(nil)
}

// isClosed reports whether s allows only the properties that it lists.
func isClosed(s *jsonschema.Schema) bool {
	return s.AdditionalProperties != nil && isFalse(s.AdditionalProperties) && len(s.PatternProperties) == 0
}

// isFalse reports whether no value satisfies s.
func isFalse(s *jsonschema.Schema) bool {
	raw, err := json.Marshal(s)
	return err == nil && (string(raw) == "false" || string(raw) == `{"not":{}}` || string(raw) == `{"not":true}`)
}

// validateSafely validates values. It returns a panic of the library as an error.
func validateSafely(r *jsonschema.Resolved, values map[string]any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errtext.Errorf("%v", p)
		}
	}()
	return r.Validate(values)
}
