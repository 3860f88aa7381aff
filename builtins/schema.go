package builtins

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/near"
)

// A toolSchema is a tool's JSON Schema.
type toolSchema struct {
	raw   json.RawMessage
	shape *shape // converts the arguments of calls
	valid bool   // the schema is certainly valid; if false, the host must check it
}

// schemaOf returns the JSON Schema of a tool. If the plugin gives one, schemaOf checks it against the
// handler's parameters. Otherwise it derives one from the signature, the docstring and the values of enum.
func schemaOf(c call.Call, sig *signature, given, enum *starlark.Dict) (s toolSchema, err error) {
	if given == nil {
		return deriveSchema(c, sig, enum)
	}
	if enum != nil {
		return s, c.Fail("E0308", "got both enum and parameters, want one of them").
			Way(`in parameters, write "enum": [...] in the property`)
	}
	if err = checkSchema(sig, given); err == nil {
		s.raw, err = toJSON(given)
	}
	if err != nil {
		return s, c.Fail("E0308", "parameters: %v", err)
	}
	s.shape = shapeOf(given)
	return s, nil
}

// deriveSchema derives the schema of a tool from the tool's handler.
func deriveSchema(c call.Call, sig *signature, enum *starlark.Dict) (s toolSchema, err error) {
	if err := payDefaults(c, sig); err != nil {
		return s, err
	}
	properties, err := deriveProperties(sig, enum)
	if err != nil {
		return s, c.Fail("E0308", "%v", err)
	}
	schema := derivedSchema(properties)
	if s.raw, err = toJSON(schema); err != nil {
		return s, c.Fail("E0308", "parameters: %v", err)
	}
	s.shape, s.valid = shapeOf(schema), len(s.raw) < maxUnchecked
	for i := range properties {
		s.valid = s.valid && properties[i].hasScalars()
	}
	return s, nil
}

// maxUnchecked is the most bytes of a derived schema that the host does not check.
const maxUnchecked = 4 << 10

// payDefaults pays for the defaults of parameters before other code makes them a part of the schema. So it
// refuses a default that contains itself, or that prints larger than it is.
func payDefaults(c call.Call, sig *signature) error {
	for _, p := range sig.namedParams() {
		if p.value == nil {
			continue
		}
		payer := textPayer{Call: c}
		if err := payer.value(p.value, 0); err != nil {
			return err
		}
	}
	return nil
}

// checkSchema returns an error if the schema that a plugin gives does not match the handler's parameters. The
// host checks that the schema is valid.
func checkSchema(sig *signature, schema *starlark.Dict) error {
	if typ, _ := starlark.AsString(dictMember(schema, "type")); typ != "object" {
		return fmt.Errorf("type: got %s, want \"object\": arguments have names, which are its properties", errtext.Quote(typ))
	}
	properties := stringKeys(dictMember(schema, "properties"))
	for _, p := range sig.namedParams() {
		if !slices.Contains(properties, p.name) {
			return fmt.Errorf("parameter %s of %s has no property%s: the model could never set it", p.name, sig.fn.Name(), near.DidYouMean(p.name, properties))
		}
	}
	required, _ := dictMember(schema, "required").(starlark.Iterable)
	if required == nil {
		return nil
	}
	for v := range starlark.Elements(required) {
		name, _ := starlark.AsString(v)
		if !sig.rest && !sig.takesArgument(name) || name == ctxName {
			return fmt.Errorf("required property %s: %s has no parameter that takes it%s", errtext.Quote(name), sig.fn.Name(), near.DidYouMean(name, paramList(sig.namedParams())))
		}
	}
	return nil
}

// dictMember returns the member of a dict with a key, or nil.
func dictMember(v starlark.Value, key string) starlark.Value {
	if m, ok := v.(starlark.Mapping); ok {
		if v, found, err := m.Get(starlark.String(key)); found && err == nil {
			return v
		}
	}
	return nil
}

// stringKeys returns those keys of a dict that are strings, in the dict's order.
func stringKeys(v starlark.Value) []string {
	var keys []string
	if m, ok := v.(starlark.IterableMapping); ok {
		for k := range starlark.Elements(m) {
			if s, ok := starlark.AsString(k); ok {
				keys = append(keys, s)
			}
		}
	}
	return keys
}

// A shape says which numbers of a schema are integers. JSON has one type for numbers, so 5.0 may arrive for
// an integer, but Starlark distinguishes 5 and 5.0. A nil shape converts nothing.
type shape struct {
	integer    bool
	items      *shape
	properties map[string]*shape
}

// shapeOf returns the shape of a schema, or nil if the schema has no integers.
func shapeOf(schema starlark.Value) *shape {
	if _, ok := schema.(starlark.Mapping); !ok {
		return nil
	}
	s := shape{dictMember(schema, "type") == starlark.String("integer"), shapeOf(dictMember(schema, "items")), map[string]*shape{}}
	properties := dictMember(schema, "properties")
	for _, name := range stringKeys(properties) {
		if p := shapeOf(dictMember(properties, name)); p != nil {
			s.properties[name] = p
		}
	}
	if !s.integer && s.items == nil && len(s.properties) == 0 {
		return nil
	}
	return &s
}

