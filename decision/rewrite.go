package decision

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// rewriteJSON returns compact JSON in which replace replaced values. replace gets the JSON pointer
// of each value and the value; it returns nil to retain the value and to see the values in it. at
// is the pointer of raw itself. The members and their order stay.
func rewriteJSON(
	at string, raw json.RawMessage, replace func(at string, value []byte) json.RawMessage,
) json.RawMessage {
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return null
	}
	w := jsonRewriter{in: compact.Bytes(), replace: replace}
	w.value(at)
	return w.out
}

// A jsonRewriter copies valid compact JSON.
type jsonRewriter struct {
	in, out []byte
	i       int // the next byte of in
	replace func(at string, value []byte) json.RawMessage
	key     func(at, key string) string // replaces the names of members; nil retains them
}

// value copies or replaces the next value.
func (w *jsonRewriter) value(at string) {
	end := w.i + valueLength(w.in[w.i:])
	if r := w.replace(at, w.in[w.i:end]); r != nil {
		w.out, w.i = append(w.out, r...), end
		return
	}
	switch w.in[w.i] {
	case '{':
		w.elements(func(int) string {
			quoted := w.in[w.i : w.i+valueLength(w.in[w.i:])]
			w.i += len(quoted) + len(":")
			var name string
			_ = json.Unmarshal(quoted, &name) // valid JSON
			if w.key != nil {
				if other := w.key(at, name); other != name {
					name, quoted = other, encode(other)
				}
			}
			w.out = append(append(w.out, quoted...), ':')
			return at + "/" + escapePointer.Replace(name)
		})
	case '[':
		w.elements(func(i int) string { return at + "/" + strconv.Itoa(i) })
	default:
		w.out, w.i = append(w.out, w.in[w.i:end]...), end
	}
}

// elements copies a list or an object. next copies what precedes a value, and returns the value's
// pointer.
func (w *jsonRewriter) elements(next func(i int) string) {
	w.copyByte()
	for i := 0; w.in[w.i] != '}' && w.in[w.i] != ']'; i++ {
		if i > 0 {
			w.copyByte() // the comma
		}
		w.value(next(i))
	}
	w.copyByte()
}

func (w *jsonRewriter) copyByte() {
	w.out = append(w.out, w.in[w.i])
	w.i++
}

// escapePointer writes a name as a step of a JSON pointer.
var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// valueLength returns the length of the first value of valid compact JSON.
func valueLength(in []byte) int {
	depth := 0
	for i := 0; i < len(in); i++ {
		switch in[i] {
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case '"':
			for i++; in[i] != '"'; i++ {
				if in[i] == '\\' {
					i++
				}
			}
		case ',', ':':
			continue
		default:
			for i+1 < len(in) && !strings.ContainsRune(`,]}`, rune(in[i+1])) {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(in)
}
