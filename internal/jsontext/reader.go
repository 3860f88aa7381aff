package jsontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Reader reads the parts of one JSON text in order. The caller asks for each part, so it can
// charge for a value before it makes the value. After an error, At is the offset of the mistake.
//
// A strict Reader accepts the strings and numbers of encoding/json. Any other accepts every string
// up to its closing quote, and every run of digits, signs, points and the letter e.
type Reader struct {
	Text     string
	At       int // the offset of the next byte
	IsStrict bool
}

var (
	errEnd      = errors.New("unexpected end of file")
	errUnclosed = errors.New("unclosed string literal")
	errString   = errors.New("a string with a character or an escape that JSON does not allow")
	errNumber   = errors.New("a number that JSON does not allow")
)

// SkipSpace skips white space.
func (r *Reader) SkipSpace() {
	for r.At < len(r.Text) {
		switch r.Text[r.At] {
		case ' ', '\t', '\n', '\r':
			r.At++
		default:
			return
		}
	}
}

// Peek skips white space and returns the byte after it. The byte tells the kind of a value: '{',
// '[', '"', a digit or '-' for numbers, and any other byte for [Reader.Word].
func (r *Reader) Peek() (byte, error) {
	if r.SkipSpace(); r.At >= len(r.Text) {
		return 0, errEnd
	}
	return r.Text[r.At], nil
}

// More reports whether an array or object has another value. It skips the comma before that value,
// or the closing bracket. isFirst is true directly after the opening bracket.
func (r *Reader) More(closing byte, isFirst bool) (bool, error) {
	c, err := r.Peek()
	switch {
	case err != nil:
		return false, err
	case c == closing:
		r.At++
		return false, nil
	case isFirst:
		return true, nil
	case c == ',':
		r.At++
		return true, nil
	case closing == '}':
		return false, fmt.Errorf("in object, got %q, want ',' or '}'", c)
	}
	return false, fmt.Errorf("got %q, want ',' or ']'", c)
}

// Colon skips the colon after the key of a member.
func (r *Reader) Colon() error {
	c, err := r.Peek()
	if err == nil && c != ':' {
		err = fmt.Errorf("after object key, got %q, want ':' ", c)
	}
	if err == nil {
		r.At++
	}
	return err
}

// Word reads null, true or false.
func (r *Reader) Word() (string, error) {
	for _, word := range []string{"null", "true", "false"} {
		if strings.HasPrefix(r.Text[r.At:], word) {
			r.At += len(word)
			return word, nil
		}
	}
	return "", fmt.Errorf("unexpected character %q", r.Text[r.At])
}

// End returns an error if the text goes on after the value.
func (r *Reader) End() error {
	if c, err := r.Peek(); err == nil {
		return fmt.Errorf("unexpected character %q after value", c)
	}
	return nil
}

// Number reads a number. isInteger is true for digits with at most a sign before them.
func (r *Reader) Number() (text string, isInteger bool, err error) {
	i := r.At + 1
	for isInteger = true; i < len(r.Text); i++ {
		switch c := r.Text[i]; {
		case IsDigit(c):
			continue
		case c == '.', c == 'e', c == 'E', c == '+', c == '-':
			isInteger = false
			continue
		}
		break
	}
	text, r.At = r.Text[r.At:i], i
	if r.IsStrict && !isNumber(text) {
		err = errNumber
	}
	return text, isInteger, err
}

// IsDigit reports whether a byte is one of 0 to 9.
func IsDigit(c byte) bool { return '0' <= c && c <= '9' }

// isNumber reports whether JSON allows a number's text.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	n := countDigits(s)
	if n == 0 || n > 1 && s[0] == '0' {
		return false
	}
	if s = s[n:]; s != "" && s[0] == '.' {
		if n = countDigits(s[1:]); n == 0 {
			return false
		}
		s = s[1+n:]
	}
	if s == "" || s[0] != 'e' && s[0] != 'E' {
		return s == ""
	}
	if s = s[1:]; s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && countDigits(s) == len(s)
}

func countDigits(s string) (n int) {
	for n < len(s) && IsDigit(s[n]) {
		n++
	}
	return n
}