func (s *shape) property(name string) *shape {
	if s == nil {
		return nil
	}
	return s.properties[name]
}

// coerce returns v with ints in place of those whole floats that the shape says are integers. It changes
// lists and dicts in place.
func (s *shape) coerce(v starlark.Value) starlark.Value {
	if s == nil {
		return v
	}
	switch x := v.(type) {
	case starlark.Float:
		if n, err := starlark.NumberToInt(x); s.integer && err == nil && n.Float() == x {
			return n
		}
	case *starlark.List:
		for i := range x.Len() {
			x.SetIndex(i, s.items.coerce(x.Index(i))) // no error, because the list is new and nobody iterates over it
		}
	case *starlark.Dict:
		for _, item := range x.Items() {
			name, _ := starlark.AsString(item[0])
			x.SetKey(item[0], s.property(name).coerce(item[1])) // no error, because the dict is new
		}
	}
	return v
}

// A property is what the schema says about one parameter.
type property struct {
	param
	typ  *jsonType
	text string
	enum []starlark.Value // values of the type typ, or of the elements of an array
}

// deriveProperties derives the schema of each parameter from the handler's signature and docstring, and from
// the values that enum has for some parameters.
func deriveProperties(sig *signature, enum *starlark.Dict) ([]property, error) {
	docs, err := parseArgs(sig.fn.Doc())
	if err != nil {
		return nil, err
	}
	if sig.rest {
		return nil, fmt.Errorf("%s has **kwargs: list what they may be in parameters = {...}", sig.fn.Name())
	}
	params := sig.namedParams()
	for _, d := range docs {
		if !slices.ContainsFunc(params, func(p param) bool { return p.name == d.name }) {
			return nil, fmt.Errorf("the docstring's Args: %s is no parameter of %s%s", errtext.Quote(d.name), sig.fn.Name(), near.DidYouMean(d.name, paramList(params)))
		}
	}
	var enums starlark.Value // nil, or enum
	if enum != nil {
		enums = enum
		for k := range starlark.Elements(enum) {
			if name, _ := starlark.AsString(k); !slices.Contains(paramList(params), name) {
				return nil, fmt.Errorf("enum: %s is no parameter of %s%s", call.Show(k), sig.fn.Name(), near.DidYouMean(name, paramList(params)))
			}
		}
	}
	properties := make([]property, len(params))
	for i, p := range params {
		var doc argDoc
		if at := slices.IndexFunc(docs, func(d argDoc) bool { return d.name == p.name }); at >= 0 {
			doc = docs[at]
		}
		if values := dictMember(enums, p.name); values != nil {
			if doc.enum, err = enumValues(values); err != nil {
				return nil, fmt.Errorf("enum: %s: %w", p.name, err)
			}
		}
		if properties[i], err = deriveProperty(p, doc); err != nil {
			return nil, fmt.Errorf("parameter %s: %w", p.name, err)
		}
	}
	return properties, nil
}

// enumValues returns the values that a parameter can have. They must be scalars of one type.
func enumValues(v starlark.Value) ([]starlark.Value, error) {
	list, ok := v.(starlark.Iterable)
	if !ok {
		return nil, fmt.Errorf("got %s, want a list of values", v.Type())
	}
	var values []starlark.Value
	for e := range starlark.Elements(list) {
		if _, err := typeOf(e); err != nil || !isScalar(e) || e == starlark.None {
			return nil, fmt.Errorf("[%d]: got %s, want a string, a number or a bool", len(values), e.Type())
		}
		values = append(values, e)
	}
	if len(values) == 0 {
		return nil, errors.New("got no values, want one or more")
	}
	return values, nil
}

// deriveProperty derives the schema of one parameter. The type comes from the docstring, or else from the
// default, or else from the enum.
func deriveProperty(p param, doc argDoc) (property, error) {
	d := property{p, doc.typ, doc.text, doc.enum}
	var own *jsonType
	var err error
	if d.hasDefault() {
		if own, err = typeOf(p.value); err != nil {
			return d, err
		}
		if d.typ != nil && !d.typ.takes(own) {
			return d, fmt.Errorf("the default is %s, the docstring says %s", own, d.typ)
		}
	}
	if d.typ = cmp.Or(d.typ, own); d.typ == nil && len(d.enum) > 0 {
		d.typ, _ = typeOf(d.enum[0]) // no error, because the value is a scalar
	}
	d.typ = cmp.Or(d.typ, &jsonType{name: "string"})
	return d, d.checkEnum()
}

