package schema_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/starhost/starhost/schema"
)

// problemsOf returns the problems of arguments.
func problemsOf(s *schema.Schema, args string) []string {
	_, problems, _ := s.Validate(json.RawMessage(args))
	return problems
}

// hostile are schemas, each with arguments of a size, whose validation takes much work for each
// byte.
var hostile = []struct {
	name, schema string
	args         func(n int) string
}{
	{"a pattern of many threads", property(`{"type":"string","pattern":"(?:a?){900}x"}`), textOf("a")},
	{"a pattern of many classes", property(`{"type":"string","pattern":"(?:[a-fh-mo-t]?){300}x"}`), textOf("a")},
	{"a simple pattern", property(`{"type":"string","pattern":"(a|b|ab)*c"}`), textOf("ab")},
	{"a pattern for each item", property(`{"type":"array","items":{"type":"string","pattern":"(?:a?){900}x"}}`), listOf(`"aaaa"`)},
	{"a pattern for names", `{"type":"object","patternProperties":{"(?:a?){900}x":{"type":"string"},"(?:b?){900}x":{}}}`, membersOf(`1`)},
	{"a pattern of names", `{"type":"object","propertyNames":{"pattern":"(?:a?){900}x"}}`, membersOf(`1`)},
	{"many alternatives", property(`{"type":"array","items":{"anyOf":[` + strings.Repeat(`{"type":"string"},`, 300) + `{"type":"string"}]}}`), listOf(`1`)},
	{"one of many", property(`{"type":"array","items":{"oneOf":[` + strings.Repeat(`{"type":"string"},`, 300) + `{"type":"string"}]}}`), listOf(`1`)},
	{"nested alternatives", property(nest(`{"anyOf":[%[1]s,%[1]s]}`, `{"type":"string"}`, 10)), listOf(`1`)},
	{"alternatives by reference", `{"type":"object","properties":{"x":{"$ref":"#/$defs/a9"}},"$defs":{"a0":{"type":"string"},` + chain(9) + `}}`, listOf(`1`)},
	{"a long enum", property(`{"type":"array","items":{"enum":[` + strings.Repeat(`"aaaaaaaaaa",`, 5000) + `"b"]}}`), listOf(`"c"`)},
	{"an enum of lists", property(`{"type":"array","items":{"enum":[` + strings.Repeat(`[1,2,3,[4]],`, 1000) + `"b"]}}`), listOf(`[1,2,3,[5]]`)},
	{"a long const", property(`{"type":"array","items":{"const":"` + strings.Repeat("b", 100_000) + `"}}`), listOf(`"c"`)},
	{"unique lists", property(`{"type":"array","uniqueItems":true}`), splits},
	{"unique numbers", property(`{"type":"array","uniqueItems":true}`), numbers},
	{"contains", property(`{"type":"array","contains":{"type":"array","contains":{"type":"string"}}}`), listOf(`[1,1,1,1,1,1,1,1]`)},
	{"many properties", manyProperties(4000), listOf(`{}`)},
	{"many properties of a bad item", manyProperties(4000), listOf(`{"p1":"x"}`)},
	{"many required", property(`{"type":"array","items":{"type":"object","required":[` + strings.Repeat(`"a",`, 9000) + `"b"]}}`), listOf(`{"a":1}`)},
	{"numbers", property(`{"type":"array","items":{"type":"number","multipleOf":0.001,"minimum":-1e308,"maximum":1e308}}`), listOf(`1.7e308`)},
	{"a bad item", property(`{"type":"array","items":{"type":"integer"}}`), listOf(`"x"`)},
	{"a bad list", property(`{"type":"array","items":{"type":"integer"}}`), func(n int) string { return `{"x":[` + strings.Repeat("1,", n/2) + `"x"]}` }},
	{"a deep list", property(nest(`{"type":"array","items":%s}`, `{"type":"string"}`, 25)), func(n int) string {
		return `{"x":` + strings.Repeat("[", 25) + strings.Repeat(`"xxxx",`, n/7) + `1` + strings.Repeat("]", 25) + `}`
	}},
	{"a deep message", property(nest(`{"allOf":[{"type":["array","object"]},{"not":{"not":%s}}]}`, `{"type":"string"}`, 9)), textOf("a")},
	{"unevaluated members", nest(`{"type":"object","allOf":[%s],"unevaluatedProperties":{"type":"string"}}`, `{"properties":{"a":{}}}`, 12), membersOf(`"x"`)},
	{"dependent schemas", `{"type":"object","dependentSchemas":{"a0":{"maxProperties":1},"a1":{"propertyNames":{"pattern":"^a+$"}}}}`, membersOf(`1`)},
	{"misspelt properties", property(`{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{"aaaaaaaaaaaaaaa":{}}}}`), listOf(`{"aaaaaaaaaaaaaab":1}`)},
}

// fastest validates some times, because other programs can delay one run, and returns the shortest
// time.
func fastest(s *schema.Schema, args json.RawMessage, runs int) (problems []string, steps uint64, least time.Duration) {
	least = time.Hour
	for range runs {
		start := time.Now()
		_, problems, steps = s.Validate(args)
		if least = min(least, time.Since(start)); least < 20*time.Millisecond {
			break
		}
	}
	return problems, steps, least
}

func property(x string) string { return `{"type":"object","properties":{"x":` + x + `}}` }

