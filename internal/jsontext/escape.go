package jsontext

import "unicode/utf8"

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