// checkEnum returns an error unless all values of the enum have the type, and the default is one of them.
func (d *property) checkEnum() error {
	inner := d.typ
	for inner.items != nil {
		inner = inner.items
	}
	for _, e := range d.enum {
		typ, err := typeOf(e)
		if err == nil && inner.name == "array" { // an array without a type for its elements gets the type of the values
			inner.items = typ
			inner = typ
		}
		if err != nil || !inner.takes(typ) {
			return fmt.Errorf("%s is one of the values, but the type is %s", call.Show(e), d.typ)
		}
	}
	if len(d.enum) > 0 && d.hasDefault() && !enumHas(d.enum, d.value) {
		return fmt.Errorf("the default %s is not one of %s", call.Show(d.value), showAll(d.enum))
	}
	return nil
}

// showAll returns values for a message.
func showAll(values []starlark.Value) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = call.Show(v)
	}
	return errtext.Cut(strings.Join(texts, ", "))
}

// hasDefault reports whether the schema states a default.
func (d *property) hasDefault() bool { return d.value != nil && d.value != starlark.None }

// hasScalars reports whether the default and the values of the enum are single values, which every reader of
// JSON accepts.
func (d *property) hasScalars() bool {
	for _, v := range d.enum {
		if !isScalar(v) {
			return false
		}
	}
	return d.value == nil || isScalar(d.value)
}

func isScalar(v starlark.Value) bool {
	switch v := v.(type) {
	case starlark.NoneType, starlark.String, starlark.Bool, starlark.Float:
		return true
	case starlark.Int:
		_, small := v.Int64()
		return small
	}
	return false
}

// derivedSchema returns the schema of an object that has these properties.
func derivedSchema(properties []property) *starlark.Dict {
	var required []starlark.Value
	schema, members := new(starlark.Dict), new(starlark.Dict)
	for i := range properties {
		d := &properties[i]
		setKey(members, d.name, d.schema())
		if d.value == nil {
			required = append(required, starlark.String(d.name))
		}
	}
	setKey(schema, "type", starlark.String("object"))
	setKey(schema, "properties", members)
	if len(required) > 0 {
		setKey(schema, "required", starlark.NewList(required))
	}
	setKey(schema, "additionalProperties", starlark.False)
	return schema
}

// schema returns the schema of the property.
func (d *property) schema() *starlark.Dict {
	s := d.typ.schema(d.enum)
	if d.text != "" {
		setKey(s, "description", starlark.String(d.text))
	}
	if d.hasDefault() {
		setKey(s, "default", d.value)
	}
	return s
}

// enumHas reports whether the enum contains a value, or each element of a value that is a list.
func enumHas(enum []starlark.Value, v starlark.Value) bool {
	if list, ok := v.(starlark.Sequence); ok {
		for e := range starlark.Elements(list) {
			if !enumHas(enum, e) {
				return false
			}
		}
		return true
	}
	return slices.ContainsFunc(enum, func(e starlark.Value) bool {
		same, err := starlark.Equal(e, v)
		return same && err == nil
	})
}

// A jsonType is a type of JSON Schema. items is the type of an array's elements, or nil.
type jsonType struct {
	name  string
	items *jsonType
}

func (t *jsonType) String() string {
	if t.items != nil {
		return t.name + " of " + t.items.String()
	}
	return t.name
}

// takes reports whether values of type x are also values of type t.
func (t *jsonType) takes(x *jsonType) bool {
	if t.name != x.name && (t.name != "number" || x.name != "integer") {
		return false
	}
	return t.items == nil || x.items == nil || t.items.takes(x.items)
}

// schema returns the schema of the type. An enum applies to the innermost elements of an array.
func (t *jsonType) schema(enum []starlark.Value) *starlark.Dict {
	s := new(starlark.Dict)
	setKey(s, "type", starlark.String(t.name))
	switch {
	case t.items != nil:
		setKey(s, "items", t.items.schema(enum))
	case len(enum) > 0:
		setKey(s, "enum", starlark.NewList(enum))
	}
	return s
}

// jsonTypes are the types that docstrings may name, each with its name in Python and Starlark.
var jsonTypes = []struct{ name, starlark string }{
	{"string", "string"}, {"integer", "int"}, {"number", "float"}, {"boolean", "bool"}, {"object", "dict"}, {"array", "list"},
	{"array", "tuple"}, {"string", "str"},
}

// typeOf returns the type of a default value.
func typeOf(v starlark.Value) (*jsonType, error) {
	for _, row := range jsonTypes {
		if row.starlark == v.Type() {
			return &jsonType{name: row.name, items: elementType(v)}, nil
		}
	}
	return nil, fmt.Errorf("the default is %s, want a JSON value", v.Type())
}

// elementType returns the common type of all elements of an array, or nil.
func elementType(v starlark.Value) *jsonType {
	list, ok := v.(starlark.Indexable)
	if !ok || v.Type() == "string" || list.Len() == 0 {
		return nil
	}
	first, err := typeOf(list.Index(0))
	for i := 1; i < list.Len() && err == nil; i++ {
		next, nextErr := typeOf(list.Index(i))
		if nextErr != nil || next.String() != first.String() {
			return nil
		}
	}
	if err != nil {
		return nil
	}
	return first
}