// nest puts a schema into itself.
func nest(form, inner string, depth int) string {
	for range depth {
		inner = fmt.Sprintf(form, inner)
	}
	return inner
}

// chain returns definitions that each refer twice to the one before.
func chain(n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"a%d":{"anyOf":[{"$ref":"#/$defs/a%[2]d"},{"$ref":"#/$defs/a%[2]d"}]}`, i+1, i))
	}
	return strings.Join(defs, ",")
}

func manyProperties(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"p%d":{"type":"integer"}`, i))
	}
	return property(`{"type":"array","items":{"type":"object","properties":{` + strings.Join(all, ",") + `}}}`)
}

func textOf(unit string) func(int) string {
	return func(n int) string { return `{"x":"` + strings.Repeat(unit, n/len(unit)) + `"}` }
}

func listOf(item string) func(int) string {
	return func(n int) string { return `{"x":[` + strings.Repeat(item+",", n/(len(item)+1)) + item + `]}` }
}

func membersOf(value string) func(int) string {
	return func(n int) string {
		var b strings.Builder
		b.WriteString(`{"x":1`)
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, `,"a%d":%s`, i, value)
		}
		return b.String() + "}"
	}
}

// splits returns different lists whose texts, one after another, are the same.
func splits(n int) string {
	var items []string
	for i := 0; len(items)*110 < n; i++ {
		text := strings.Repeat("a", 100)
		a, b := i%100, i/100%100
		items = append(items, fmt.Sprintf(`[%q,%q,%q]`, text[:a*b/100], text[a*b/100:a], text[a:]))
	}
	return `{"x":[` + strings.Join(items, ",") + `]}`
}

func numbers(n int) string {
	var b strings.Builder
	b.WriteString(`{"x":[0`)
	for i := 1; b.Len() < n; i++ {
		fmt.Fprintf(&b, ",%d", i)
	}
	return b.String() + "]}"
}

// No validation takes long, whatever the schema and the arguments, and the steps that it reports
// bound its time. Only the long form measures, because other programs may use the machine: the
// short form ends at all.
func TestValidateWork(t *testing.T) {
	const most, perStep = 400 * time.Millisecond, 500 * time.Nanosecond
	long := os.Getenv("STARHOST_LONG") != ""
	sizes, runs := []int{100, 10_000, 300_000}, 1
	if long {
		runs = 3
		sizes = append(sizes, 1_000, 3_000, 30_000, 100_000, 1_000_000, 4_000_000)
	}
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			s, err := schema.Compile(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range sizes {
				args := json.RawMessage(tt.args(n))
				var decoded any
				if err := json.Unmarshal(args, &decoded); err != nil {
					t.Fatal(err)
				}
				problems, steps, took := fastest(s, args, runs)
				if size := len(strings.Join(problems, "\n")); size > 20_000 {
					t.Errorf("%d bytes: got problems of %d bytes", n, size)
				}
				// Decoding takes a part of the time that depends on the arguments only.
				decoding := time.Duration(n) * 200 * time.Nanosecond
				if long && took > min(most, time.Duration(steps)*perStep+10*time.Millisecond)+decoding {
					t.Errorf("%d bytes: took %v, %d steps: %.200q", n, took, steps, problems)
				}
			}
		})
	}
}

// Schemas with large patterns are refused before they are compiled.
func TestPatternSize(t *testing.T) {
	tests := []struct{ name, pattern, want string }{
		{"many repetitions", `(?:abcdefghijklmnopqrstuvwxyz){1000}`, "repetitions written out"},
		{"many classes", `\\pL{900}`, "repetitions written out"},
		{"an email address", `^[\\w.+-]{1,64}@[\\w-]+(\\.[\\w-]+){1,8}$`, ""},
		{"a UUID", `^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, ""},
		{"letters", `^\\pL[\\pL ]*$`, ""},
		{"a long text", `^.{1,1000}$`, ""},
	}
	for _, tt := range tests {
		for _, form := range []string{property(`{"pattern":"%s"}`), `{"type":"object","patternProperties":{"%s":{}}}`} {
			_, err := schema.Compile(json.RawMessage(fmt.Sprintf(form, tt.pattern)))
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
			}
		}
	}
}

// Ordinary arguments are far below the bound.
func TestValidateOrdinary(t *testing.T) {
	file := property(`{"type":"string","minLength":1,"pattern":"^[^x]+$"}`)
	rows := property(`{"type":"array","uniqueItems":true,"items":{"type":"object","required":["id"],"additionalProperties":false,
		"properties":{"id":{"type":"integer","minimum":0},"name":{"type":"string","pattern":"^[a-z]+$"},"kind":{"enum":["a","b","c"]}}}}`)
	var items []string
	for i := range 300 {
		items = append(items, fmt.Sprintf(`{"id":%d,"name":"n","kind":"a"}`, i))
	}
	for _, tt := range []struct{ name, schema, args string }{
		{"a file of 500 kB", file, textOf("line ")(500_000)},
		{"300 rows", rows, `{"x":[` + strings.Join(items, ",") + `]}`},
		{"20,000 numbers", property(`{"type":"array","items":{"type":"number","minimum":0}}`), numbers(100_000)},
	} {
		s, err := schema.Compile(json.RawMessage(tt.schema))
		if err != nil {
			t.Fatal(err)
		}
		if _, problems, steps := s.Validate(json.RawMessage(tt.args)); problems != nil {
			t.Errorf("%s: got %q, %d steps", tt.name, problems, steps)
		}
	}
}
