package builtins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/starhost/starhost/builtins/call"
	"github.com/starhost/starhost/internal/errtext"
	"github.com/starhost/starhost/internal/jsontext"
)

// Limits of the JSON that crosses between Go and Starlark. They apply without a budget, because
// conversions also run outside of plugins.
const (
	jsonMaxDepth  = 64       // levels of nested arrays and objects
	jsonMaxBytes  = 16 << 20 // bytes of the text of one value
	jsonMaxDigits = 20_000   // digits of an int that is read, because converting it takes quadratic work
)

// jsonBytePrice is an estimate of how much memory a byte of JSON adds to the decoded value, by the byte, in
// addition to the byte itself.
var jsonBytePrice = [256]int{'[': 64, '{': 512, ',': 48, ':': 140}

// decodedBytes estimates the memory of the value that a JSON text decodes to.
func decodedBytes(text string) int {
	bytes, quoted := len(text), false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '"':
			quoted = !quoted
		case !quoted:
			bytes += jsonBytePrice[b]
		case b == '\\':
			i++
		}
	}
	return bytes
}

// fromJSON converts one JSON text to None, Bool, Int, Float, String, *List or *Dict, in time linear in the
// text. A Dict has the keys in the order of the text. A number with a point or an exponent becomes a Float,
// and any other an Int of at most jsonMaxDigits digits. It returns an error for a key that occurs twice in
// one object, for nesting over jsonMaxDepth, and for text after the value. The result is not frozen.
func fromJSON(raw []byte) (starlark.Value, error) {
	return readJSON(raw, func(int) error { return nil })
}

// readJSON converts a text as fromJSON does. It calls pay with the price of keys that share a hash.
func readJSON(raw []byte, pay func(steps int) error) (starlark.Value, error) {
	return convertJSON(raw, jsonConverter{pay: pay})
}

// readObject adds the members of a JSON object to an empty dict. Empty text adds none.
func readObject(dict *starlark.Dict, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	v, err := convertJSON(raw, jsonConverter{pay: func(int) error { return nil }, whole: dict})
	if err == nil && v != dict {
		err = fmt.Errorf("got %s, want a JSON object", v.Type())
	}
	return err
}

// convertJSON converts one JSON text with the converter j, which is empty.
func convertJSON(raw []byte, j jsonConverter) (starlark.Value, error) {
	j.r = jsontext.Reader{Text: string(raw), IsStrict: true}
	v, err := j.value(0)
	if err == nil {
		err = j.r.End()
	}
	switch {
	case err == nil:
		return v, nil
	case !json.Valid(raw):
		return nil, invalidJSON(raw)
	}
	return nil, fmt.Errorf("at byte %d: %w", j.r.At, err)
}

// invalidJSON returns an error that says where a text stops to be one JSON value.
func invalidJSON(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	depth := 0
	for first := true; ; first = false {
		ended := !first && depth == 0
		tok, err := dec.Token()
		switch {
		case ended:
			err = errors.New("got more text after the value")
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			err = errors.New("the text ends too early")
		case tok == json.Delim('[') || tok == json.Delim('{'):
			if depth++; depth > jsonMaxDepth {
				err = errTooDeep
			}
		case tok == json.Delim(']') || tok == json.Delim('}'):
			depth--
		}
		if err != nil {
			return fmt.Errorf("at byte %d: %w", dec.InputOffset(), err)
		}
	}
}

var errTooDeep = fmt.Errorf("nested deeper than %d levels", jsonMaxDepth)

// A jsonConverter converts the values that a Reader reads.
type jsonConverter struct {
	r     jsontext.Reader
	pay   func(steps int) error
	whole *starlark.Dict // the dict that gets the members of the outermost object; nil for a new dict
}

// value converts the next value, which is depth levels deep.
func (j *jsonConverter) value(depth int) (starlark.Value, error) {
	c, err := j.r.Peek()
	switch {
	case err != nil:
		return nil, err
	case c == '"':
		s, err := j.string()
		return s, err
	case c == '[' || c == '{':
		if j.r.At++; depth == jsonMaxDepth {
			return nil, errTooDeep
		}
		if c == '[' {
			return j.array(depth + 1)
		}
		return j.object(depth + 1)
	case c == '-' || jsontext.IsDigit(c):
		text, _, err := j.r.Number()
		if err != nil {
			return nil, err
		}
		if steps := jsontext.LongFloatSteps(text); steps > 0 {
			if err := j.pay(steps); err != nil {
				return nil, err
			}
		}
		return jsonNumber(text)
	}
	word, err := j.r.Word()
	if word == "null" || err != nil {
		return starlark.None, err
	}
	return starlark.Bool(word == "true"), nil
}

