package schema

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/starhost/starhost/internal/errtext"
)

// wholeNumber matches a whole number outside of its bounds, which the library writes as "7/1".
var wholeNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\w+: -?\d+)/1 `) })

// goValue matches what the library writes for objects and null.
var goValue = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`map\[|<nil>|<invalid`) })

// problemOf returns the text of a library's error without its "validating X: " prefixes and without
// Go's ways to write values, clipped. s and value are those that the error is about, if the caller
// knows them.
func problemOf(err error, s *jsonschema.Schema, value any) string {
	return errtext.Clip(reword(err.Error(), s, value))
}

// reword is problemOf for a message.
func reword(msg string, s *jsonschema.Schema, value any) string {
	for {
		rest, ok := strings.CutPrefix(msg, "validating ")
		if !ok {
			break
		}
		_, msg, _ = strings.Cut(rest, ": ")
	}
	keyword, _, _ := strings.Cut(msg, ": ")
	switch keyword {
	case "type":
		return withValue(msg)
	case "enum", "const":
		return withChoices(msg, keyword, s, value)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return withBound(wholeNumber().ReplaceAllString(msg, "$1 "), keyword, s)
	case "contains":
		return "contains: no item is as the schema wants"
	case "anyOf":
		return withAlternatives(msg, s, value)
	case "oneOf":
		if strings.HasPrefix(msg, "oneOf: validated against both") {
			return "oneOf: validated against more than one of the schemas"
		}
		return "oneOf: did not validate against any of the schemas"
	case "not":
		return "not: validated against the schema"
	}
	return msg
}

// withAlternatives rewords the errors of all alternatives, each in its line.
func withAlternatives(msg string, s *jsonschema.Schema, value any) string {
	lines := strings.Split(msg, "\n")
	lines[0] = "anyOf: did not validate against any of the schemas:"
	for i, line := range lines[1:] {
		place, _, _ := strings.Cut(strings.TrimPrefix(line, "validating "), ": ")
		var alternative *jsonschema.Schema
		if s != nil && i < len(s.AnyOf) && strings.HasSuffix(place, "/anyOf/"+strconv.Itoa(i)) {
			alternative = s.AnyOf[i]
		}
		lines[1+i] = place + ": " + reword(line, alternative, value)
	}
	return strings.Join(lines, "\n")
}

// withValue describes a value of the wrong type as JSON does, because the library writes values as
// Go does. An object and a list are not shown.
func withValue(msg string) string {
	at := strings.LastIndex(msg, ` has type "`)
	value, ok := strings.CutPrefix(msg[:max(at, 0)], "type: ")
	if !ok {
		return msg
	}
	got, wanted, _ := strings.Cut(msg[at+len(` has type "`):], `"`)
	switch got {
	case "object", "array":
		value = "an " + got
	case "null":
		value = got
	case "string":
		value = errtext.Quote(value)
	}
	return "type: got " + value + wanted
}

// withChoices describes a value that is none of the values that s allows.
func withChoices(msg, keyword string, s *jsonschema.Schema, value any) string {
	var choices []any
	switch {
	case s != nil && keyword == "enum":
		choices = s.Enum
	case s != nil && s.Const != nil:
		choices = []any{*s.Const}
	}
	got, err := json.Marshal(value)
	if len(choices) == 0 || err != nil { // a rule about several values, or behind a $ref
		if goValue().MatchString(msg) {
			return keyword + ": got another value than the schema allows"
		}
		return msg
	}
	texts := make([]string, len(choices))
	for i, c := range choices {
		raw, err := json.Marshal(c)
		if err != nil {
			return msg
		}
		texts[i] = errtext.Cut(string(raw))
	}
	want := texts[0]
	if len(texts) > 1 {
		want = "one of " + strings.Join(texts, ", ")
	}
	return keyword + ": got " + errtext.Cut(string(got)) + ", want " + want
}

// withBound writes the bound of s, which ends an error about a number, as people do. The library
// writes all bounds with six decimals.
func withBound(msg, keyword string, s *jsonschema.Schema) string {
	at := strings.LastIndexByte(msg, ' ') + 1
	bound, err := strconv.ParseFloat(msg[at:], 64)
	if err != nil {
		return msg
	}
	if s != nil {
		exact := map[string]*float64{
			"minimum": s.Minimum, "maximum": s.Maximum, "exclusiveMinimum": s.ExclusiveMinimum,
			"exclusiveMaximum": s.ExclusiveMaximum, "multipleOf": s.MultipleOf,
		}[keyword]
		if exact != nil {
			bound = *exact
		}
	}
	text := strconv.FormatFloat(bound, 'f', -1, 64)
	if len(text) > 21 {
		text = strconv.FormatFloat(bound, 'g', -1, 64)
	}
	return msg[:at] + text
}
