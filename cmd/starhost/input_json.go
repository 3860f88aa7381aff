package main

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
	"github.com/starhost/starhost/internal/near"
	"github.com/starhost/starhost/starlark"
)

// decodeJSON decodes a JSON value into v. It refuses unknown keys and text after the value,
// with their places. Messages call the text name. encoding/json alone names neither the line of
// an unknown key nor a similar key.
func decodeJSON(name, text string, v any) error {
	text = strings.TrimPrefix(text, "\ufeff")
	if err := checkJSON(name, text); err != nil {
		return err
	}
	r := jsonReader{name: name, text: text, dec: json.NewDecoder(strings.NewReader(text))}
	if err := r.value("", reflect.TypeOf(v).Elem()); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return usagef("%s: %s", name, withoutGo(err))
	}
	return nil
}

// withoutGo returns the message of an error of encoding/json without the names of Go types.
func withoutGo(err error) string {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	got, _, _ := strings.Cut(mismatch.Value, " ")
	text := fmt.Sprintf("got %s, want %s", got, kindName(mismatch.Type.Kind()))
	if mismatch.Field != "" {
		return mismatch.Field + ": " + text
	}
	return text
}

// checkJSON returns an error with a place if a text is not JSON.
func checkJSON(name, text string) error {
	var (
		raw    json.RawMessage
		syntax *json.SyntaxError
	)
	switch err := json.Unmarshal([]byte(text), &raw); {
	case err == nil:
		return nil
	case strings.TrimSpace(text) == "":
		return usagef("%s: got nothing, want JSON", name)
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
	return &usageError{where: starlark.Locate(where, func(string) string { return text })}
}

// A jsonReader compares valid JSON with a Go type.
type jsonReader struct {
	name, text string
	dec        *json.Decoder
}

// nextOffset returns the offset of the next token.
func (r *jsonReader) nextOffset() int {
	at := int(r.dec.InputOffset())
	return at + len(r.text[at:]) - len(strings.TrimLeft(r.text[at:], " \t\r\n,:"))
}

// value reads a value and checks that it fits t. path is its name in messages.
func (r *jsonReader) value(path string, t reflect.Type) error {
	at := r.nextOffset()
	if t == reflect.TypeFor[json.RawMessage]() {
		var any json.RawMessage
		return r.dec.Decode(&any)
	}
	token, err := r.dec.Token()
	if err != nil {
		return err
	}
	if t == reflect.TypeFor[fragments.Text]() {
		t = reflect.TypeFor[string]()
	}
	if got, want := tokenName(token), kindName(t.Kind()); got != want && token != nil {
		if path != "" {
			path += ": "
		}
		return inputError(r.name, r.text, at, "%sgot %s, want %s", path, got, want)
	}
	switch token {
	case json.Delim('{'):
		return r.members(path, t)
	case json.Delim('['):
		return r.elements(path, t)
	}
	return nil
}

// elements reads the rest of a list.
func (r *jsonReader) elements(path string, t reflect.Type) error {
	for i := 0; r.dec.More(); i++ {
		if err := r.value(fmt.Sprintf("%s[%d]", path, i), t.Elem()); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return err
}

// members reads the rest of an object.
func (r *jsonReader) members(path string, t reflect.Type) error {
	for r.dec.More() {
		at := r.nextOffset()
		token, err := r.dec.Token()
		if err != nil {
			return err
		}
		key := token.(string) // no panic: names in JSON are strings
		member, names := memberOf(t, key)
		if member == nil {
			return inputError(r.name, r.text, at, "unknown field %q%s, want %s", key, near.DidYouMean(key, names), strings.Join(names, ", "))
		}
		if err := r.value(strings.TrimPrefix(path+"."+key, "."), member); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return err
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

// tokenName returns the JSON name of the type of a token's value.
func tokenName(token json.Token) string {
	switch token {
	case json.Delim('{'):
		return kindName(reflect.Map)
	case json.Delim('['):
		return kindName(reflect.Slice)
	case nil:
		return "null"
	}
	return kindName(reflect.TypeOf(token).Kind())
}

// kindName returns the JSON name of a Go kind.
func kindName(k reflect.Kind) string {
	switch k {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	}
	return "a number"
}
