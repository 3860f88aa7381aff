package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/schema"
)

func TestValidate(t *testing.T) {
	closed := `{"type":"object","additionalProperties":false,"required":["cluster","count"],"properties":{
		"cluster":{"type":"string","enum":["a","b"]},"count":{"type":"integer","minimum":1},"when":{"type":"string","pattern":"^now$"},
		"tags":{"type":"array","items":{"$ref":"#/$defs/tag"}}},"$defs":{"tag":{"type":"string"}}}`
	combined := `{"$id":"https://example.com/s","type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`
	nested := `{"type":"object","properties":{"filter":{"type":"object","additionalProperties":false,"required":["from"],"minProperties":2,
		"properties":{"from":{"type":"string"},"to":{"type":"string"},"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}}}}},
		"required":["filter","x"]}`
	open := `{"type":"object","properties":{"a":{"type":"integer"}},"patternProperties":{"^x_":{"type":"string"}},"additionalProperties":{"type":"boolean"},"required":["z"]}`
	tests := []struct {
		name, schema, args, want string
	}{
		{"valid", closed, `{"cluster":"a","count":1}`, ""},
		{"valid without arguments", `{"type":"object"}`, ``, ""},
		{"an integer that is written as a float", closed, `{"cluster":"a","count":1.0}`, ""},
		{"all problems in one message", closed, `{"count":"x","clutser":"a","when":"later"}`,
			"\"cluster\": missing\n\"clutser\": unknown argument (did you mean cluster?)\n\"count\": type: got \"x\", want \"integer\"\n\"when\": pattern: \"later\" does not match regular expression \"^now$\""},
		{"enum", closed, `{"cluster":"c","count":1}`, `"cluster": enum: got "c", want one of "a", "b"`},
		{"minimum", closed, `{"cluster":"a","count":0}`, `"count": minimum: 0 is less than 1`},
		{"through a reference", closed, `{"cluster":"a","count":1,"tags":["x",2]}`, `"tags[1]": type: got 2, want "string"`},
		{"all problems inside an argument", nested, `{"filter":{"too":1,"to":2,"rows":[{"id":"a"},{"id":1},{}]},"x":1}`,
			"\"filter.from\": missing\n\"filter.rows[0].id\": type: got \"a\", want \"integer\"\n\"filter.rows[2].id\": missing\n" +
				"\"filter.to\": type: got 2, want \"string\"\n\"filter.too\": unknown property (did you mean to?)"},
		{"another type than an object", nested, `{"filter":[],"x":1}`, `"filter": type: got an array, want "object"`},
		{"a rule about several values inside an argument", nested, `{"filter":{"from":"a"},"x":1}`, `"filter": minProperties: object has 1 properties, less than 2`},
		{"very many problems", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}}}`, `{"a":[` + strings.Repeat(`"x",`, 99) + `"x"]}`, manyProblems()},
		{"null", closed, `null`, "arguments: got null, want an object"},
		{"a list", closed, `[1]`, "arguments: got [1], want an object"},
		{"no JSON", closed, `{"a":`, "arguments: not JSON: unexpected end of JSON input"},
		{"two objects", closed, `{} {}`, "arguments: not JSON: invalid character '{' after top-level value"},
		{"a rule about several arguments", combined, `{}`, "anyOf: did not validate against any of the schemas:\n/anyOf/0: required: missing properties: [\"a\"]\n/anyOf/1: required: missing properties: [\"b\"]"},
		{"each argument before such a rule", combined, `{"b":"x"}`, `"b": type: got "x", want "integer"`},
		{"what is not named", open, `{"x_1":3,"other":"y","a":1}`, "\"other\": type: got \"y\", want \"boolean\"\n\"x_1\": type: got 3, want \"string\"\n\"z\": missing"},
		{"a long argument is cut", closed, `{"cluster":"` + strings.Repeat("é", 200) + `","count":1}`, `"cluster": enum: got "` + strings.Repeat("é", 59) + `…, want one of "a", "b"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := schema.Compile(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []*schema.Schema{s, schema.Defer(json.RawMessage(tt.schema))} {
				got := strings.Join(problemsOf(s, tt.args), "\n")
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// manyProblems returns the problems of 100 texts in place of numbers.
func manyProblems() string {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf(`"a[%d]": type: got "x", want "integer"`, i))
	}
	lines = lines[:51]
	slices.Sort(lines)
	return strings.Join(append(lines[:50], "and more"), "\n")
}

// TestNullIsLeftOut shows which nulls count as arguments that are left out.
func TestNullIsLeftOut(t *testing.T) {
	const of = `{"type":"object","required":["must"],"properties":{"must":{"type":"string"},"n":{"type":"integer"},
		"any":{},"or":{"type":["string","null"]},"in":{"type":"object","properties":{"n":{"type":"integer"}}}},"additionalProperties":false}`
	tests := []struct{ args, fit, want string }{
		{`{"must":"x", "n":null}`, `{"must":"x"}`, ""},
		{`{"n": null, "must":"x","in":null}`, `{ "must":"x"}`, ""},
		{`{"n":1,"must":"x","\u006e":null,"n":null}`, `{"must":"x"}`, ""},
		{`{"n":null,"must":"x","n":3}`, `{"n":null,"must":"x","n":3}`, ""},
		{`{"must":"x","any":null,"or":null}`, `{"must":"x","any":null,"or":null}`, ""},
		{`{"must":null,"n":null}`, `{"must":null}`, `"must": type: got null, want "string"`},
		{`{"must":"x","n":null,"nn":null}`, `{"must":"x","nn":null}`, `"nn": unknown argument`},
		{`{"must":"x","n":""}`, `{"must":"x","n":""}`, `"n": type: got "", want "integer"`},
		{`{"must":"x","in":{"n":null}}`, `{"must":"x","in":{"n":null}}`, `"in.n": type: got null, want "integer"`},
	}
	for _, tt := range tests {
		s, err := schema.Compile(json.RawMessage(of))
		if err != nil {
			t.Fatal(err)
		}
		fit, problems, _ := s.Validate(json.RawMessage(tt.args))
		if got := strings.Join(problems, "\n"); string(fit) != tt.fit || got != tt.want {
			t.Errorf("%s: got %s with the problems %q, want %s with %q", tt.args, fit, got, tt.fit, tt.want)
		}
	}
}
