package jsontext

import (
	"strings"
	"unicode/utf8"
)

// Escapes maps the bytes that JSON strings escape with a letter to that letter.
var Escapes = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// AppendEscaped appends the escape of a control character, quote or backslash.
func AppendEscaped(dst []byte, b byte) []byte {
	if c := Escapes[b]; c != 0 {
		return append(dst, '\\', c)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
}

// AppendString appends a text as a JSON string. Each byte that is not UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0 // the bytes s[from:i] stay as they are
	for i, r := range s {
		switch {
		case r < utf8.RuneSelf && (r < ' ' || Escapes[r] != 0):
			dst = AppendEscaped(append(dst, s[from:i]...), byte(r))
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			dst = append(append(dst, s[from:i]...), "\ufffd"...)
		default:
			continue
		}
		from = i + 1
	}
	return append(append(dst, s[from:]...), '"')
}
