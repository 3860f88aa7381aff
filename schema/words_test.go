package schema_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/starhost/starhost/schema"
)

// TestBounds checks that a message shows a number as people write it.
func TestBounds(t *testing.T) {
	for rule, want := range map[string]string{
		`"minimum":0`:                   `"x": minimum: -1 is less than 0`,
		`"minimum":0.5`:                 `"x": minimum: -1 is less than 0.5`,
		`"minimum":0.00000025`:          `"x": minimum: -1 is less than 0.00000025`,
		`"minimum":1e300`:               `"x": minimum: -1 is less than 1e+300`,
		`"maximum":-2`:                  `"x": maximum: -1 is greater than -2`,
		`"exclusiveMinimum":-1`:         `"x": exclusiveMinimum: -1 is less than or equal to -1`,
		`"exclusiveMaximum":-1`:         `"x": exclusiveMaximum: -1 is greater than or equal to -1`,
		`"multipleOf":3`:                `"x": multipleOf: -1 is not a multiple of 3`,
		`"allOf":[{"minimum":10}]`:      `"x": minimum: -1 is less than 10`,
		`"enum":[1,null,"a",{"b":[2]}]`: `"x": enum: got -1, want one of 1, null, "a", {"b":[2]}`,
		`"const":{"b":null}`:            `"x": const: got -1, want {"b":null}`,
	} {
		s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"x":{` + rule + `}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, strings.Join(problemsOf(s, `{"x":-1}`), "\n")); diff != "" {
			t.Errorf("%s: %s", rule, diff)
		}
	}
}

// TestNoGo checks that no message has the words or the values of Go.
func TestNoGo(t *testing.T) {
	words := regexp.MustCompile(`map\[|<nil>|reflect|interface|struct|%!|\.0000|anonymous|jsonschema|\bslice\b`)
	rules := []string{
		`"type":"string"`, `"type":["integer","boolean"]`, `"enum":["a",null]`, `"enum":[{"a":1},[null]]`, `"const":null`, `"const":{"a":[null]}`, `"minimum":7`,
		`"maximum":-7`, `"exclusiveMinimum":7`, `"exclusiveMaximum":-7`, `"multipleOf":7`, `"minLength":70`, `"maxLength":0`, `"pattern":"^never$"`,
		`"minItems":7`, `"maxItems":0`, `"uniqueItems":true`, `"contains":{"type":"boolean"}`, `"minProperties":7`, `"maxProperties":0`, `"required":["z"]`,
		`"anyOf":[{"type":"boolean"},{"const":9}]`, `"oneOf":[{},true]`, `"oneOf":[{"const":9},{"const":8}]`, `"not":{}`, `"allOf":[{"enum":[null,{}]}]`,
		`"propertyNames":{"maxLength":0}`, `"additionalProperties":{"type":"boolean"}`, `"items":{"enum":[9]}`, `"dependentRequired":{"a":["q"]}`, `"if":true,"then":{"const":9}`,
	}
	values := []string{`null`, `true`, `-1`, `0.5`, `1e300`, `"text"`, `[]`, `[1,1,null]`, `[{"a":null}]`, `{}`, `{"a":{"b":[null]}}`}
	count := 0
	for _, rule := range rules {
		for _, place := range []string{`"x":{RULE}`, `"x":{"type":"object","properties":{"y":{RULE}}}`, `"x":{"type":"array","items":{RULE}}`} {
			s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{` + strings.Replace(place, "RULE", rule, 1) + `}}`))
			if err != nil {
				t.Fatalf("%s: %v", rule, err)
			}
			for _, v := range values {
				for _, args := range []string{`{"x":` + v + `}`, `{"x":{"y":` + v + `}}`, `{"x":[` + v + `]}`} {
					for _, problem := range problemsOf(s, args) {
						count++
						if words.MatchString(problem) || len(problem) > 250 {
							t.Errorf("%s, %s: %s", rule, args, problem)
						}
					}
				}
			}
		}
	}
	if count < 500 {
		t.Errorf("got %d problems, want more", count)
	}
}