// string converts a string. It copies the string, so that the value does not keep the whole text in memory.
func (j *jsonConverter) string() (starlark.String, error) {
	quoted, err := j.r.Quoted()
	if err != nil {
		return "", err
	}
	s, err := quoted.Decode()
	return starlark.String(strings.Clone(s)), err
}

// array converts the elements up to the closing bracket.
func (j *jsonConverter) array(depth int) (starlark.Value, error) {
	var elems []starlark.Value
	more, err := j.r.More(']', true)
	for more && err == nil {
		var v starlark.Value
		if v, err = j.value(depth); err == nil {
			elems = append(elems, v)
			more, err = j.r.More(']', false)
		}
	}
	return starlark.NewList(elems), err
}

// object converts the members up to the closing brace.
func (j *jsonConverter) object(depth int) (starlark.Value, error) {
	dict := j.whole
	if depth > 1 || dict == nil {
		dict = new(starlark.Dict)
	}
	var flood call.KeyFlood
	more, err := j.r.More('}', true)
	for more && err == nil {
		if err = j.member(dict, &flood, depth); err == nil {
			more, err = j.r.More('}', false)
		}
	}
	return dict, err
}

// member adds a member to a dict.
func (j *jsonConverter) member(dict *starlark.Dict, flood *call.KeyFlood, depth int) error {
	if c, _ := j.r.Peek(); c != '"' {
		return errors.New("a key that is no string")
	}
	name, err := j.string()
	if err != nil {
		return err
	}
	var key starlark.Value = name // converted only once, because each conversion takes an allocation
	if _, found, _ := dict.Get(key); found {
		return fmt.Errorf("key %s stands twice in one object", errtext.Quote(string(name)))
	}
	if err := flood.Add(key); err != nil {
		return err
	}
	if err := j.pay(flood.Steps()); err != nil {
		return err
	}
	if err := j.r.Colon(); err != nil {
		return err
	}
	v, err := j.value(depth)
	if err != nil {
		return err
	}
	return dict.SetKey(key, v)
}

// jsonNumber converts the text of a JSON number.
func jsonNumber(s string) (starlark.Value, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, fmt.Errorf("got number %s, want one that a float can hold", s[:min(len(s), 40)])
		}
		return starlark.Float(f), nil
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return starlark.MakeInt64(i), nil
	}
	if len(s) > jsonMaxDigits {
		return nil, fmt.Errorf("got a number of %d digits, want %d or fewer", len(s), jsonMaxDigits)
	}
	i, _ := new(big.Int).SetString(s, 10) // it cannot fail, because s consists of digits
	return starlark.MakeBigInt(i), nil
}

// toJSON returns v as compact JSON. Dicts keep the order of their keys, and structs are sorted by field.
// Tuples and sets become arrays. A value of the host that is a starlark.IterableMapping or a
// starlark.Sequence becomes an object or an array. In strings, bytes that are not UTF-8 become U+FFFD, and
// "<", ">" and "&" stay.
//
// It returns an error for values of other types, keys that are no strings, NaN and infinities, nesting over
// jsonMaxDepth (so also for a value that contains itself), and text over jsonMaxBytes. The error says where
// the value is: "at .a[3]: got function, want a JSON value".
func toJSON(v starlark.Value) ([]byte, error) { return toBoundedJSON(v, jsonMaxBytes) }

// toBoundedJSON does what toJSON does, for a text of at most most bytes.
func toBoundedJSON(v starlark.Value, most int) ([]byte, error) {
	w := jsonWriter{most: most}
	if err := w.value(v, 0); err != nil {
		return nil, err
	}
	return w.out, nil
}

// A jsonWriter appends the text of one value to out.
type jsonWriter struct {
	out  []byte
	most int // the most bytes of out
}

