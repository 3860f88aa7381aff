package starhost

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// accepts tells whether arguments are valid, by a plain schema that was decoded. They are
// looked at as they stand, since nearly all are valid and nobody else needs them decoded.
// If it says no, they may yet be: names with escapes, equal lists and objects of an enum are
// not looked for, and a member that is given twice must be valid both times.
func accepts(schema map[string]any, args json.RawMessage) bool {
	if len(bytes.TrimSpace(args)) == 0 {
		args = emptyObject
	}
	r := argumentReader{text: args}
	return json.Valid(args) && r.value(schema)
}

// An argumentReader goes through a text that is valid JSON.
type argumentReader struct {
	text []byte
	at   int
}

// next returns the first byte of what follows space, commas and colons.
func (r *argumentReader) next() byte {
	for strings.IndexByte(" \t\r\n,:", r.text[r.at]) >= 0 {
		r.at++
	}
	return r.text[r.at]
}

// closes reports whether the next thing is a closing bracket, and skips it.
func (r *argumentReader) closes(bracket byte) bool {
	if r.next() != bracket {
		return false
	}
	r.at++
	return true
}

// value reads the next value and tells whether it is accepted; what is not is not read to
// its end.
func (r *argumentReader) value(schema any) bool {
	s, _ := schema.(map[string]any)
	name, _ := s["type"].(string)
	enum, listed := s["enum"].([]any)
	switch r.next() {
	case '{':
		return (name == "" || name == "object") && !listed && r.object(s)
	case '[':
		return (name == "" || name == "array") && !listed && r.array(s["items"])
	case '"':
		text := r.quoted()
		return (name == "" || name == "string") && (!listed || isListed(enum, text))
	}
	text := r.word()
	return wordHasType(text, name) && (!listed || isListed(enum, text))
}

func (r *argumentReader) array(items any) bool {
	for r.at++; !r.closes(']'); {
		if !r.value(items) {
			return false
		}
	}
	return true
}

func (r *argumentReader) object(s map[string]any) bool {
	const most = 63 // required members, a bit each
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	if len(required) > most {
		return false
	}
	var found uint64
	for r.at++; !r.closes('}'); {
		text := r.quoted()
		name := text[1 : len(text)-1]
		if bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
			return false
		}
		p, known := properties[string(name)]
		if !known && s["additionalProperties"] == false || !r.value(p) {
			return false
		}
		for i := range required {
			if required[i].(string) == string(name) {
				found |= 1 << i
			}
		}
	}
	return found == 1<<len(required)-1
}

// quoted reads the string that begins here.
func (r *argumentReader) quoted() []byte {
	from := r.at
	for r.at++; r.text[r.at] != '"'; r.at++ {
		if r.text[r.at] == '\\' {
			r.at++
		}
	}
	r.at++
	return r.text[from:r.at]
}

// word reads the number, true, false or null that begins here.
func (r *argumentReader) word() []byte {
	from := r.at
	for r.at < len(r.text) && strings.IndexByte(" \t\r\n,]}", r.text[r.at]) < 0 {
		r.at++
	}
	return r.text[from:r.at]
}

// wordHasType tells whether a word is of a type of JSON Schema, "" for any. A number that
// is too large is of none.
func wordHasType(text []byte, name string) bool {
	switch text[0] {
	case 't', 'f':
		return name == "" || name == "boolean"
	case 'n':
		return name == "" || name == "null"
	}
	n, err := strconv.ParseFloat(string(text), 64)
	return err == nil && (name == "" || name == "number" || name == "integer" && n == math.Trunc(n))
}

// isListed tells whether a text, number or other single value is one of a list.
func isListed(list []any, text []byte) bool {
	var v any
	return json.Unmarshal(text, &v) == nil && slices.ContainsFunc(list, func(x any) bool {
		switch x.(type) {
		case []any, map[string]any:
			return false
		}
		return x == v
	})
}
