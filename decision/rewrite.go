package decision

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
)

// maxNesting is the deepest nesting of values in a record: the limit of encoding/json for the
// values of others, and the levels of the record around them.
const maxNesting = 10_000 + 100

// A valueFunc returns what replaces the value i of a document at a JSON pointer, nil to retain the
// value and to see the values in it.
type valueFunc func(at string, d *jsontext.Document, i int) json.RawMessage

// rewriteJSON returns compact JSON in which replace replaced values. at is the pointer of raw
// itself. The members and their order stay.
func rewriteJSON(at string, raw json.RawMessage, replace valueFunc) json.RawMessage {
	w := jsonRewriter{replace: replace}
	return w.rewrite(at, raw)
}

// A jsonRewriter copies JSON.
type jsonRewriter struct {
	doc     jsontext.Document
	out     []byte
	replace valueFunc
	key     func(at, key string) string // replaces the names of members; nil retains them
}

// rewrite returns raw with what replaces its values, or null for bytes that are no JSON.
func (w *jsonRewriter) rewrite(at string, raw []byte) json.RawMessage {
	var err error
	if w.doc, err = jsontext.Parse(string(raw), maxNesting); err != nil {
		return null
	}
	w.out = make([]byte, 0, len(raw))
	w.value(at, 0)
	return w.out
}

// value copies or replaces a value.
func (w *jsonRewriter) value(at string, i int) {
	if r := w.replace(at, &w.doc, i); r != nil {
		w.out = append(w.out, r...)
		return
	}
	switch w.doc.Kind(i) {
	case jsontext.Object:
		w.out = append(w.out, '{')
		for key, value := range w.doc.Members(i) {
			if key > i+1 {
				w.out = append(w.out, ',')
			}
			w.value(at+"/"+escapePointer.Replace(w.name(at, key)), value)
		}
		w.out = append(w.out, '}')
	case jsontext.Array:
		w.out = append(w.out, '[')
		for n, element := range w.doc.Elements(i) {
			if n > 0 {
				w.out = append(w.out, ',')
			}
			w.value(at+"/"+strconv.Itoa(n), element)
		}
		w.out = append(w.out, ']')
	default:
		w.out = append(w.out, w.doc.TextAt(i)...)
	}
}

// name copies or replaces the name of a member, and returns it.
func (w *jsonRewriter) name(at string, key int) string {
	name, quoted := w.doc.StringAt(key), w.doc.TextAt(key)
	if w.key != nil {
		if other := w.key(at, name); other != name {
			name, quoted = other, string(encode(other))
		}
	}
	w.out = append(append(w.out, quoted...), ':')
	return name
}

// escapePointer writes a name as a step of a JSON pointer.
var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")