// value writes v, which is depth levels deep.
func (w *jsonWriter) value(v starlark.Value, depth int) error {
	switch v := v.(type) {
	case starlark.NoneType:
		w.out = append(w.out, "null"...)
	case starlark.Bool:
		w.out = strconv.AppendBool(w.out, bool(v))
	case starlark.Int:
		w.out = append(w.out, v.String()...)
	case starlark.Float:
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return errtext.PathErrorf("got float %v, want a finite number", v)
		}
		w.out = append(w.out, v.String()...) // String always writes a point or an exponent
	case starlark.String:
		return w.text(string(v))
	case starlark.IterableMapping:
		return w.container(depth, '{', '}', func() error { return w.entries(v, depth+1) })
	case starlark.Sequence:
		return w.container(depth, '[', ']', func() error { return w.elements(v, depth+1) })
	case *starlarkstruct.Struct:
		return w.container(depth, '{', '}', func() error { return w.fields(v, depth+1) })
	default:
		return notJSON(v)
	}
	return w.full(0)
}

// notJSON returns the error for a value that JSON cannot express. If the plugin could write something else,
// the error says what.
func notJSON(v starlark.Value) error {
	switch v := v.(type) {
	case nil:
		return errtext.PathErrorf("got nothing, want a JSON value")
	case starlark.Bytes:
		return errtext.PathErrorf("got bytes, want a JSON value (str(x) for text, base64.encode(x) for data)")
	case interface {
		starlark.Value
		json.Marshaler
	}: // a time or a duration, which refuses to become JSON
		return errtext.PathErrorf("got %s, want a JSON value (str(x) for text)", v.Type())
	default:
		return errtext.PathErrorf("got %s, want a JSON value", v.Type())
	}
}

// full returns an error if n more bytes would exceed the limit.
func (w *jsonWriter) full(n int) error {
	if n > w.most-len(w.out) {
		return errtext.PathErrorf("got more than %d bytes of JSON", w.most)
	}
	return nil
}

// container writes two brackets, and calls body to write what is between them, one level deeper.
func (w *jsonWriter) container(depth int, open, end byte, body func() error) error {
	if depth == jsonMaxDepth {
		return errtext.PathErrorf("nested deeper than %d levels, or contains itself", jsonMaxDepth)
	}
	if err := w.full(2); err != nil {
		return err
	}
	w.out = append(w.out, open)
	if err := body(); err != nil {
		return err
	}
	w.out = append(bytes.TrimSuffix(w.out, []byte{','}), end)
	return nil
}

// elements writes the elements of an array, each with a comma after it.
func (w *jsonWriter) elements(seq starlark.Sequence, depth int) error {
	i := 0
	for elem := range starlark.Elements(seq) {
		if err := w.value(elem, depth); err != nil {
			return errtext.Under("["+strconv.Itoa(i)+"]", err)
		}
		w.out = append(w.out, ',')
		i++
	}
	return nil
}

// entries writes the members of a mapping, each with a comma after it.
func (w *jsonWriter) entries(m starlark.IterableMapping, depth int) error {
	for k, v := range starlark.Entries(m) {
		key, ok := k.(starlark.String)
		if !ok {
			return errtext.PathErrorf("got a key that is %s, want string", k.Type())
		}
		if err := w.member(string(key), v, depth); err != nil {
			return err
		}
	}
	return nil
}

// fields writes the fields of a struct, each with a comma after it.
func (w *jsonWriter) fields(s *starlarkstruct.Struct, depth int) error {
	for name, v := range s.Entries() {
		if err := w.member(name, v, depth); err != nil {
			return err
		}
	}
	return nil
}

// member writes one member of an object, with a comma after it.
func (w *jsonWriter) member(key string, v starlark.Value, depth int) error {
	if err := w.text(key); err != nil {
		return err
	}
	w.out = append(w.out, ':')
	if err := w.value(v, depth); err != nil {
		return errtext.Under(errtext.KeyStep(key), err)
	}
	w.out = append(w.out, ',')
	return nil
}

// text writes a JSON string.
func (w *jsonWriter) text(s string) error {
	if err := w.full(len(s)); err != nil {
		return err
	}
	w.out = jsontext.AppendString(w.out, s)
	return w.full(0)
}
