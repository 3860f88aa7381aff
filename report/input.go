package report

// The JSON that a caller writes, read with errors that say where the mistake is.

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/starhost/starhost/fragments"
	"github.com/starhost/starhost/internal/jsontext"
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/starlark"
)

// maxInputDepth is how deep values in JSON of the command line may be nested, as in encoding/json.
const maxInputDepth = 10_000

// DecodeJSON decodes a JSON value into v. It refuses unknown keys and text after the value,
// with their places. Messages call the text name. encoding/json alone names neither the line of
// an unknown key nor a similar key.
func DecodeJSON(name, text string, v any) error {
	text = strings.TrimPrefix(text, "\ufeff")
	if err := CheckJSON(name, text); err != nil {
		return err
	}
	doc, err := jsontext.Parse(text, maxInputDepth)
	if err != nil {
		return Usagef("%s: %v", name, err)
	}
	c := jsonComparer{name: name, doc: doc}
	if err := c.value(0, "", reflect.TypeOf(v).Elem()); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return Usagef("%s: %s", name, jsontext.Explain(err))
	}
	return nil
}

// CheckJSON returns an error with a place if a text is not JSON.
func CheckJSON(name, text string) error {
	var (
		raw    json.RawMessage
		syntax *json.SyntaxError
	)
	switch err := json.Unmarshal([]byte(text), &raw); {
	case err == nil:
		return nil
	case strings.TrimSpace(text) == "":
		return Usagef("%s: got nothing, want JSON", name)
	case !errors.As(err, &syntax) || strings.HasPrefix(err.Error(), "unexpected end"):
		return inputError(name, text, len(strings.TrimRight(text, " \t\r\n")), "got the end of the text, want the rest of the value")
	default:
		at := int(syntax.Offset) - 1
		return inputError(name, text, at, "%s", jsonMistake(text, at, err.Error()))
	}
}

// jsonMistakes gives the expected text for each message of encoding/json, by the message's end.
var jsonMistakes = []struct{ suffix, want string }{
	{"looking for beginning of value", "a value"},
	{"looking for beginning of object key string", `a name in "`},
	{"after object key", ":"},
	{"after object key:value pair", ", or }"},
	{"after array element", ", or ]"},
	{"after top-level value", "nothing after the value"},
	{"in string literal", `an escape in a string, as \n`},
	{"in string escape code", `one of \" \\ \/ \b \f \n \r \t \u`},
	{`in \u hexadecimal character escape`, `four digits 0-9 a-f after \u`},
	{"numeric literal", "a digit"},
	{"exceeded max depth", "values nested less deep"},
}

// jsonMistake rewrites a message of encoding/json about the text at an offset.
func jsonMistake(text string, at int, message string) string {
	c, _ := utf8.DecodeRuneInString(text[at:])
	want := "true, false or null" // any other message is about a word
	for _, m := range jsonMistakes {
		if strings.HasSuffix(message, m.suffix) {
			want = m.want
		}
	}
	before := strings.TrimRight(text[:at], " \t\r\n")
	hint := ""
	switch {
	case strings.ContainsRune("]}", c) && strings.HasSuffix(before, ","):
		hint = " (no comma after the last one)"
	case c == '\'':
		hint = ` (strings stand in ")`
	case want == "a value" && strings.ContainsRune("TFN", c):
		hint = " (true, false and null are written so)"
	}
	return fmt.Sprintf("got %s, want %s%s", strconv.QuoteRune(c), want, hint)
}

// inputError returns a usage error at an offset of a text that the command line names.
func inputError(name, text string, at int, format string, args ...any) error {
	before := text[:at]
	start := strings.LastIndexByte(before, '\n') + 1
	where := &starlark.Error{
		Pos:  starlark.Pos{File: name, Line: 1 + strings.Count(before, "\n"), Col: 1 + utf8.RuneCountInString(before[start:])},
		Msg:  fmt.Sprintf(format, args...),
		Code: "E0701",
	}
	return &UsageError{Where: starlark.Locate(where, func(string) string { return text })}
}

// A jsonComparer compares a JSON value with a Go type.
type jsonComparer struct {
	name string
	doc  jsontext.Document
}

// value checks that value i fits t. path is its name in messages.
func (c *jsonComparer) value(i int, path string, t reflect.Type) error {
	if t == reflect.TypeFor[json.RawMessage]() {
		return nil
	}
	if t == reflect.TypeFor[fragments.Text]() {
		t = reflect.TypeFor[string]()
	}
	if got, want := c.nameOf(i), jsontext.KindName(t.Kind()); got != want && got != "null" {
		if path != "" {
			path += ": "
		}
		return c.errorAt(i, "%sgot %s, want %s", path, got, want)
	}
	if c.doc.HasKind(i, jsontext.Array) {
		for n, element := range c.doc.Elements(i) {
			if err := c.value(element, fmt.Sprintf("%s[%d]", path, n), t.Elem()); err != nil {
				return err
			}
		}
	}
	for k, v := range c.doc.Members(i) {
		key := c.doc.StringAt(k)
		member, names := memberOf(t, key)
		if member == nil {
			return c.errorAt(k, "unknown field %q%s, want %s", key, near.DidYouMean(key, names), strings.Join(names, ", "))
		}
		if err := c.value(v, strings.TrimPrefix(path+"."+key, "."), member); err != nil {
			return err
		}
	}
	return nil
}

// errorAt returns a usage error at value i.
func (c *jsonComparer) errorAt(i int, format string, args ...any) error {
	at, _ := c.doc.Span(i)
	return inputError(c.name, c.doc.Text, at, format, args...)
}

// nameOf returns the JSON name of the type of value i.
func (c *jsonComparer) nameOf(i int) string {
	switch text := c.doc.TextAt(i); {
	case c.doc.HasKind(i, jsontext.Object):
		return jsontext.KindName(reflect.Map)
	case c.doc.HasKind(i, jsontext.Array):
		return jsontext.KindName(reflect.Slice)
	case c.doc.HasKind(i, jsontext.String):
		return jsontext.KindName(reflect.String)
	case text == "true", text == "false":
		return jsontext.KindName(reflect.Bool)
	case text == "null":
		return text
	}
	return jsontext.KindName(reflect.Int)
}

// memberOf returns the type of an object's member. If there is no such member, it
// returns nil and the names of the others.
func memberOf(t reflect.Type, key string) (member reflect.Type, names []string) {
	if t.Kind() == reflect.Map {
		return t.Elem(), nil
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == key && name != "-" {
			return t.Field(i).Type, nil
		}
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return nil, names
}