// A Quoted is the text of a string in JSON.
type Quoted struct {
	Text       string // with the quotes
	HasEscapes bool
	IsASCII    bool
	hasControl bool // it contains control characters, which JSON does not allow
}

// Quoted reads a string up to the next quote that no backslash precedes.
func (r *Reader) Quoted() (Quoted, error) {
	q := Quoted{IsASCII: true}
	other, isWrong := uint64(tops), false
	for i := r.At + 1; ; i++ {
		if i = nextSpecial(r.Text, i, other); i >= len(r.Text) {
			return q, errUnclosed
		}
		switch c := r.Text[i]; {
		case c == '"':
			q.Text, r.At = r.Text[r.At:i+1], i+1
			if r.IsStrict && (isWrong || q.hasControl) {
				return q, errString
			}
			return q, nil
		case c == '\\':
			q.HasEscapes = true
			i++ // the next byte closes no string
			isWrong = isWrong || !isEscape(r.Text[min(i, len(r.Text)):])
		case c < ' ':
			q.hasControl = true
		default:
			q.IsASCII, other = false, 0
		}
	}
}

const ones, tops = 0x0101010101010101, 0x8080808080808080

// nextSpecial returns the offset of the next quote, backslash or control character from i on, and
// also stops at the bits of a byte that other has. It checks eight bytes at a time: a subtraction
// sets a byte's top bit if the byte is less than the subtrahend.
func nextSpecial(text string, i int, other uint64) int {
	for ; i+8 <= len(text); i += 8 {
		b := text[i : i+8]
		w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		quote, slash := w^(ones*'"'), w^(ones*'\\')
		found := (w-ones*' ')&^w | (quote-ones)&^quote | (slash-ones)&^slash | w&other
		if found &= tops; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(text); i++ {
		if c := text[i]; c == '"' || c == '\\' || c < ' ' || c&byte(other) != 0 {
			return i
		}
	}
	return i
}

// isEscape reports whether JSON allows a backslash before a text.
func isEscape(text string) bool {
	return text != "" && unescaped[text[0]] != 0 ||
		len(text) >= 5 && text[0] == 'u' && strings.Trim(text[1:5], "0123456789abcdefABCDEF") == ""
}

// isVerbatim reports whether the bytes between the quotes are the string.
func (q Quoted) isVerbatim() bool {
	return !q.HasEscapes && !q.hasControl && (q.IsASCII || utf8.ValidString(q.Text))
}

// Decode returns the string, which may share the memory of the text. As in encoding/json, bytes
// that are not UTF-8 and lone surrogates become U+FFFD.
func (q Quoted) Decode() (string, error) {
	if q.isVerbatim() {
		return q.Text[1 : len(q.Text)-1], nil
	}
	if s, ok := q.unescape(); ok && !q.hasControl {
		return s, nil
	}
	var s string
	err := json.Unmarshal([]byte(q.Text), &s)
	return s, err
}

// unescaped maps the bytes that JSON allows behind a backslash, without u, to the bytes that they
// stand for.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape decodes the bytes between the quotes, in a fifth of the time that encoding/json takes.
// It returns false for a text that it leaves to encoding/json: bytes that are not UTF-8, halves of
// surrogate pairs, and escapes that JSON does not allow.
func (q Quoted) unescape() (s string, ok bool) {
	text := q.Text[1 : len(q.Text)-1]
	if !q.IsASCII && !utf8.ValidString(text) {
		return "", false
	}
	var b strings.Builder
	b.Grow(len(text))
	for {
		i := strings.IndexByte(text, '\\')
		if i < 0 {
			b.WriteString(text)
			return b.String(), true
		}
		b.WriteString(text[:i])
		if text = text[i+1:]; len(text) >= 5 && text[0] == 'u' {
			n, err := strconv.ParseUint(text[1:5], 16, 16)
			if err != nil || utf16.IsSurrogate(rune(n)) {
				return "", false
			}
			b.WriteRune(rune(n))
			text = text[5:]
			continue
		}
		if text == "" || unescaped[text[0]] == 0 {
			return "", false
		}
		b.WriteByte(unescaped[text[0]])
		text = text[1:]
	}
}
