package jsontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/starhost/starhost/internal/errtext"
)

// Explain returns the message of an error of encoding/json without the names of Go types.
func Explain(err error) string {
	var mismatch *json.UnmarshalTypeError
	var badTime *time.ParseError
	switch {
	case errors.As(err, &badTime) || strings.HasPrefix(err.Error(), "Time.UnmarshalJSON: "):
		return "got no time, want one as 2026-01-01T00:00:00Z"
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		return errtext.Clip(strings.TrimPrefix(err.Error(), "json: "))
	case !errors.As(err, &mismatch):
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	got, number, _ := strings.Cut(mismatch.Value, " ")
	text := fmt.Sprintf("got %s, want %s", got, KindName(mismatch.Type.Kind()))
	if number == "" && got == "number" && KindName(mismatch.Type.Kind()) == "a number" {
		return "a number is out of range"
	}
	if number != "" && KindName(mismatch.Type.Kind()) == "a number" {
		text = "the number " + errtext.Clip(number) + " is out of range"
	}
	if field := strings.TrimPrefix(mismatch.Field, "."); field != "" {
		return field + ": " + text
	}
	return text
}

// ExplainTOML returns the message of the TOML library without the names of Go types.
func ExplainTOML(message string) string {
	if value, ok := strings.CutSuffix(message, " is out of range for int64"); ok {
		return value + " is out of range for an integer"
	}
	if value, ok := strings.CutSuffix(message, " is out of range for float64"); ok {
		return value + " is out of range for a float"
	}
	return message
}

// KindName returns the JSON name of a Go kind.
func KindName(k reflect.Kind) string {
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

// NameOf describes the type of a value that encoding/json or a TOML library decoded: "an object",
// "a time".
func NameOf(value any) string {
	t := reflect.TypeOf(value)
	switch {
	case t == nil:
		return "null"
	case t.PkgPath() == "time":
		return "a time"
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return KindName(t.Kind())
}
