package decision

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/starhost/starhost/internal/jsontext"
)

// maxNesting is the deepest nesting of values in a record: the limit of encoding/json, which holds for the
// values of others, and the record's own levels around them.
const maxNesting = 10_000 + 100

// errTooLarge says that the result of a rewriter would have more bytes than its limit.
var errTooLarge = errors.New("the JSON is too large")

// A rewriter copies one JSON text in compact form, and replaces values. It reads each byte once and stores
// only the result, so it needs no more memory than the result has bytes. All members stay, in their order.
// The functions get the JSON pointer of a value, which is valid until they return.
type rewriter struct {
	jsontext.Reader
	// whole may replace a value of any kind, before the rewriter reads it. If it is nil, all values stay.
	whole func(at []byte) func(raw string) json.RawMessage
	// text may replace a string. If it returns nil, the string stays.
	text func(at []byte, q jsontext.Quoted) json.RawMessage
	// name returns a new name for a member of the object at a pointer. If it is nil, all names stay.
	name func(at []byte, name string) string
	// most is the most bytes of the result. Zero means any number.
	most int

	at  []byte
	out []byte
}

// rewrite returns the new JSON of raw. at is the JSON pointer of raw itself.
func (w *rewriter) rewrite(at string, raw []byte) (json.RawMessage, error) {
	w.Reader = jsontext.Reader{Text: string(raw), IsStrict: true}
	w.at, w.out = append(w.at[:0], at...), make([]byte, 0, min(len(raw), 2*MaxRecord))
	err := w.value(0)
	if err == nil {
		err = w.End()
	}
	return w.out, err
}

// value copies or replaces the next value.
func (w *rewriter) value(depth int) error {
	c, err := w.Peek()
	switch {
	case err != nil:
		return err
	case depth > maxNesting:
		return jsontext.ErrTooDeep
	case w.most > 0 && len(w.out) > w.most:
		return errTooLarge
	}
	if w.whole != nil {
		if replace := w.whole(w.at); replace != nil {
			return w.replaceWhole(replace)
		}
	}
	start := w.At
	switch {
	case c == jsontext.Object, c == jsontext.Array:
		return w.values(c, depth)
	case c == jsontext.String:
		q, err := w.Quoted()
		if err != nil {
			return err
		}
		if w.text != nil {
			if r := w.text(w.at, q); r != nil {
				w.out = append(w.out, r...)
				return nil
			}
		}
	case c == '-' || jsontext.IsDigit(c):
		_, _, err = w.Number()
	default:
		_, err = w.Word()
	}
	w.out = append(w.out, w.Text[start:w.At]...)
	return err
}

// values copies the parts of an object or an array.
func (w *rewriter) values(kind byte, depth int) error {
	w.At++
	w.out = append(w.out, kind)
	closing, length := kind+2, len(w.at) // the closing bracket of an object or an array
	more, err := w.More(closing, true)
	for n := 0; more && err == nil; n++ {
		if n > 0 {
			w.out = append(w.out, ',')
		}
		if kind == jsontext.Object {
			err = w.member(length)
		} else {
			w.at = strconv.AppendInt(append(w.at, '/'), int64(n), 10)
		}
		if err == nil {
			err = w.value(depth + 1)
		}
		if w.at = w.at[:length]; err == nil {
			more, err = w.More(closing, false)
		}
	}
	w.out = append(w.out, closing)
	return err
}

// member copies the name of a member, and appends it to the pointer.
func (w *rewriter) member(length int) error {
	if c, err := w.Peek(); err != nil || c != jsontext.String {
		return errors.Join(err, errNoName)
	}
	q, err := w.Quoted()
	if err != nil {
		return err
	}
	name, err := q.Decode()
	if err != nil {
		return err
	}
	quoted := q.Text
	if w.name != nil {
		if other := w.name(w.at, name); other != name {
			name, quoted = other, string(jsontext.EncodeOrNull(other))
		}
	}
	w.out = append(append(w.out, quoted...), ':')
	w.at = append(w.at[:length], '/')
	if strings.ContainsAny(name, "~/") {
		name = escapePointer.Replace(name)
	}
	w.at = append(w.at, name...)
	return w.Colon()
}

var errNoName = errors.New("a member without a name")

// replaceWhole replaces the next value by the result of replace.
func (w *rewriter) replaceWhole(replace func(raw string) json.RawMessage) error {
	inner := rewriter{Reader: w.Reader}
	if err := inner.value(0); err != nil {
		return err
	}
	w.out = append(w.out, replace(string(inner.out))...)
	w.At = inner.At
	return nil
}

// escapePointer turns the name of a member into a step of a JSON pointer.
var escapePointer = strings.NewReplacer("~", "~0", "/", "~1")

// lastStep returns the last step of a pointer.
func lastStep(at []byte) string { return string(at[bytes.LastIndexByte(at, '/')+1:]) }
